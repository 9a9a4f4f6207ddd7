// Calls of user code, during which a thread may be ended.
//
// Up to 3.13 CPython ends a daemon thread that requests the interpreter's lock during shutdown: the C++ frames in
// between are unwound without the lock, their destructors touch objects that are gone, and the process crashes.
// Instead, such a thread waits here until the process ends, as CPython itself does since 3.14.
#pragma once

#include "base/pyref.hpp"

#if defined(__linux__) && defined(__GLIBCXX__)
#include <cxxabi.h>
#include <unistd.h>
#endif

namespace gradlife {

#if defined(__linux__) && defined(__GLIBCXX__)
// The caught exception has no object; this is not undefined behaviour of this code.
#define GRADLIFE_CATCHES_FORCED_UNWIND __attribute__((no_sanitize("undefined")))
#else
#define GRADLIFE_CATCHES_FORCED_UNWIND
#endif

template <class Call>
GRADLIFE_CATCHES_FORCED_UNWIND auto in_user_code(Call&& call) {
#if defined(__linux__) && defined(__GLIBCXX__)
  try {
    return call();
  } catch (abi::__forced_unwind&) {
    for (;;) pause();
  }
#else
  return call();
#endif
}

inline PyObject* call_user_code(PyObject* callable, PyObject* argument) {
  return in_user_code([&] { return PyObject_CallOneArg(callable, argument); });
}

inline PyObject* call_user_code(PyObject* callable, PyObject* const* arguments, size_t count,
                                PyObject* names = nullptr) {
  return in_user_code([&] { return PyObject_Vectorcall(callable, arguments, count, names); });
}

}  // namespace gradlife
