#include "heap_py/measure.hpp"

#include "heap_py/shallow_size.hpp"

namespace gradlife::heap {
namespace {

uint64_t native_bytes(const Graph& graph, NodeId node, const std::vector<Provider*>& providers) {
  const void* object = reinterpret_cast<const void*>(static_cast<uintptr_t>(graph.addresses[node]));
  for (Provider* provider : providers)
    if (provider->owns_type(graph.types[node])) return provider->native_bytes(object, graph.types[node]);
  return 0;
}

}  // namespace

void measure_sizes(Graph& graph, const std::vector<Provider*>& providers) {
  constexpr size_t ahead = 12;
  graph.sizes.resize(graph.size());
  for (size_t i = 0; i < graph.size(); ++i) {
    if (i + ahead < graph.size())
      __builtin_prefetch(reinterpret_cast<const void*>(static_cast<uintptr_t>(graph.addresses[i + ahead])));
    const NodeId node = static_cast<NodeId>(i);
    if (graph.type_of(node).kind == NodeKind::python) {
      graph.set_size(node, shallow_bytes(reinterpret_cast<PyObject*>(static_cast<uintptr_t>(graph.addresses[i]))));
    } else {
      graph.set_size(node, native_bytes(graph, node, providers));
    }
  }
}

}  // namespace gradlife::heap
