// gradlife._heap.Graph: a frozen graph as Python sees it. It owns numbers only, no object of the heap it shows.
#pragma once

#include <memory>

#include "base/pyref.hpp"
#include "heapgraph/frozen/frozen_graph.hpp"

namespace gradlife::heap {

Ref make_graph_type(PyObject* module);
// Takes over the graph. The collector does not track the object: it refers to nothing.
Ref wrap_graph(PyTypeObject* type, std::unique_ptr<FrozenGraph> graph);
FrozenGraph& frozen_of(PyObject* graph);  // of an object of that type

}  // namespace gradlife::heap
