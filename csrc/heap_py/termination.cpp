#include "heap_py/termination.hpp"

#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "heap_py/border.hpp"

namespace gradlife::heap {
namespace {

// Read by a handler, which can be given nothing.
volatile sig_atomic_t descriptor = -1;
volatile sig_atomic_t was_announced = 0;
pid_t program = 0;

void end_by(int number) {
  signal(number, SIG_DFL);
  raise(number);  // it comes when the handler returns
}

// A copy of the program that it forked itself dies as it would.
void announce(int number) {
  const int error = errno;
  const auto letter = static_cast<unsigned char>(number);
  const bool is_first = getpid() == program && was_announced == 0;
  was_announced = 1;
  if (!is_first || write(descriptor, &letter, 1) != 1) end_by(number);
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
    was_announced = 0;
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
