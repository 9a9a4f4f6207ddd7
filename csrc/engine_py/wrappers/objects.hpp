// The memory layout of the module's objects.
#pragma once

#include "base/pyref.hpp"
#include "engine/graph/node.hpp"
#include "engine/policy/managed.hpp"
#include "engine/tensor/tensor.hpp"

namespace gradlife {

// The head of every wrapper.
struct WrapperObject {
  PyObject_HEAD Managed* impl;  // nullptr: emptied, the impl is gone (or, under OneFlow's proposal, keeps the wrapper)
  bool owns_impl;               // false while the impl keeps a resurrected wrapper
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
  PyObject* closure;  // of the tensor from which it was read
};

inline WrapperObject* head_of(PyObject* object) { return reinterpret_cast<WrapperObject*>(object); }
inline TensorObject* tensor_object(PyObject* object) { return reinterpret_cast<TensorObject*>(object); }

// The steps of a wrapper's life, shared by all kinds (wrapper.cpp).
Ref find_wrapper(Managed& impl);                            // the existing wrapper, or empty
Ref new_wrapper(Managed* stolen_impl, PyTypeObject* type);  // takes over one reference to the impl
bool resurrect_wrapper(PyObject* self);                     // the impl takes over the dying wrapper; true: it lives on
bool is_kept_by_impl(PyObject* self);                       // resurrect_wrapper would succeed
void forget_wrapper(PyObject* self);                        // a dying wrapper cannot be found again
void remember_wrapper(PyObject* self);                      // its finaliser resurrected it
void leave_impl(PyObject* self);                            // the wrapper releases its impl permanently

// Members of Python-level subclasses that hold `__slots__` (slots.cpp).
int visit_slots(PyObject* self, PyTypeObject* base, visitproc visit, void* arg);
void clear_slots(PyObject* self, PyTypeObject* base);

}  // namespace gradlife
