// The memory layout of the module's objects.
#pragma once

#include "base/pyref.hpp"
#include "engine/graph/node.hpp"
#include "engine/policy/managed.hpp"
#include "engine/tensor/tensor.hpp"

namespace gradlife {

// The head of every wrapper.
struct WrapperObject {
  PyObject_HEAD Managed*
      impl;        // nullptr: emptied, the impl is gone (or, under OneFlow's proposal, has the wrapper in its keeping)
  bool owns_impl;  // false while a resurrected wrapper is in the keeping of its impl
};

struct TensorObject {
  WrapperObject head;
  PyObject* dict;
  PyObject* weakrefs;
  PyObject* backward_hooks;
  PyObject* post_accumulate_grad_hooks;
};

struct StorageObject {
  WrapperObject head;
  PyObject* dict;
  PyObject* weakrefs;
};

struct NodeObject {
  WrapperObject head;
  PyObject* closure;  // of the tensor that it was asked from
};

inline WrapperObject* head_of(PyObject* object) { return reinterpret_cast<WrapperObject*>(object); }
inline TensorObject* tensor_object(PyObject* object) { return reinterpret_cast<TensorObject*>(object); }

// The steps of a wrapper's life, shared by all kinds (wrapper.cpp).
Ref find_wrapper(Managed& impl);                            // the one that stands for it already, or empty
Ref new_wrapper(Managed* stolen_impl, PyTypeObject* type);  // takes over one reference to the impl
bool resurrect_wrapper(PyObject* self);  // dying wrapper goes into its impl's keeping; true: it lives on
bool is_kept_by_impl(PyObject* self);    // resurrect_wrapper would succeed
void forget_wrapper(PyObject* self);     // a dying wrapper is not to be found again
void remember_wrapper(PyObject* self);   // its finaliser brought it back to life
void leave_impl(PyObject* self);         // the wrapper lets go of its impl for good

// Members of Python-level subclasses that hold `__slots__` (slots.cpp).
int visit_slots(PyObject* self, PyTypeObject* base, visitproc visit, void* arg);
void clear_slots(PyObject* self, PyTypeObject* base);

}  // namespace gradlife
