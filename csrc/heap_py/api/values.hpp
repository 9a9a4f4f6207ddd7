// The values of the heap graph for Python: named tuples, whose field names are declared only here.
#pragma once

#include "base/pyref.hpp"
#include "heap_py/interpreter/relation.hpp"
#include "heapgraph/graph/graph.hpp"

namespace gradlife::heap {

struct ValueTypes {
  PyTypeObject *object, *reference, *uncollectable;
};
// Adds HeapObject, Reference and UncollectableObject to the module, and KINDS and RELATIONS, the words that they use.
void add_values(PyObject* module, ValueTypes& types);

// An object of a graph: its kind, type, address and own bytes (None if sizes were not measured).
Ref heap_object(const ValueTypes& types, const Graph& graph, NodeId node);
// An object of a path, and its reference to the next one.
Ref reference(const ValueTypes& types, const Graph& graph, NodeId node, const std::string& description,
              const Label& to_next);
// Objects left out of a path, of the kind "gap": `index` is their number.
Ref omitted_objects(const ValueTypes& types, int64_t count);
// An object that the collector starts from because something that it does not see refers to it.
Ref uncollectable_object(const ValueTypes& types, const Graph& graph, NodeId node, const std::string& description,
                         int64_t unseen, Ref referrers);

}  // namespace gradlife::heap
