// A module, preloaded as well: makes the n-th allocation of one thread fail, CPython's or the engine's own.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

enum class Kind { none, python, native };
Kind armed = Kind::none;
pthread_t victim;
long left = 0;  // allocations until the one that fails
bool fired = false;

struct Range {
  uintptr_t first = 0, last = 0;
  bool has(void* address) const { return reinterpret_cast<uintptr_t>(address) - first < last - first; }
};
Range engine, numpy, interpreter;

// The code of the engine and of numpy, once they are loaded.
int find_code(dl_phdr_info* info, size_t, void*) {
  if (info->dlpi_name == nullptr) return 0;
  const bool is_numpy = std::strstr(info->dlpi_name, "_multiarray_umath.") != nullptr;
  if (!is_numpy && std::strstr(info->dlpi_name, "_engine.") == nullptr) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) & part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    const uintptr_t first = info->dlpi_addr + part.p_vaddr;
    (is_numpy ? numpy : engine) = {first, first + part.p_memsz};
  }
  return 0;
}

// The loop that runs Python code.
void find_interpreter() {
  Dl_info where;
  void* symbol = nullptr;
  void* loop = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
  if (loop == nullptr || dladdr1(loop, &where, &symbol, RTLD_DL_SYMENT) == 0 || symbol == nullptr) return;
  interpreter.first = reinterpret_cast<uintptr_t>(loop);
  interpreter.last = interpreter.first + static_cast<ElfW(Sym)*>(symbol)->st_size;
}

// Who asks CPython for memory: the engine, or Python code? CPython loses references itself where the latter has none
// left (a frame whose cell can't be made never lets go of the argument), so only the former is made to fail. Neither is
// numpy, which the engine asks for arrays: it stores in dicts what it had no memory for, and crashes.
bool is_asked_by_engine() {
  void* frames[64];
  const int count = backtrace(frames, 64);
  for (int i = 0; i < count; ++i) {
    if (engine.has(frames[i])) return true;
    if (numpy.has(frames[i])) return false;
    if (interpreter.has(frames[i])) return false;
  }
  return false;
}

bool fails(Kind kind) {
  if (armed != kind || !pthread_equal(pthread_self(), victim)) return false;
  if (kind == Kind::python && !is_asked_by_engine()) return false;
  if (left-- != 0) return false;
  return fired = true;
}

PyMemAllocatorEx real[3];
const PyMemAllocatorDomain domains[] = {PYMEM_DOMAIN_RAW, PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};

PyMemAllocatorEx* real_of(void* context) { return static_cast<PyMemAllocatorEx*>(context); }

void* failing_malloc(void* context, size_t size) {
  return fails(Kind::python) ? nullptr : real_of(context)->malloc(real_of(context)->ctx, size);
}
void* failing_calloc(void* context, size_t count, size_t size) {
  return fails(Kind::python) ? nullptr : real_of(context)->calloc(real_of(context)->ctx, count, size);
}
// Objects are resized without a fault: CPython itself frees a tuple that it can't shrink, and never lets go of its
// items.
void* failing_realloc(void* context, void* block, size_t size) {
  const bool is_object = context == &real[2];
  return !is_object && fails(Kind::python) ? nullptr : real_of(context)->realloc(real_of(context)->ctx, block, size);
}
void real_free(void* context, void* block) { real_of(context)->free(real_of(context)->ctx, block); }

void put_between() {
  for (int i = 0; i < 3; ++i) {
    PyMem_GetAllocator(domains[i], &real[i]);
    PyMemAllocatorEx between = {&real[i], failing_malloc, failing_calloc, failing_realloc, real_free};
    PyMem_SetAllocator(domains[i], &between);
  }
}

// arm(kind, n): the n-th allocation from now on fails, in this thread, counted from 0.
PyObject* arm(PyObject*, PyObject* arguments) {
  const char* kind;
  long count;
  if (!PyArg_ParseTuple(arguments, "sl", &kind, &count)) return nullptr;
  victim = pthread_self();
  left = count;
  fired = false;
  if (engine.last == 0 || numpy.last == 0) dl_iterate_phdr(find_code, nullptr);
  if (interpreter.last == 0) find_interpreter();
  armed = std::strcmp(kind, "python") == 0 ? Kind::python : Kind::native;
  Py_RETURN_NONE;
}

// disarm(): did it fail?
PyObject* disarm(PyObject*, PyObject*) {
  armed = Kind::none;
  return PyBool_FromLong(fired);
}

PyMethodDef functions[] = {
    {"arm", arm, METH_VARARGS, nullptr}, {"disarm", disarm, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "faults", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

void* new_or_throw(size_t size) {
  void* block = fails(Kind::native) ? nullptr : std::malloc(size != 0 ? size : 1);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void* new_or_throw(size_t size, std::align_val_t alignment) {
  void* block = nullptr;
  if (fails(Kind::native) || posix_memalign(&block, static_cast<size_t>(alignment), size) != 0) throw std::bad_alloc();
  return block;
}

}  // namespace

PyMODINIT_FUNC PyInit_faults() {
  put_between();
  return PyModule_Create(&definition);
}

void* operator new(size_t size) { return new_or_throw(size); }
void* operator new[](size_t size) { return new_or_throw(size); }
void* operator new(size_t size, std::align_val_t alignment) { return new_or_throw(size, alignment); }
void* operator new[](size_t size, std::align_val_t alignment) { return new_or_throw(size, alignment); }
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return fails(Kind::native) ? nullptr : std::malloc(size);
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return fails(Kind::native) ? nullptr : std::malloc(size);
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete(void* block, size_t) noexcept { std::free(block); }
void operator delete[](void* block, size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete[](void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept { std::free(block); }
void operator delete[](void* block, size_t, std::align_val_t) noexcept { std::free(block); }

// Storages ask malloc themselves. What else calls it is none of the engine's.
extern "C" void* __libc_malloc(size_t size);
extern "C" void* malloc(size_t size) {
  if (armed == Kind::native && engine.has(__builtin_return_address(0)) && fails(Kind::native)) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_malloc(size);
}
