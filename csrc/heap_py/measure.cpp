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

// What is known of a type's instances without a look at them, and who knows more.
struct Measure {
  Provider* provider = nullptr;
  uint64_t each = 0;  // bytes of each; 0: they differ
};

std::vector<Measure> measures_of_types(const Graph& graph, const std::vector<Provider*>& providers) {
  std::vector<Measure> found(graph.type_rows.size());
  for (size_t row = 0; row < found.size(); ++row) {
    auto* type = reinterpret_cast<PyTypeObject*>(static_cast<uintptr_t>(graph.type_rows[row].address));
    if (graph.type_rows[row].kind != NodeKind::python || type == nullptr) continue;
    for (Provider* provider : providers)
      if (found[row].provider == nullptr && provider->knows(type)) found[row].provider = provider;
    if (found[row].provider == nullptr) found[row].each = shallow_bytes_of_each(type);
  }
  return found;
}

}  // namespace

void measure_sizes(Graph& graph, const std::vector<Provider*>& providers) {
  constexpr size_t ahead = 12;
  graph.sizes.resize(graph.size());
  const std::vector<Measure> known = measures_of_types(graph, providers);
  for (size_t i = 0; i < graph.size(); ++i) {
    if (i + ahead < graph.size() && known[graph.types[i + ahead]].each == 0)
      __builtin_prefetch(reinterpret_cast<const void*>(static_cast<uintptr_t>(graph.addresses[i + ahead])));
    const NodeId node = static_cast<NodeId>(i);
    const Measure& measure = known[graph.types[i]];
    if (measure.each != 0) {
      graph.set_size(node, measure.each);
    } else if (graph.type_of(node).kind == NodeKind::python) {
      auto* object = reinterpret_cast<PyObject*>(static_cast<uintptr_t>(graph.addresses[i]));
      const uint64_t outside = measure.provider != nullptr ? measure.provider->outside_bytes(object) : 0;
      graph.set_size(node, shallow_bytes(object) + outside);
    } else {
      graph.set_size(node, native_bytes(graph, node, providers));
    }
  }
}

}  // namespace gradlife::heap
