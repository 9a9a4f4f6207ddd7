#include "heap_py/walk/measure.hpp"

#include <optional>

#include "heap_py/interpreter/shallow_size.hpp"

namespace gradlife::heap {
namespace {

// The size function of a type, and the provider that knows more. `size`: only for Python types.
struct Measure {
  std::optional<ShallowSize> size = std::nullopt;
  Provider* provider = nullptr;
  bool is_looked_at = true;

  uint64_t of(PyObject* object) const {
    return size->of(object) + (provider != nullptr ? provider->outside_bytes(object) : 0);
  }
};

class Measuring {
 public:
  Measuring(Graph& graph, const std::vector<Provider*>& providers) : graph_(graph), providers_(providers) {
    for (const TypeRow& row : graph.type_rows) known_.push_back(measure_of(row));
  }

  void run() {
    constexpr size_t ahead = 12;
    for (size_t i = 0; i < graph_.size(); ++i) {
      if (i + ahead < graph_.size() && known_[graph_.types[i + ahead]].is_looked_at)
        __builtin_prefetch(pointer_to(graph_.addresses[i + ahead]));
      const NodeId node = static_cast<NodeId>(i);
      const Measure& measure = known_[graph_.types[i]];
      if (measure.size)
        graph_.set_size(node, measure.of(static_cast<PyObject*>(pointer_to(graph_.addresses[i]))));
      else
        measure_native(node);
    }
  }

 private:
  static void* pointer_to(Address address) { return reinterpret_cast<void*>(static_cast<uintptr_t>(address)); }

  Measure measure_of(const TypeRow& row) const {
    auto* type = static_cast<PyTypeObject*>(pointer_to(row.address));
    return row.kind != NodeKind::python || type == nullptr ? Measure{} : measure_of(type);
  }
  Measure measure_of(PyTypeObject* type) const {
    Measure found{ShallowSize(type)};
    for (Provider* provider : providers_)
      if (found.provider == nullptr && provider->knows(type)) found.provider = provider;
    found.is_looked_at = found.provider != nullptr || !found.size->is_even();
    return found;
  }

  void measure_native(NodeId node) {
    const void* object = pointer_to(graph_.addresses[node]);
    const uint32_t type = graph_.types[node];
    uint64_t bytes = 0;
    for (Provider* provider : providers_) {
      if (!provider->owns_type(type)) continue;
      bytes = provider->native_bytes(object, type);
      const uint64_t number = provider->sequence_number(object, type);
      if (number != SequenceNumber::none) graph_.sequence_numbers.push_back({node, number});
      const BorrowedMemory borrowed = provider->borrowed(object, type);
      if (borrowed.bytes == 0 || borrowed.bytes > bytes) break;
      if (borrowed.owner != nullptr && !is_measured(borrowed.owner, borrowed.bytes)) break;
      graph_.borrowed.push_back({node, borrowed.bytes});
      bytes -= borrowed.bytes;
      break;
    }
    graph_.set_size(node, bytes);
  }

  // Whether memory of this size counts at its owner, or at the object whose memory the owner shows.
  bool is_measured(PyObject* owner, uint64_t bytes) const {
    constexpr int most_owners = 16;
    for (int i = 0; i < most_owners && owner != nullptr; ++i) {
      const Measure measure = measure_of(Py_TYPE(owner));
      if (measure.of(owner) >= bytes) return true;
      for (Provider* provider : providers_)
        if (provider->is_native_memory(owner)) return true;
      if (PyMemoryView_Check(owner))
        owner = PyMemoryView_GET_BUFFER(owner)->obj;
      else
        owner = measure.provider != nullptr ? measure.provider->memory_owner(owner) : nullptr;
    }
    return false;
  }

  Graph& graph_;
  const std::vector<Provider*>& providers_;
  std::vector<Measure> known_;
};

}  // namespace

void measure_sizes(Graph& graph, const std::vector<Provider*>& providers) {
  graph.sizes.resize(graph.size());
  Measuring(graph, providers).run();
}

}  // namespace gradlife::heap
