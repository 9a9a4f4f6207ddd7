// Python types of nodes: one per operation, created with the first wrapper of its nodes; and the attributes that they
// share with contexts of custom Functions.
#pragma once

#include "base/pyref.hpp"
#include "engine/graph/node.hpp"

namespace gradlife {

// Whether instances of a type are wrappers of C++ nodes.
bool wraps_nodes(const PyTypeObject* type);

// Returns the node of a Python object: a C++ node's wrapper, or the context of a custom Function. Error: neither.
NodePtr unwrap_node(PyObject* object);

// Attributes that every node has, whatever its wrapper is.
Ref node_next_functions(const Node& node);
Ref node_metadata(Node& node);
Ref node_input_metadata(const Node& node);  // a tuple, one for each forward output; input_metadata.cpp
Ref make_input_metadata_type();

}  // namespace gradlife
