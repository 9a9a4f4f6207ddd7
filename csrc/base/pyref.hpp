// Ownership of Python objects as types: a Ref owns, a Borrowed does not.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <utility>

namespace gradlife {

class Borrowed {
 public:
  Borrowed(PyObject* object) : object_(object) {}
  PyObject* get() const { return object_; }
  operator PyObject*() const { return object_; }

 private:
  PyObject* object_;
};

class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  static Ref steal(PyObject* object) { return Ref(object); }
  static Ref borrow(PyObject* object) {
    Py_XINCREF(object);
    return Ref(object);
  }
  Ref(const Ref& other) : object_(other.object_) { Py_XINCREF(object_); }
  Ref(Ref&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }
  PyObject* get() const { return object_; }
  PyObject* release() {
    PyObject* object = object_;
    object_ = nullptr;
    return object;
  }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  explicit Ref(PyObject* object) : object_(object) {}
  PyObject* object_ = nullptr;
};

// Whether an object has one reference. From Python 3.14 on a call borrows what variables hold, without one.
inline bool is_referenced_once(PyObject* object) {
#if PY_VERSION_HEX >= 0x030e0000
  return PyUnstable_Object_IsUniquelyReferenced(object) != 0;
#else
  return Py_REFCNT(object) == 1;
#endif
}

// The end of a dealloc: the instance of a heap type owns a reference to the type.
inline void free_object(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

}  // namespace gradlife
