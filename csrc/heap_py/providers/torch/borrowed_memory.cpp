// The owner of a storage's memory if that is not the storage: a buffer, an array, a DLPack capsule, or another storage.
#include "base/labels.hpp"
#include "heap_py/memory/dlpack.hpp"
#include "heap_py/providers/torch/provider.hpp"

namespace gradlife::heap {
namespace {

void* pointer_to(Address address) { return reinterpret_cast<void*>(static_cast<uintptr_t>(address)); }

constexpr const char* label = labels::memory_of;

}  // namespace

// Besides the address of its data a storage has a pointer, and the function that is called with it when the data is
// released.
TorchProvider::MemoryOwner TorchProvider::owner_of_memory(Address storage) {
  Address data, context, deleter;
  if (!read(storage, layout_.data_in_storage, &data) || !read(storage, layout_.context_in_storage, &context)) return {};
  if (context == data || !looks_like_pointer(context)) return {};  // its own, from an allocator
  const TorchClass what = class_of(context).what;
  if (what == TorchClass::tensor || what == TorchClass::storage) return {context};
  if (layout_.function_deleter == 0 || !read(storage, layout_.deleter_in_storage, &deleter)) return {};
  return deleter == layout_.function_deleter ? owner_by_function(context, data) : MemoryOwner{};
}

// A std::function behind the data's address: its captured object, and the code that identifies it. Only PyTorch's own
// closures are known; others may capture nothing, and then the word means nothing.
TorchProvider::MemoryOwner TorchProvider::owner_by_function(Address function, Address data) {
  Address same_data, owner, code;
  if (!reader_.read_word(function, &same_data) || same_data != data) return {};
  if (!read(function, layout_.code_in_function, &code) || !read(function, layout_.owner_in_function, &owner)) return {};
  const auto known = layout_.closures.find(code);
  if (known == layout_.closures.end()) return {};
  if (known->second != DLPack::none) return owner_by_dlpack(owner, known->second);
  return is_object(owner) ? MemoryOwner{0, static_cast<PyObject*>(pointer_to(owner))} : MemoryOwner{};
}

// The producer's word leads to a Python object, or to a structure that begins with a tensor.
TorchProvider::MemoryOwner TorchProvider::owner_by_dlpack(Address structure, DLPack sort) {
  Address maker, tensor;
  if (!read_maker(reader_, structure, sort, &maker)) return {};
  if (reader_.read_word(maker, &tensor) && class_of(tensor).what == TorchClass::tensor) return {tensor};
  return is_object(maker) ? MemoryOwner{0, static_cast<PyObject*>(pointer_to(maker))} : MemoryOwner{};
}

void TorchProvider::refer_to_owner(const MemoryOwner& owner, ReferenceSink& sink) {
  if (owner.native != 0) refer(sink, owner.native, label);
  if (owner.python != nullptr) sink.python(owner.python, Relation::native, label);
}

void TorchProvider::expand_memory(Address storage, ReferenceSink& sink) {
  refer_to_owner(owner_of_memory(storage), sink);
}

void TorchProvider::expand_capsule(PyObject* capsule, ReferenceSink& sink) {
  Address structure;
  const DLPack sort = dlpack_of(reader_, capsule, &structure);
  if (sort != DLPack::none) refer_to_owner(owner_by_dlpack(structure, sort), sink);
}

BorrowedMemory TorchProvider::borrowed(const void* object, uint32_t type) {
  const Address address = static_cast<Address>(reinterpret_cast<uintptr_t>(object));
  if (kinds_[type] != TorchClass::storage || class_of(address).what != TorchClass::storage) return {};
  const MemoryOwner owner = owner_of_memory(address);
  NodeKind kind;
  const bool is_known = owner.python != nullptr || kind_of(owner.native, class_of(owner.native), &kind);
  return is_known ? BorrowedMemory{descriptions_.bytes(address), owner.python} : BorrowedMemory{};
}

bool TorchProvider::is_native_memory(PyObject* object) {
  for (const PyTypeObject* own : {layout_.tensor_type, layout_.storage_type})
    if (own != nullptr && PyType_IsSubtype(Py_TYPE(object), const_cast<PyTypeObject*>(own)) != 0) return true;
  return false;
}

// Whether the memory is mapped from a file, or shared with other processes.
bool TorchProvider::is_mapped(Address storage) {
  Address context;
  return read(storage, layout_.context_in_storage, &context) && class_of(context).what == TorchClass::mapping;
}

}  // namespace gradlife::heap
