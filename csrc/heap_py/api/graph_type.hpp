// gradlife._heap.Graph: a frozen graph for Python. It owns only numbers, no object of the heap that it shows.
#pragma once

#include <memory>

#include "base/pyref.hpp"
#include "heapgraph/frozen/frozen_graph.hpp"

namespace gradlife::heap {

Ref make_graph_type(PyObject* module);
// Takes over the graph. The collector does not track the object, which has no references.
Ref wrap_graph(PyTypeObject* type, std::unique_ptr<FrozenGraph> graph);
FrozenGraph& frozen_of(PyObject* graph);  // of a Graph object

}  // namespace gradlife::heap
