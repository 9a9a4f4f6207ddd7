// Compiler, platform and Python that an extension was built with: `gradlife doctor` prints them for bug reports.
#pragma once

#include <Python.h>

#define GRADLIFE_TEXT_OF(value) #value
#define GRADLIFE_TEXT(value) GRADLIFE_TEXT_OF(value)

#if defined(__clang__)
#define GRADLIFE_COMPILER __VERSION__
#elif defined(__GNUC__)
#define GRADLIFE_COMPILER "GCC " __VERSION__
#else
#define GRADLIFE_COMPILER "an unknown compiler"
#endif

#if defined(__SANITIZE_ADDRESS__)
#define GRADLIFE_SORT "sanitized"
#elif defined(NDEBUG)
#define GRADLIFE_SORT "release"
#else
#define GRADLIFE_SORT "debug"
#endif

#if defined(__GLIBC__)
#define GRADLIFE_LIBRARY ", glibc " GRADLIFE_TEXT(__GLIBC__) "." GRADLIFE_TEXT(__GLIBC_MINOR__)
#else
#define GRADLIFE_LIBRARY ""
#endif

namespace gradlife {

// Adds `_build` to a module. Returns -1 with an error set on failure.
inline int add_build_info(PyObject* module) {
  return PyModule_AddStringConstant(
      module, "_build", GRADLIFE_SORT " build for Python " PY_VERSION ", " GRADLIFE_COMPILER GRADLIFE_LIBRARY);
}

}  // namespace gradlife
