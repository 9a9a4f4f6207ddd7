// What torch's C++ objects hold, read from memory with a calibrated layout and checked by class. Makes no wrapper.
#pragma once

#include <map>

#include "heap_py/class_names.hpp"
#include "heap_py/provider.hpp"
#include "heap_py/torch_layout.hpp"

namespace gradlife::heap {

class TorchProvider final : public Provider {
 public:
  explicit TorchProvider(const TorchLayout& layout);
  void start(Builder& builder) override;
  bool knows(PyTypeObject* type) override;
  void expand_python(PyObject* object, ReferenceSink& sink) override;
  bool owns_type(uint32_t type) const override { return type < kinds_.size() && kinds_[type] != Class::none; }
  void expand_native(const void* object, uint32_t type, ReferenceSink& sink) override;
  Label describe_edge(PyObject* source, PyObject* target) override;
  std::string describe_python(PyObject* object) override;
  std::string describe_native(const void* object, uint32_t type) override;
  uint64_t native_bytes(const void* object, uint32_t type) override;
  const std::vector<std::string>& limits() const override { return limits_; }

 private:
  // What a class is to the walk.
  enum class Class : uint8_t {
    none,
    undefined,
    tensor,
    storage,
    meta,
    node,
    accumulator,
    py_node,
    hook,
    saved_hooks,
    metadata
  };
  struct Known {
    Class what = Class::none;
    std::string name;  // "SinBackward0"
    uint32_t row = 0;
  };
  struct Word {
    uint32_t offset;
    Address target;
    const Known* known;
  };

  const Known& class_of_vtable(uint64_t vtable);
  const Known& class_of(Address object);
  Known classify(const std::string& mangled);
  uint32_t row_of(const Known& known, NodeKind kind);
  bool read(Address object, uint32_t offset, Address* word) const;
  bool read_block(Address object, std::vector<uint64_t>& words) const;
  std::vector<Word> typed_words(const std::vector<uint64_t>& words);
  bool is_allocation(Address begin, uint64_t bytes) const;
  std::vector<Word> typed_words_of_vectors(const std::vector<uint64_t>& words, uint32_t skipped);

  void refer(ReferenceSink& sink, Address target, const char* label, int64_t index = -1);
  void refer_to_wrapper(ReferenceSink& sink, Address object, uint32_t wrapper_offset);
  void expand_context(PyObject* context, ReferenceSink& sink);
  void expand_tensor(Address impl, ReferenceSink& sink);
  void expand_meta(Address meta, ReferenceSink& sink);
  void expand_node(Address node, const Known& known, ReferenceSink& sink);
  void expand_edges(Address node, ReferenceSink& sink);
  void expand_saved(const std::vector<Word>& words, const Known& known, ReferenceSink& sink);
  void expand_holder(const Word& word, const char* hooks_label, ReferenceSink& sink);
  void refer_to_object(ReferenceSink& sink, Address holder, uint32_t offset, const char* label);
  bool is_object(Address address) const;

  const TorchLayout& layout_;
  MemoryReader reader_;
  ClassNames names_;
  Builder* builder_ = nullptr;
  std::unordered_map<uint64_t, Known> classes_;  // by vtable
  std::map<std::string, uint32_t> rows_;         // by kind and name
  std::vector<Class> kinds_;                     // by row
  std::vector<std::string> limits_;
};

}  // namespace gradlife::heap
