#include "heap_py/memory/malloc_usage.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(__GLIBC__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 33)
#include <malloc.h>
#define GRADLIFE_HAS_MALLINFO2
#endif
#endif

namespace gradlife::heap {

namespace {

struct SmallObjects {
  long long used = -1, free = -1;  // bytes
};

// The number behind a line's name, "# bytes in allocated blocks = 1,086,896", or -1.
long long number_after(const char* text, const char* name) {
  const char* line = std::strstr(text, name);
  const char* digit = line == nullptr ? nullptr : std::strchr(line, '=');
  if (digit == nullptr) return -1;
  long long number = 0;
  for (++digit; *digit != '\0' && *digit != '\n'; ++digit) {
    if (*digit >= '0' && *digit <= '9') number = number * 10 + (*digit - '0');
  }
  return number;
}

// Prints with the allocator of another domain in the place of a hooked one, which CPython refuses to tell of. Both are
// the same unless something else has hooked that one, too. No object is made meanwhile.
int print_unhooked(int (*print)(FILE*), FILE* stream) {
  PyMemAllocatorEx hooked, plain;
  PyMem_GetAllocator(PYMEM_DOMAIN_OBJ, &hooked);
  PyMem_GetAllocator(PYMEM_DOMAIN_MEM, &plain);
  PyMem_SetAllocator(PYMEM_DOMAIN_OBJ, &plain);
  const int is_told = print(stream);
  PyMem_SetAllocator(PYMEM_DOMAIN_OBJ, &hooked);
  return is_told;
}

// CPython tells this of its allocator for objects of at most 512 bytes only as text, in a function that is no part of
// its interface: where it is not exported, or there is no such allocator, nothing is known.
SmallObjects small_objects() {
  SmallObjects found;
  using Print = int (*)(FILE*);
  const auto print = reinterpret_cast<Print>(dlsym(RTLD_DEFAULT, "_PyObject_DebugMallocStats"));
  char* text = nullptr;
  size_t length = 0;
  FILE* stream = print == nullptr ? nullptr : open_memstream(&text, &length);
  if (stream == nullptr) return found;
  int is_told = print(stream);
  if (is_told == 0) is_told = print_unhooked(print, stream);
  if (std::fclose(stream) == 0 && is_told != 0 && text != nullptr) {
    const long long used = number_after(text, "# bytes in allocated blocks");
    const long long all = number_after(text, "bytes/arena");
    if (used >= 0 && all >= used) found = {used, all - used};
  }
  std::free(text);
  return found;
}

}  // namespace

PyObject* malloc_bytes(PyObject*, PyObject*) {
#ifdef GRADLIFE_HAS_MALLINFO2
  const struct mallinfo2 info = mallinfo2();
  return PyLong_FromSize_t(info.uordblks + info.hblkhd);  // in heaps, and in separate mappings
#else
  return Py_NewRef(Py_None);
#endif
}

PyObject* allocator_bytes(PyObject*, PyObject*) {
  const SmallObjects small = small_objects();
#ifdef GRADLIFE_HAS_MALLINFO2
  const struct mallinfo2 info = mallinfo2();
  const auto used = static_cast<long long>(info.uordblks + info.hblkhd);
  const auto free = static_cast<long long>(info.fordblks);
#else
  const long long used = -1, free = -1;
#endif
  return Py_BuildValue("LLLL", used, free, small.used, small.free);
}

}  // namespace gradlife::heap
