// The interface of a provider: references that tp_traverse does not show, of torch's objects, of the engine's, of types
// without a traverse.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <functional>

#include "heap_py/interpreter/relation.hpp"
#include "heapgraph/graph/builder.hpp"

namespace gradlife::heap {

// A native object between a wrapper and an object that the wrapper's traverse shows once it alone owns the native
// object.
struct IntermediateOwner {
  const void* native = nullptr;
  uint32_t type = 0;
  uint32_t owners = 0;  // other owners than the wrapper and the object before it on the path
};

// Receives an object's references: for the walk, which only needs the targets, and for labels, which need the words.
class ReferenceSink {
 public:
  virtual void python(PyObject* target, Relation relation, const char* label, int64_t index = -1) = 0;
  virtual void native(const void* target, uint32_t type, const char* label, int64_t index = -1) = 0;

  // The native object that keeps its wrapper alive, without references, while it has other owners.
  virtual void keeper(const void* target, uint32_t type, const char* label) { native(target, type, label); }
  // References that the collector clears although the wrapper lives on.
  virtual void taken(PyObject* target, Relation relation, const char* label) { python(target, relation, label); }
  // The wrapper of the native object that is expanded: its count has one reference for all other owners of the object.
  virtual void coupled(PyObject* wrapper, const char* label) { python(wrapper, Relation::native, label); }
  // Native objects that the wrapper's traverse does not visit while they have other owners. Not for labels.
  virtual void latent(PyObject* /*wrapper*/, PyObject* /*target*/, const IntermediateOwner& /*first*/,
                      const IntermediateOwner& /*second*/) {}

 protected:
  ~ReferenceSink() = default;
};

// Memory that a native object uses and another object owns.
struct BorrowedMemory {
  uint64_t bytes = 0;         // 0: none
  PyObject* owner = nullptr;  // nullptr: a native object of the same provider
};

// Knows objects of some Python types and of the native types that it declares. None of its functions creates an object,
// runs Python code or follows an address that it has not verified.
class Provider {
 public:
  virtual ~Provider() = default;
  // Called before each walk: declares native types here, and finds existing rows by name.
  virtual void start(Builder& builder) = 0;
  // Whether instances of this type have more references than their traverse shows; asked once per walk and type.
  virtual bool knows(PyTypeObject* type) = 0;
  // Shows the other references if its traverse shows nothing: attributes, unless more is known.
  virtual void expand_silent(PyObject* object, ReferenceSink& sink);
  virtual void expand_python(PyObject* object, ReferenceSink& sink) = 0;
  virtual bool owns_type(uint32_t type) const = 0;
  virtual void expand_native(const void* object, uint32_t type, ReferenceSink& sink) = 0;
  // Returns the owner count of a native object; -1: unknown.
  virtual int64_t native_owners(const void*, uint32_t) { return -1; }
  // Finds all native objects of the library, including those without a known referrer.
  virtual void find_natives(const std::function<void(const void* object, uint32_t type)>&) {}
  // Returns the label of a reference that neither names nor `expand_python` explain; Relation::unknown: none.
  virtual Label describe_edge(PyObject* source, PyObject* target) = 0;
  virtual std::string describe_python(PyObject* object) = 0;  // "float32 [64, 32]", a word or two after the type
  virtual std::string describe_native(const void* object, uint32_t type) = 0;
  virtual uint64_t native_bytes(const void* object, uint32_t type) = 0;
  // Returns the number that a grad node got when it was made; SequenceNumber::none: it has none.
  virtual uint64_t sequence_number(const void*, uint32_t) { return SequenceNumber::none; }
  // Returns the part of `native_bytes` that belongs to another object, and that object.
  virtual BorrowedMemory borrowed(const void*, uint32_t) { return {}; }
  // Returns the object whose memory a Python object shows; nullptr: its own, or unknown.
  virtual PyObject* memory_owner(PyObject*) { return nullptr; }
  // Whether the memory that a Python object shows is measured as that of native objects.
  virtual bool is_native_memory(PyObject*) { return false; }
  // Returns bytes that a Python object owns outside itself and that its type does not show.
  virtual uint64_t outside_bytes(const PyObject*) { return 0; }
  // The limits of this provider, one sentence each.
  virtual const std::vector<std::string>& limits() const = 0;
};

}  // namespace gradlife::heap
