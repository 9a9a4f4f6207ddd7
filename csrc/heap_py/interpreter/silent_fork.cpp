#include "heap_py/interpreter/silent_fork.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "heap_py/interpreter/interpreter.h"

#if defined(__linux__) && defined(__GLIBC__)
#define GRADLIFE_CAN_FORK_SILENTLY
#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <linux/futex.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>
#endif

namespace gradlife::heap {

#ifdef GRADLIFE_CAN_FORK_SILENTLY

const int wait_for_silent = __WALL;

namespace {

// How long a copy may wait for malloc's locks, in the first attempt and in the last, each twice as long as the one
// before. A lock is held for microseconds; a busy machine may let a copy wait for a processor.
constexpr int first_patience = 20'000, last_patience = 1'280'000;  // microseconds

// The memory of a fork, and no signal at the end: the lowest byte of the flags is the number of the signal.
pid_t clone_memory() { return static_cast<pid_t>(syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr)); }

// Whether this process has one thread only: then nothing is held by another one.
bool is_single_threaded() {
  const int status = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (status < 0) return false;
  char text[1024];
  const ssize_t length = read(status, text, sizeof text - 1);
  close(status);
  if (length <= 0) return false;
  text[length] = 0;
  // The name in parentheses may have any character. The number of threads is the 18th word after it.
  const char* at = strrchr(text, ')');
  for (int word = 0; word < 18 && at != nullptr; ++word) at = strchr(at + 1, ' ');
  return at != nullptr && atoi(at + 1) == 1;
}

const void* library_of(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

// Whether an address only stands for another library's function: a program that is not position-independent has one for
// each function whose address it takes, and the loader hands it out.
bool is_stand_in(const void* address) {
  Dl_info info;
  void* symbol = nullptr;
  return dladdr1(address, &info, &symbol, RTLD_DL_SYMENT) != 0 && symbol != nullptr &&
         static_cast<const ElfW(Sym)*>(symbol)->st_shndx == SHN_UNDEF;
}

int add_name(dl_phdr_info* library, size_t, void* names) {
  try {
    static_cast<std::vector<std::string>*>(names)->emplace_back(library->dlpi_name);
  } catch (const std::bad_alloc&) {  // no exception may pass through the loader
    return 1;
  }
  return 0;
}

// The malloc that this process uses, in the library that has it; nullptr: unknown.
const void* malloc_in_use() {
  const void* used = dlsym(RTLD_DEFAULT, "malloc");
  if (used == nullptr || !is_stand_in(used)) return used;
  std::vector<std::string> names;  // in the order in which the loader looks through them
  if (dl_iterate_phdr(add_name, &names) != 0) return nullptr;
  for (const std::string& name : names) {
    void* library = name.empty() ? nullptr : dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    const void* own = dlsym(library, "malloc");
    dlclose(library);
    Dl_info info;
    if (own != nullptr && dladdr(own, &info) != 0 && name == info.dli_fname) return own;
  }
  return nullptr;
}

// Whether malloc is glibc's, and not one of LD_PRELOAD or a sanitizer. Asked once: the loader's lock may be held for
// long.
bool has_own_malloc() {
  static const bool is_own = [] {
    const void* used = malloc_in_use();
    return used != nullptr && library_of(used) == library_of(reinterpret_cast<const void*>(&gnu_get_libc_version));
  }();
  return is_own;
}

// Takes and releases the locks of all heaps of malloc. Hangs if a thread that is not here holds one. A copy needs no
// lock of the loader: which libraries there are was noted before.
void touch_locks() {
#if __GLIBC_PREREQ(2, 33)
  (void)mallinfo2();
#else
  (void)mallinfo();
#endif
}

// In the copy: lets an alarm end it unless all locks are free. The alarm and its action are the copy's own.
void touch_locks_within(int microseconds) {
  struct sigaction plain = {}, before;
  plain.sa_handler = SIG_DFL;
  sigaction(SIGALRM, &plain, &before);
  sigset_t alarm, blocked;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  itimerval timer = {};
  timer.it_value = {microseconds / 1'000'000, microseconds % 1'000'000};
  setitimer(ITIMER_REAL, &timer, nullptr);
  pthread_sigmask(SIG_UNBLOCK, &alarm, &blocked);
  touch_locks();
  pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
  timer = {};
  setitimer(ITIMER_REAL, &timer, nullptr);
  sigaction(SIGALRM, &before, nullptr);
}

// A word that a copy shares with the program.
class SharedWord {
 public:
  SharedWord() {
    void* page = mmap(nullptr, sizeof(Word), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) word_ = static_cast<Word*>(page);
  }
  ~SharedWord() {
    if (word_ != nullptr) munmap(word_, sizeof(Word));
  }
  SharedWord(const SharedWord&) = delete;
  SharedWord& operator=(const SharedWord&) = delete;

  bool is_there() const { return word_ != nullptr; }
  bool is_set() const { return word_->load() != 0; }
  void set() {
    word_->store(1);
    syscall(SYS_futex, word_, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  void wait(long nanoseconds) const {
    const timespec longest = {0, nanoseconds};
    syscall(SYS_futex, word_, FUTEX_WAIT, 0, &longest, nullptr, 0);
  }

 private:
  using Word = std::atomic<int>;
  static_assert(sizeof(Word) == 4);
  Word* word_ = nullptr;
};

// Whether a copy has found all locks free. Waits until it is ready, or dead; a dead one is reaped.
bool becomes_ready(pid_t copy, const SharedWord& ready) {
  constexpr long interval = 2'000'000;
  for (;;) {
    if (ready.is_set()) return true;
    const pid_t ended = waitpid(copy, nullptr, __WALL | WNOHANG);
    if (ended == copy || (ended < 0 && errno != EINTR)) return false;
    ready.wait(interval);
  }
}

// Forks a program with threads; a copy in which one of them holds a lock is given up. -1 with EAGAIN: all were given
// up.
pid_t fork_between_locks() {
  for (int patience = first_patience; patience <= last_patience; patience *= 2) {
    SharedWord ready;
    if (!ready.is_there()) return -1;
    const pid_t copy = clone_memory();
    if (copy < 0) return -1;
    if (copy == 0) {
      touch_locks_within(patience);
      ready.set();
      return 0;
    }
    if (becomes_ready(copy, ready)) return copy;
  }
  errno = EAGAIN;
  return -1;
}

}  // namespace

pid_t silent_fork() {
  if (is_single_threaded()) return clone_memory();
  return has_own_malloc() ? fork_between_locks() : fork();
}

#else

const int wait_for_silent = 0;

pid_t silent_fork() { return fork(); }

#endif

PyObject* fork_silently(PyObject*, PyObject*) {
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {  // os.fork refuses it, too
    errno = ENOTSUP;
    return PyErr_SetFromErrno(PyExc_OSError);
  }
  gl_before_fork();
  const pid_t copy = silent_fork();
  const int error = errno;
  if (copy == 0) {
    gl_after_fork_in_copy();
  } else {
    gl_after_fork_in_program();
  }
  errno = error;
  return copy < 0 ? PyErr_SetFromErrno(PyExc_OSError) : PyLong_FromLong(copy);
}

PyObject* end_silently(PyObject*, PyObject* number) {
  const auto copy = static_cast<pid_t>(PyLong_AsLong(number));
  if (PyErr_Occurred() != nullptr) return nullptr;
  Py_BEGIN_ALLOW_THREADS;
  if (copy > 0 && kill(copy, SIGKILL) == 0)
    while (waitpid(copy, nullptr, wait_for_silent) < 0 && errno == EINTR) continue;
  Py_END_ALLOW_THREADS;
  return Py_NewRef(Py_None);
}

}  // namespace gradlife::heap
