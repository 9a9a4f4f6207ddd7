#include "heap_py/providers/torch/provider.hpp"

#include <algorithm>

#include "base/labels.hpp"
#include "heap_py/memory/allocation_size.hpp"
#include "heap_py/memory/object_check.hpp"

namespace gradlife::heap {
namespace {

Address address_of(const void* pointer) { return static_cast<Address>(reinterpret_cast<uintptr_t>(pointer)); }
void* pointer_to(Address address) { return reinterpret_cast<void*>(static_cast<uintptr_t>(address)); }

constexpr size_t largest_block = 4096;
constexpr uint64_t largest_vector = 1 << 27;  // a million saved tensors
constexpr uint64_t largest_page = 1 << 16;

}  // namespace

TorchProvider::TorchProvider(const TorchLayout& layout, size_t pages)
    : layout_(layout), reader_(pages), classes_(layout.classes), descriptions_(layout, reader_) {
  limits_.push_back(
      "in PyTorch: hooks that are no Python functions, a backward pass that is under way, functions that replay views, "
      "what ScriptModules keep, the code that Dynamo caches, opaque tensors such as MKL-DNN's, scales of quantized "
      "tensors, and what C++ extensions keep in classes of their own");
}

void TorchProvider::start(Builder& builder) {
  builder_ = &builder;
  reader_.forget();
  rows_.clear();
  kinds_.clear();
}

bool TorchProvider::knows(PyTypeObject* type) {
  for (const PyTypeObject* own :
       {layout_.tensor_type, layout_.storage_type, layout_.context_type, layout_.saved_tensor_type})
    if (own != nullptr && PyType_IsSubtype(type, const_cast<PyTypeObject*>(own)) != 0) return true;
  return type == &PyCapsule_Type || (layout_.node_traverse != nullptr && type->tp_traverse == layout_.node_traverse);
}

const KnownClass& TorchProvider::class_of(Address object) {
  uint64_t vtable = 0;
  if (!looks_like_pointer(object) || !reader_.read_word(object, &vtable)) vtable = 0;
  return classes_.of_vtable(vtable);
}

uint32_t TorchProvider::row_of(const KnownClass& known, NodeKind kind, Address object) {
  std::string name = known.name;
  if (kind == NodeKind::storage) {
    const std::string device = descriptions_.device(object);
    if (device != "cpu") name += device.empty() ? " on an unknown device" : " " + device;
  }
  const std::string key = std::string(kind_name(kind)) + name;
  const auto found = rows_.find(key);
  if (found != rows_.end()) return found->second;
  const uint32_t row = builder_->add_type({"torch::" + name, kind, 0, 2});
  kinds_.resize(row + 1, TorchClass::none);
  kinds_[row] = known.what;
  rows_[key] = row;
  return row;
}

// False: not of a kind that the provider describes, or freed.
bool TorchProvider::kind_of(Address object, const KnownClass& known, NodeKind* kind) const {
  if (known.what == TorchClass::tensor) {
    *kind = NodeKind::tensor;
  } else if (known.what == TorchClass::storage) {
    *kind = NodeKind::storage;
  } else if (is_node(known.what)) {
    *kind = NodeKind::grad_node;
  } else {
    return false;
  }
  return is_alive(object, *kind);
}

// Adds a reference; nothing if memory contradicts the layout.
void TorchProvider::refer(ReferenceSink& sink, Address target, const char* label, int64_t index) {
  const KnownClass& known = class_of(target);
  NodeKind kind;
  if (kind_of(target, known, &kind)) sink.native(pointer_to(target), row_of(known, kind, target), label, index);
}

// A freed object may still look alive while malloc has not reused its memory, but its count is zero.
bool TorchProvider::is_alive(Address object, NodeKind kind) const {
  if (layout_.count_in_target == TorchLayout::absent) return true;
  if (kind == NodeKind::grad_node && !layout_.are_nodes_coupled) return true;  // they have a count in a control block
  uint64_t count;
  return reader_.read_word(object + layout_.count_in_target, &count) && static_cast<int32_t>(count) > 0;
}

// --- reading
// -----------------------------------------------------------------------------------------------------------

bool TorchProvider::read(Address object, uint32_t offset, Address* word) const {
  return offset != TorchLayout::absent && reader_.read_word(object + offset, word) && *word != 0;
}

// Reads all of an object that operator new or make_shared allocated.
bool TorchProvider::read_block(Address object, std::vector<uint64_t>& words) const {
  const size_t bytes = std::min<uint64_t>(object_bytes(reader_, object), largest_block);
  words.resize(bytes / sizeof(uint64_t));
  return !words.empty() && reader_.read(object, words.data(), words.size() * sizeof(uint64_t));
}

// Whether malloc allocated exactly this much here, by the chunk's size in the word before (glibc). Three pointers that
// only happen to ascend have no such chunk. A large chunk, usually of 128 KiB or more, has a mapping of its own.
bool TorchProvider::is_allocation(Address begin, uint64_t bytes) const {
  uint64_t chunk;
  if (begin % 16 != 0 || !reader_.read_word(begin - sizeof(uint64_t), &chunk)) return false;
  constexpr uint64_t flags = 15, is_mapped = 2, word = sizeof(uint64_t);
  constexpr uint64_t slack = 48;  // rounding, and a remainder too small for a chunk
  const bool is_mapping = (chunk & is_mapped) != 0;
  const uint64_t usable = (chunk & ~flags) - (is_mapping ? 2 * word : word);
  return usable >= bytes && usable < bytes + (is_mapping ? largest_page + slack : slack);
}

// Reads the elements of a vector. Its three words point to its begin, its end, and the end of its memory.
bool TorchProvider::read_vector(Address at, std::vector<uint64_t>& content) const {
  uint64_t words[3];
  content.clear();
  if (!reader_.read(at, words, sizeof words)) return false;
  const uint64_t begin = words[0], end = words[1], limit = words[2];
  if (!looks_like_pointer(begin) || begin >= end || end > limit || limit - begin > largest_vector) return false;
  if ((end - begin) % sizeof(uint64_t) != 0 || !is_allocation(begin, limit - begin)) return false;
  content.resize((end - begin) / sizeof(uint64_t));
  return reader_.read(begin, content.data(), end - begin);
}

bool TorchProvider::is_object(Address address) const { return is_object_at(reader_, address); }

void TorchProvider::refer_to_object(ReferenceSink& sink, Address holder, uint32_t offset, const char* label) {
  Address object;
  if (read(holder, offset, &object) && is_object(object))
    sink.python(static_cast<PyObject*>(pointer_to(object)), Relation::native, label);
}

// --- objects
// -----------------------------------------------------------------------------------------------------------

void TorchProvider::expand_python(PyObject* object, ReferenceSink& sink) {
  PyTypeObject* type = Py_TYPE(object);
  const auto is_a = [&](const PyTypeObject* base) {
    return base != nullptr && PyType_IsSubtype(type, const_cast<PyTypeObject*>(base)) != 0;
  };
  if (type == &PyCapsule_Type) return expand_capsule(object, sink);
  if (is_a(layout_.context_type)) return expand_context(object, sink);
  if (is_a(layout_.saved_tensor_type)) return expand_saved_tensor(object, sink);
  uint32_t offset = layout_.node_in_wrapper;
  if (is_a(layout_.tensor_type)) offset = layout_.impl_in_wrapper;
  if (is_a(layout_.storage_type)) offset = layout_.impl_in_storage_wrapper;
  Address target;
  if (read(address_of(object), offset, &target))
    refer_to_impl(sink, address_of(object), target, is_a(layout_.tensor_type));
}

// Up to PyTorch 2.9 a tensor's wrapper was kept without its references while its impl had other owners. A wrapper that
// its impl took over only borrows the impl.
void TorchProvider::refer_to_impl(ReferenceSink& sink, Address wrapper, Address impl, bool is_tensor) {
  const KnownClass& known = class_of(impl);
  if (layout_.are_counts_coupled) return refer(sink, impl, labels::its_impl);
  if (is_tensor && known.what == TorchClass::tensor)
    return sink.keeper(pointer_to(impl), row_of(known, NodeKind::tensor, impl), labels::its_impl);
  if (known.what == TorchClass::storage &&
      owned_wrapper(impl, layout_.wrapper_in_storage, layout_.impl_in_storage_wrapper) == wrapper)
    return sink.keeper(pointer_to(impl), row_of(known, NodeKind::storage, impl), labels::its_impl);
  refer(sink, impl, labels::its_impl);
}

// The tensors of save_for_backward are in a vector in the context itself. Its node is shown only if the node confirms
// it: the weak reference of an older release may point to something else by now.
void TorchProvider::expand_context(PyObject* context, ReferenceSink& sink) {
  Address node, back;
  if (layout_.context_owns_node && read(address_of(context), layout_.node_in_context, &node) &&
      read(node, layout_.context_in_node, &back) && back == address_of(context))
    refer(sink, node, labels::its_impl);
  std::vector<uint64_t> saved;
  if (layout_.saved_in_context != TorchLayout::absent &&
      read_vector(address_of(context) + layout_.saved_in_context, saved) && has_slots(saved))
    expand_slots(saved, "saved_tensors", sink);
}

void TorchProvider::expand_native(const void* object, uint32_t type, ReferenceSink& sink) {
  const Address address = address_of(object);
  const KnownClass& known = class_of(address);
  if (known.what == kinds_[type]) expand_address(address, sink);  // else another object has replaced it
}

void TorchProvider::expand_address(Address address, ReferenceSink& sink) {
  const KnownClass& known = class_of(address);
  switch (known.what) {
    case TorchClass::tensor:
      return expand_tensor(address, known, sink);
    case TorchClass::storage:
      refer_to_wrapper(sink, address, layout_.wrapper_in_storage, layout_.impl_in_storage_wrapper);
      return expand_memory(address, sink);
    default:
      if (is_node(known.what)) expand_node(address, known, sink);
  }
}

// Adds the wrapper of an impl, which the impl owns while it has other owners. The wrapper has a flag for it, too.
void TorchProvider::refer_to_wrapper(ReferenceSink& sink, Address object, uint32_t wrapper_offset,
                                     uint32_t object_in_wrapper) {
  Address wrapper;
  if (const Address owned = owned_wrapper(object, wrapper_offset, object_in_wrapper))
    sink.python(static_cast<PyObject*>(pointer_to(owned)), Relation::native, labels::its_wrapper);
  else if (layout_.are_counts_coupled && count_of(object) >= 2 &&
           wrapper_of(object, wrapper_offset, object_in_wrapper, &wrapper))
    sink.coupled(static_cast<PyObject*>(pointer_to(wrapper)), labels::its_wrapper);
}

// Returns the wrapper that an impl took over when Python dropped it, up to PyTorch 2.9: the lowest bit of its address
// is set. 0: none.
Address TorchProvider::owned_wrapper(Address impl, uint32_t wrapper_offset, uint32_t impl_in_wrapper) const {
  Address tagged, back;
  if (layout_.are_counts_coupled || impl_in_wrapper == TorchLayout::absent || !read(impl, wrapper_offset, &tagged))
    return 0;
  const Address wrapper = tagged - 1;
  const bool is_owned =
      (tagged & 1) != 0 && is_object(wrapper) && read(wrapper, impl_in_wrapper, &back) && back == impl;
  return is_owned ? wrapper : 0;
}

void TorchProvider::expand_tensor(Address impl, const KnownClass& known, ReferenceSink& sink) {
  refer_to_wrapper(sink, impl, layout_.wrapper_in_impl, layout_.impl_in_wrapper);
  Address target;
  if (read(impl, layout_.storage_in_impl, &target)) refer(sink, target, "storage");
  if (read(impl, layout_.meta_in_impl, &target)) {
    const KnownClass& meta = class_of(target);
    if (meta.what == TorchClass::meta) {
      expand_meta(target, meta, sink);
      await_face(impl, target, sink);
    }
  }
  std::vector<uint64_t> words;
  if (known.is_base || layout_.impl_bytes == TorchLayout::absent || !read_block(impl, words)) return;
  for (size_t i = layout_.impl_bytes / sizeof(uint64_t); i < words.size(); ++i)
    refer_to_part(sink, words[i]);  // sparse and nested tensors, and those of functorch, contain others
}

void TorchProvider::refer_to_part(ReferenceSink& sink, Address target) {
  if (class_of(target).what == TorchClass::tensor) refer(sink, target, "part");
}

// Reads only fields that are known to have been written: other words of a block have stale contents.
void TorchProvider::expand_meta(Address meta, const KnownClass& known, ReferenceSink& sink) {
  Address target;
  uint64_t has_base;
  if (read(meta, layout_.grad_in_meta, &target)) refer(sink, target, "grad");
  if (read(meta, layout_.node_in_meta, &target)) refer(sink, target, "grad_fn");
  if (!known.is_base && read(meta, layout_.has_base_in_meta, &has_base) && (has_base & 0xFF) == 1 &&
      read(meta, layout_.base_in_meta, &target))
    refer(sink, target, "base");
  if (read(meta, layout_.post_accumulate_hook_in_meta, &target)) expand_holder(target, sink);
  std::vector<uint64_t> hooks;
  if (layout_.hooks_in_meta != TorchLayout::absent && read_vector(meta + layout_.hooks_in_meta, hooks))
    for (const uint64_t hook : hooks) expand_holder(hook, sink);
  if (read(meta, layout_.tangents_in_meta, &target)) expand_tangents(target, sink);
}

// Forward-mode differentiation: a hash map's list of entries.
void TorchProvider::expand_tangents(Address tangents, ReferenceSink& sink) {
  Address entry;
  if (!read(tangents, layout_.list_in_tangents, &entry)) return;
  constexpr int max_levels = 64;
  for (int i = 0; i < max_levels && looks_like_pointer(entry); ++i) {
    uint64_t words[3];  // next, level, tensor
    if (!reader_.read(entry, words, sizeof words)) return;
    refer(sink, words[2], "tangent");
    entry = words[0];
  }
}

// --- words
// -------------------------------------------------------------------------------------------------------------

std::string TorchProvider::describe_python(PyObject* object) {
  Address impl;
  const auto behind = [&](const PyTypeObject* type, uint32_t offset, TorchClass what) {
    return type != nullptr && PyType_IsSubtype(Py_TYPE(object), const_cast<PyTypeObject*>(type)) != 0 &&
           read(address_of(object), offset, &impl) && class_of(impl).what == what;
  };
  if (behind(layout_.tensor_type, layout_.impl_in_wrapper, TorchClass::tensor))
    return describe(impl, TorchClass::tensor);
  if (behind(layout_.storage_type, layout_.impl_in_storage_wrapper, TorchClass::storage))
    return describe(impl, TorchClass::storage);
  return "";
}

std::string TorchProvider::describe(Address object, TorchClass what) {
  if (what == TorchClass::tensor) return descriptions_.tensor(object);
  if (what != TorchClass::storage) return "";
  return descriptions_.storage(object) + (is_mapped(object) ? " of mapped memory" : "");
}

std::string TorchProvider::describe_native(const void* object, uint32_t type) {
  const Address address = address_of(object);
  return class_of(address).what == kinds_[type] ? describe(address, kinds_[type]) : "";
}

uint64_t TorchProvider::native_bytes(const void* object, uint32_t type) {
  const Address address = address_of(object);
  if (class_of(address).what != kinds_[type]) return 0;
  if (kinds_[type] != TorchClass::storage) return object_bytes(reader_, address);
  const bool is_known = layout_.storage_block != TorchLayout::absent;
  return (is_known ? layout_.storage_block : object_bytes(reader_, address)) + descriptions_.bytes(address);
}

uint64_t TorchProvider::sequence_number(const void* object, uint32_t type) {
  const Address address = address_of(object);
  uint64_t number;
  if (!is_node(kinds_[type]) || layout_.sequence_number_in_node == TorchLayout::absent) return SequenceNumber::none;
  if (class_of(address).what != kinds_[type]) return SequenceNumber::none;
  const bool is_read = reader_.read_word(address + layout_.sequence_number_in_node, &number);
  return is_read ? number : SequenceNumber::none;
}

}  // namespace gradlife::heap
