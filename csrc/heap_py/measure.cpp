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

// By row: who knows more of a type's instances.
std::vector<Provider*> providers_of_types(const Graph& graph, const std::vector<Provider*>& providers) {
  std::vector<Provider*> found(graph.type_rows.size());
  for (size_t row = 0; row < found.size(); ++row) {
    auto* type = reinterpret_cast<PyTypeObject*>(static_cast<uintptr_t>(graph.type_rows[row].address));
    if (graph.type_rows[row].kind != NodeKind::python || type == nullptr) continue;
    for (Provider* provider : providers)
      if (found[row] == nullptr && provider->knows(type)) found[row] = provider;
  }
  return found;
}

}  // namespace

void measure_sizes(Graph& graph, const std::vector<Provider*>& providers) {
  constexpr size_t ahead = 12;
  graph.sizes.resize(graph.size());
  const std::vector<Provider*> known = providers_of_types(graph, providers);
  for (size_t i = 0; i < graph.size(); ++i) {
    if (i + ahead < graph.size())
      __builtin_prefetch(reinterpret_cast<const void*>(static_cast<uintptr_t>(graph.addresses[i + ahead])));
    const NodeId node = static_cast<NodeId>(i);
    if (graph.type_of(node).kind == NodeKind::python) {
      auto* object = reinterpret_cast<PyObject*>(static_cast<uintptr_t>(graph.addresses[i]));
      Provider* provider = known[graph.types[i]];
      graph.set_size(node, shallow_bytes(object) + (provider != nullptr ? provider->outside_bytes(object) : 0));
    } else {
      graph.set_size(node, native_bytes(graph, node, providers));
    }
  }
}

}  // namespace gradlife::heap
