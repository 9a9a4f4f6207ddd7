#include "heap_py/walk/measure.hpp"

#include <optional>

#include "heap_py/interpreter/shallow_size.hpp"

namespace gradlife::heap {
namespace {

uint64_t native_bytes(const Graph& graph, NodeId node, const std::vector<Provider*>& providers) {
  const void* object = reinterpret_cast<const void*>(static_cast<uintptr_t>(graph.addresses[node]));
  for (Provider* provider : providers)
    if (provider->owns_type(graph.types[node])) return provider->native_bytes(object, graph.types[node]);
  return 0;
}

// The size function of a type, and the provider that knows more. `size`: only for Python types.
struct Measure {
  std::optional<ShallowSize> size = std::nullopt;
  Provider* provider = nullptr;
  bool is_looked_at = true;
};

Measure measure_of(const TypeRow& row, const std::vector<Provider*>& providers) {
  auto* type = reinterpret_cast<PyTypeObject*>(static_cast<uintptr_t>(row.address));
  if (row.kind != NodeKind::python || type == nullptr) return {};
  Measure found{ShallowSize(type)};
  for (Provider* provider : providers)
    if (found.provider == nullptr && provider->knows(type)) found.provider = provider;
  found.is_looked_at = found.provider != nullptr || !found.size->is_even();
  return found;
}

}  // namespace

void measure_sizes(Graph& graph, const std::vector<Provider*>& providers) {
  constexpr size_t ahead = 12;
  graph.sizes.resize(graph.size());
  std::vector<Measure> known;
  for (const TypeRow& row : graph.type_rows) known.push_back(measure_of(row, providers));
  for (size_t i = 0; i < graph.size(); ++i) {
    if (i + ahead < graph.size() && known[graph.types[i + ahead]].is_looked_at)
      __builtin_prefetch(reinterpret_cast<const void*>(static_cast<uintptr_t>(graph.addresses[i + ahead])));
    const NodeId node = static_cast<NodeId>(i);
    const Measure& measure = known[graph.types[i]];
    if (!measure.size) {
      graph.set_size(node, native_bytes(graph, node, providers));
      continue;
    }
    auto* object = reinterpret_cast<PyObject*>(static_cast<uintptr_t>(graph.addresses[i]));
    const uint64_t outside = measure.provider != nullptr ? measure.provider->outside_bytes(object) : 0;
    graph.set_size(node, measure.size->of(object) + outside);
  }
}

}  // namespace gradlife::heap
