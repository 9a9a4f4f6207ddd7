#include "heap_py/memory/malloc_usage.hpp"

#if defined(__GLIBC__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 33)
#include <malloc.h>
#define GRADLIFE_HAS_MALLINFO2
#endif
#endif

namespace gradlife::heap {

PyObject* malloc_bytes(PyObject*, PyObject*) {
#ifdef GRADLIFE_HAS_MALLINFO2
  const struct mallinfo2 info = mallinfo2();
  return PyLong_FromSize_t(info.uordblks + info.hblkhd);  // in heaps, and in separate mappings
#else
  return Py_NewRef(Py_None);
#endif
}

}  // namespace gradlife::heap
