#include "heap_py/interpreter/forked_copy.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <system_error>

#include "base/pyref.hpp"
#include "heap_py/interpreter/exception_border.hpp"
#include "heap_py/interpreter/silent_fork.hpp"

#if defined(__linux__)
#include <sys/prctl.h>
#endif

namespace gradlife::heap {
namespace {

// If memory runs out, the system kills the copy and not the program. A copy that is waited for ends with the program;
// another one must outlive the thread that forked it, such as a request's, because the signal comes when that thread
// ends.
void stand_behind(pid_t program, bool is_waited_for) {
#if defined(__linux__)
  prctl(PR_SET_NAME, "gradlife-copy");  // it must not pass for a process of the program
  if (is_waited_for) prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != program) _exit(1);
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  if (write(file, "1000", 4) < 0) errno = 0;
  close(file);
#else
  (void)program, (void)is_waited_for;
#endif
}

[[noreturn]] void work_and_exit(const std::function<void()>& work, pid_t program, bool is_waited_for) {
  int status = 1;
  try {
    stand_behind(program, is_waited_for);
    work();
    status = 0;
  } catch (...) {
  }
  _exit(status);
}

// Returns what waitpid does, without the interpreter lock meanwhile. A signal's handler may raise, as Ctrl-C does: then
// the copy is killed. PythonErrorSet
pid_t wait_or_kill(pid_t copy, int* status) {
  for (;;) {
    pid_t ended;
    int error;
    Py_BEGIN_ALLOW_THREADS ended = waitpid(copy, status, wait_for_silent);
    error = errno;
    Py_END_ALLOW_THREADS if (ended >= 0 || error != EINTR) return ended;
    if (PyErr_CheckSignals() == 0) continue;
    kill(copy, SIGKILL);
    while (waitpid(copy, status, wait_for_silent) < 0 && errno == EINTR) continue;
    throw PythonErrorSet();
  }
}

// Whether the copy exited with success, or the program's own handler has reaped it before.
bool has_ended_well(pid_t copy) {
  int status = 0;
  return wait_or_kill(copy, &status) < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace

pid_t start_copy(const std::function<void()>& work, int niceness) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);  // handlers belong to the program, and must not run in the copy
  const pid_t program = getpid();
  const pid_t copy = silent_fork();
  if (copy == 0) {
    if (niceness > 0 && nice(niceness) < 0) errno = 0;
    work_and_exit(work, program, niceness == 0);
  }
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (copy < 0) throw std::system_error(error, std::generic_category());
  return copy;
}

void wait_for_copy(pid_t copy) {
  if (!has_ended_well(copy)) throw std::bad_alloc();
}

}  // namespace gradlife::heap
