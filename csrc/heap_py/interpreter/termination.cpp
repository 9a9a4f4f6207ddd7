#include "heap_py/interpreter/termination.hpp"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "heap_py/interpreter/exception_border.hpp"

namespace gradlife::heap {
namespace {

// Global, because a signal handler cannot be given arguments.
volatile sig_atomic_t descriptor = -1;
volatile sig_atomic_t announced_at = 0;  // seconds of a clock that starts at 1 or later; 0: not yet
pid_t program = 0;

// A signal to a process group arrives twice: directly, and from the command, which forwards its own.
constexpr sig_atomic_t echo_seconds = 2;

sig_atomic_t seconds_now() {
  struct timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<sig_atomic_t>(now.tv_sec) + 1;
}

void end_by(int number) {
  signal(number, SIG_DFL);
  raise(number);  // delivered when the handler returns
}

// A copy that the program forked itself must die as it would without this handler.
void announce(int number) {
  const int error = errno;
  const auto letter = static_cast<unsigned char>(number);
  const sig_atomic_t now = seconds_now();
  if (getpid() != program || descriptor < 0) {
    end_by(number);
  } else if (announced_at == 0) {
    announced_at = now;
    if (write(descriptor, &letter, 1) != 1) end_by(number);
  } else if (now - announced_at > echo_seconds) {
    end_by(number);
  }
  errno = error;
}

bool install(int number) {
  struct sigaction before = {}, ours = {};
  if (sigaction(number, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) return false;
  ours.sa_handler = announce;
  ours.sa_flags = SA_RESTART;
  sigemptyset(&ours.sa_mask);
  return sigaction(number, &ours, nullptr) == 0;
}

}  // namespace

PyObject* announce_signals(PyObject*, PyObject* arguments) {
  return guarded([&] {
    int to = -1;
    PyObject* numbers = nullptr;
    if (PyArg_ParseTuple(arguments, "iO!", &to, &PyList_Type, &numbers) == 0) throw PythonErrorSet();
    descriptor = to;
    program = getpid();
    announced_at = 0;
    Ref installed = checked(PyList_New(0));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(numbers); ++i) {
      const long number = PyLong_AsLong(PyList_GET_ITEM(numbers, i));
      if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
      if (install(static_cast<int>(number)))
        checked_status(PyList_Append(installed.get(), PyList_GET_ITEM(numbers, i)));
    }
    return installed.release();
  });
}

}  // namespace gradlife::heap
