// The native scan among known objects: which of them explain a word, and which would have shown it.
#include "heap_py/native/scan.hpp"

#include <algorithm>

#include "heap_py/providers/torch/layout.hpp"

namespace gradlife::heap {
namespace {

PyObject* object_at(Address address) { return reinterpret_cast<PyObject*>(static_cast<uintptr_t>(address)); }
Address address_of(const void* pointer) { return static_cast<Address>(reinterpret_cast<uintptr_t>(pointer)); }

}  // namespace

bool NativeScan::explains(NodeId node, Address target) const {
  const Row row = graph_.references.of(node);
  return std::any_of(row.begin(), row.end(), [&](NodeId to) { return graph_.addresses[to] == target; });
}

// Whether the traverse of this type's instances shows all references, as for the interpreter's own types.
bool NativeScan::is_trusted(PyTypeObject* type) const {
  if (type == &PyCapsule_Type) return false;
  for (const PyTypeObject* base = type; base != nullptr; base = base->tp_base) {
    const bool is_heap_type = (base->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
    if (!libraries_.is_python(address_of(reinterpret_cast<const void*>(base->tp_dealloc))) ||
        (!is_heap_type && !libraries_.is_python(address_of(base))))
      return false;
  }
  return true;
}

// Whether the object's references are all known: tensors, storages and objects of the interpreter's own types. A frozen
// graph of an earlier question contains addresses of everything.
bool NativeScan::would_show(NodeId node) const {
  const NodeKind kind = graph_.type_of(node).kind;
  if (kind == NodeKind::python) {
    PyTypeObject* type = Py_TYPE(object_at(graph_.addresses[node]));
    return is_trusted(type) || is_own(address_of(reinterpret_cast<const void*>(type->tp_dealloc)));
  }
  return kind == NodeKind::tensor || kind == NodeKind::storage;
}

// Whether a C++ object refers to the wrapper that owns it.
bool NativeScan::is_back_pointer(NodeId node, uint32_t target) const {
  const NodeId from = target_nodes_[target];
  return from != no_node && graph_.type_of(node).kind != NodeKind::python && explains(from, graph_.addresses[node]);
}

// Static types are known objects, too.
NodeId NativeScan::static_type_at(Address address) const {
  const auto after = std::upper_bound(static_types_.begin(), static_types_.end(), address,
                                      [&](Address wanted, NodeId node) { return wanted < graph_.addresses[node]; });
  if (after == static_types_.begin()) return no_node;
  const NodeId node = *(after - 1);
  const PyTypeObject* type = Py_TYPE(object_at(graph_.addresses[node]));
  return address < graph_.addresses[node] + static_cast<Address>(type->tp_basicsize) ? node : no_node;
}

// Whether it is the list of weak references in an object, which do not own it.
bool NativeScan::is_weak_list(Address at, Address target) const {
  PyObject* object = object_at(target);
  if (!PyWeakref_Check(object)) return false;
  PyObject* referent = reinterpret_cast<PyWeakReference*>(object)->wr_object;
  const Py_ssize_t offset = Py_TYPE(referent)->tp_weaklistoffset;
  return offset != 0 && at == address_of(referent) + static_cast<Address>(offset);
}

// Whether there is a C++ object among the blocks on the path; there is none if Python's own objects hold the target.
bool NativeScan::has_class(uint32_t item) const {
  for (; items_[item].shape != Shape::target; item = items_[item].inner)
    if (items_[item].name != nullptr) return true;
  return false;
}

// Whether the word is inside the object: malloc may add up to three words, which have stale contents.
bool NativeScan::is_inside(const Arrival& arrival) const {
  const uint64_t offset = arrival.at - arrival.block.first;
  if (arrival.node != no_node && graph_.type_of(arrival.node).kind == NodeKind::python) return true;
  return offset + 4 * sizeof(uint64_t) <= arrival.block.bytes();
}

// c10::SmallVector: address of the first element, size, capacity, then inline storage, while that suffices. Behind the
// last element, stale values remain. A node has such a vector for the shapes of its outputs, and each shape has one for
// its sizes.
bool NativeScan::is_unused(const Arrival& arrival) const {
  constexpr uint64_t word = sizeof(uint64_t), head = 2 * word, searched = 32;
  const TorchLayout* layout = torch_layout();
  const Address object = arrival.node != no_node ? graph_.addresses[arrival.node] : arrival.block.first;
  for (uint64_t back = head; back <= head + searched * word && arrival.at >= arrival.block.first + back; back += word) {
    const Address vector = arrival.at - back;
    struct {
      uint64_t begin;
      uint32_t count, room;
    } fields;
    if (!reader_.read(vector, &fields, sizeof fields) || fields.begin != vector + head) continue;
    if (fields.count > fields.room || fields.room > searched) continue;
    const bool has_shapes =
        layout != nullptr && layout->shape_bytes != TorchLayout::absent && vector == object + layout->shapes_in_node;
    const uint64_t element = has_shapes ? layout->shape_bytes : word, place = back - head;
    if (place >= fields.count * element && place < fields.room * element) return true;
  }
  return false;
}

Confidence NativeScan::confidence_of(const Arrival& arrival) const {
  if (is_unused(arrival)) return Confidence::unsure;
  return is_inside(arrival) ? Confidence::sure : Confidence::likely;
}

void NativeScan::settle_node(const Arrival& arrival, uint32_t origin) {
  const Address target = targets_[origins_[origin].target];
  const TypeRow& row = graph_.type_of(arrival.node);
  if (arrival.node == target_nodes_[origins_[origin].target]) {  // a back pointer in a part of the target
    origins_[origin].is_stale = true;
    return;
  }
  const bool is_shown = would_show(arrival.node);
  if (explains(arrival.node, target) && (!is_shown || !has_class(arrival.item))) {
    origins_[origin].is_closed = true;
    origins_[origin].has_offer = false;
    return;
  }
  if (row.kind == NodeKind::root || is_shown || is_back_pointer(arrival.node, origins_[origin].target)) {
    origins_[origin].is_stale = true;
    return;
  }
  Offer found;
  found.end = NativeHolder::End::object;
  found.confidence = confidence_of(arrival);
  found.item = arrival.item;
  found.at = arrival.at;
  found.node = arrival.node;
  found.is_function = arrival.is_function;
  offer(origin, found);
}

// Whether the block is in one of the interpreter's free lists, which is in use for the allocator.
bool NativeScan::is_dead_object(const Block& block) const {
  for (const uint64_t head : {0, 16, 32}) {
    uint64_t words[2], metatype;
    if (block.bytes() < head + sizeof words || !reader_.read(block.first + head, words, sizeof words)) continue;
    if (words[0] != 0 || !looks_like_pointer(words[1]) || !reader_.read_word(words[1] + 8, &metatype)) continue;
    if (metatype == address_of(&PyType_Type)) return true;
  }
  return false;
}

}  // namespace gradlife::heap
