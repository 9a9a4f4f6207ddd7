// The references of torch's C++ objects, read with a calibrated layout and checked by class. Creates no wrapper.
#pragma once

#include <map>

#include "heap_py/interpreter/provider.hpp"
#include "heap_py/memory/dlpack.hpp"
#include "heap_py/providers/torch/description.hpp"

namespace gradlife::heap {

class TorchProvider final : public Provider {
 public:
  explicit TorchProvider(const TorchLayout& layout, size_t pages = PageCache::many);
  void start(Builder& builder) override;
  bool knows(PyTypeObject* type) override;
  void expand_python(PyObject* object, ReferenceSink& sink) override;
  bool owns_type(uint32_t type) const override { return type < kinds_.size() && kinds_[type] != TorchClass::none; }
  void expand_native(const void* object, uint32_t type, ReferenceSink& sink) override;
  int64_t native_owners(const void* object, uint32_t type) override;
  void find_natives(const std::function<void(const void* object, uint32_t type)>& tell) override;
  // Expands a native object that no walk found; nothing if there is no object of a known class.
  void expand_address(Address object, ReferenceSink& sink);
  Label describe_edge(PyObject* source, PyObject* target) override;
  std::string describe_python(PyObject* object) override;
  std::string describe_native(const void* object, uint32_t type) override;
  uint64_t native_bytes(const void* object, uint32_t type) override;
  uint64_t sequence_number(const void* object, uint32_t type) override;
  BorrowedMemory borrowed(const void* object, uint32_t type) override;
  bool is_native_memory(PyObject* object) override;
  const std::vector<std::string>& limits() const override { return limits_; }

 private:
  const KnownClass& class_of(Address object);  // at an address that need not be an object's
  uint32_t row_of(const KnownClass& known, NodeKind kind, Address object);
  bool is_alive(Address object, NodeKind kind) const;
  bool read(Address object, uint32_t offset, Address* word) const;
  bool read_block(Address object, std::vector<uint64_t>& words) const;
  bool is_allocation(Address begin, uint64_t bytes) const;
  bool read_vector(Address at, std::vector<uint64_t>& content) const;

  bool kind_of(Address object, const KnownClass& known, NodeKind* kind) const;
  void refer(ReferenceSink& sink, Address target, const char* label, int64_t index = -1);
  void refer_to_impl(ReferenceSink& sink, Address wrapper, Address impl, bool is_tensor);
  void refer_to_wrapper(ReferenceSink& sink, Address object, uint32_t wrapper_offset, uint32_t object_in_wrapper);
  Address owned_wrapper(Address impl, uint32_t wrapper_offset, uint32_t impl_in_wrapper) const;
  uint32_t count_of(Address object) const;  // the number of its owners; 0 if it cannot be read
  uint32_t count_of_node(Address node, Address meta) const;
  bool wrapper_of(Address object, uint32_t wrapper_offset, uint32_t object_in_wrapper, Address* wrapper) const;
  bool python_object_of(Address node, const KnownClass& known, Address* shown) const;
  void await_face(Address impl, Address meta, ReferenceSink& sink);
  void await_hooks(Address node, const KnownClass& known, Address holder, ReferenceSink& sink);
  // The owner of memory; nothing: the memory is the storage's own, or its owner is unknown.
  struct MemoryOwner {
    Address native = 0;
    PyObject* python = nullptr;
  };
  MemoryOwner owner_of_memory(Address storage);
  MemoryOwner owner_by_function(Address function, Address data);
  MemoryOwner owner_by_dlpack(Address structure, DLPack sort);
  void refer_to_owner(const MemoryOwner& owner, ReferenceSink& sink);
  void expand_memory(Address storage, ReferenceSink& sink);
  void expand_capsule(PyObject* capsule, ReferenceSink& sink);
  bool is_mapped(Address storage);
  std::string describe(Address object, TorchClass what);
  Label describe_table(Address node, PyObject* table);
  Address node_of_context(const PyObject* context);
  Address node_of_tensor(const PyObject* tensor);
  void expand_context(PyObject* context, ReferenceSink& sink);
  void expand_saved_tensor(PyObject* object, ReferenceSink& sink);
  void expand_tensor(Address impl, const KnownClass& known, ReferenceSink& sink);
  void refer_to_part(ReferenceSink& sink, Address target);
  void expand_meta(Address meta, const KnownClass& known, ReferenceSink& sink);
  void expand_tangents(Address tangents, ReferenceSink& sink);
  void expand_node(Address node, const KnownClass& known, ReferenceSink& sink);
  void expand_edges(Address node, ReferenceSink& sink);
  void expand_hooks(Address node, const KnownClass& known, ReferenceSink& sink);
  void expand_shapes(Address node, ReferenceSink& sink);
  // The place of a node's saved data: a slot at that word, or a list that begins there.
  struct Place {
    size_t word;
    std::vector<uint64_t> list;
  };
  std::vector<Place> places_of(Address node, const std::vector<uint64_t>& words);
  void expand_saved(Address node, const KnownClass& known, ReferenceSink& sink);
  // Whether the words are a saved tensor: its data and, if they were packed, what it was made from.
  bool is_slot(const std::vector<uint64_t>& words, size_t first);
  bool is_marked(const std::vector<uint64_t>& words, size_t first, bool is_packed);
  bool has_slots(const std::vector<uint64_t>& words);
  void expand_slot(const uint64_t* slot, const char* name, int64_t index, ReferenceSink& sink);
  void expand_slots(const std::vector<uint64_t>& words, const char* name, ReferenceSink& sink);
  void refer_to_all(ReferenceSink& sink, const std::vector<uint64_t>& tensors, const char* name);
  void expand_holder(Address holder, ReferenceSink& sink);
  void refer_to_object(ReferenceSink& sink, Address holder, uint32_t offset, const char* label);
  bool is_object(Address address) const;

  const TorchLayout& layout_;
  PageCache reader_;
  TorchClasses classes_;
  TorchDescriptions descriptions_;
  Builder* builder_ = nullptr;
  std::map<std::string, uint32_t> rows_;  // by kind and name
  std::vector<TorchClass> kinds_;         // by row
  std::vector<std::string> limits_;
};

}  // namespace gradlife::heap
