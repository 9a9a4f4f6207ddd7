// gradlife._heap.Graph: a frozen graph as Python sees it. It owns numbers only, no object of the heap it shows.
#pragma once

#include <memory>

#include "base/pyref.hpp"
#include "heap_py/provider.hpp"
#include "heapgraph/dominators.hpp"
#include "heapgraph/graph.hpp"
#include "heapgraph/search.hpp"

namespace gradlife::heap {

struct FrozenGraph {
  Graph graph;
  std::unique_ptr<PathTree> paths;
  std::unique_ptr<Dominators> dominators;
  std::vector<std::string> limits;  // what could not be seen, a sentence each
};

Ref make_graph_type(PyObject* module);
// Takes over the graph. The collector does not track the object: it refers to nothing.
Ref wrap_graph(PyTypeObject* type, std::unique_ptr<FrozenGraph> graph);

}  // namespace gradlife::heap
