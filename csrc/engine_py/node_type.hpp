// Python types of nodes: one per operation, made when the first wrapper of that operation's node is; and what they
// share with the contexts of custom Functions.
#pragma once

#include "base/pyref.hpp"
#include "engine/node.hpp"

namespace gradlife {

// Borrowed. The type of the wrapper of a C++ node, e.g. MulBackward0.
PyTypeObject* node_type(const Node& node);

// Whether this is the wrapper of a C++ node; whether instances of a type are.
bool is_node_wrapper(PyObject* object);
bool wraps_nodes(const PyTypeObject* type);

// A node from its Python face: a C++ node's wrapper, or the context of a custom Function. Error: neither.
NodePtr unwrap_node(PyObject* object);

// Attributes that every node has, whatever its wrapper is.
Ref node_next_functions(const Node& node);
Ref node_metadata(Node& node);
Ref node_input_metadata(const Node& node);  // a tuple, one for each forward output; input_metadata.cpp
Ref make_input_metadata_type();

}  // namespace gradlife
