// The references of numpy's arrays: the array or buffer whose memory they show, and the items of object arrays. Also
// the contents of the capsules in which arrays are exchanged.
#pragma once

#include "heap_py/interpreter/provider.hpp"

namespace gradlife::heap {

class NumpyProvider final : public Provider {
 public:
  // Returns the type of arrays if numpy is loaded; nullptr otherwise.
  static PyTypeObject* find_array_type();

  explicit NumpyProvider(PyTypeObject* arrays);
  void start(Builder&) override {}
  bool knows(PyTypeObject* type) override { return type == &PyCapsule_Type || PyType_IsSubtype(type, arrays_) != 0; }
  void expand_python(PyObject* object, ReferenceSink& sink) override;
  bool owns_type(uint32_t) const override { return false; }
  void expand_native(const void*, uint32_t, ReferenceSink&) override {}
  Label describe_edge(PyObject*, PyObject*) override { return {}; }
  std::string describe_python(PyObject* object) override;
  std::string describe_native(const void*, uint32_t) override { return ""; }
  uint64_t native_bytes(const void*, uint32_t) override { return 0; }
  PyObject* memory_owner(PyObject* object) override;
  uint64_t outside_bytes(const PyObject* object) override;
  const std::vector<std::string>& limits() const override { return limits_; }

 private:
  struct Array;
  static void expand_capsule(PyObject* capsule, ReferenceSink& sink);
  void expand_items(const Array& array, const std::vector<Py_ssize_t>& objects, ReferenceSink& sink) const;
  uint64_t item_bytes(const PyObject* type) const;

  PyTypeObject* arrays_;
  int version_;  // numpy's major version; 0 if its arrays are not known
  std::vector<std::string> limits_;
};

}  // namespace gradlife::heap
