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
void TorchProvider::expand_memory(Address storage, ReferenceSink& sink) {
  Address data, context, deleter;
  if (!read(storage, layout_.data_in_storage, &data) || !read(storage, layout_.context_in_storage, &context)) return;
  if (context == data || !looks_like_pointer(context)) return;  // its own, from an allocator
  const TorchClass what = class_of(context).what;
  if (what == TorchClass::tensor || what == TorchClass::storage) return refer(sink, context, label);
  if (layout_.function_deleter == 0 || !read(storage, layout_.deleter_in_storage, &deleter)) return;
  if (deleter == layout_.function_deleter) expand_function(context, data, sink);
}

// A std::function behind the data's address: its captured object, and the code that identifies it. Only PyTorch's own
// closures are known; others may capture nothing, and then the word means nothing.
void TorchProvider::expand_function(Address function, Address data, ReferenceSink& sink) {
  Address same_data, owner, code;
  if (!reader_.read_word(function, &same_data) || same_data != data) return;
  if (!read(function, layout_.code_in_function, &code) || !read(function, layout_.owner_in_function, &owner)) return;
  const auto known = layout_.closures.find(code);
  if (known == layout_.closures.end()) return;
  if (known->second != DLPack::none) return expand_dlpack(owner, known->second, sink);
  if (is_object(owner)) sink.python(static_cast<PyObject*>(pointer_to(owner)), Relation::native, label);
}

// The producer's word leads to a Python object, or to a structure that begins with a tensor.
void TorchProvider::expand_dlpack(Address structure, DLPack sort, ReferenceSink& sink) {
  Address maker, tensor;
  if (!read_maker(reader_, structure, sort, &maker)) return;
  if (reader_.read_word(maker, &tensor) && class_of(tensor).what == TorchClass::tensor)
    refer(sink, tensor, label);
  else if (is_object(maker))
    sink.python(static_cast<PyObject*>(pointer_to(maker)), Relation::native, label);
}

void TorchProvider::expand_capsule(PyObject* capsule, ReferenceSink& sink) {
  Address structure;
  const DLPack sort = dlpack_of(reader_, capsule, &structure);
  if (sort != DLPack::none) expand_dlpack(structure, sort, sink);
}

// Whether the memory is mapped from a file, or shared with other processes.
bool TorchProvider::is_mapped(Address storage) {
  Address context;
  return read(storage, layout_.context_in_storage, &context) && class_of(context).what == TorchClass::mapping;
}

}  // namespace gradlife::heap
