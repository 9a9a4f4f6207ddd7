// A fork that the program cannot see: no function of os.register_at_fork or pthread_atfork runs, and no signal comes
// when the copy ends.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <sys/types.h>

namespace gradlife::heap {

// Added to the options of waitpid: without it a copy that sends no signal is not waited for.
extern const int wait_for_silent;

// As fork(), but silent where it can be. A program with threads and another malloc than glibc's gets a plain fork: only
// that makes sure that no thread that is missing in the copy holds a lock of malloc there. All signals are blocked by
// the caller.
pid_t silent_fork();

// fork_silently() -> as os.fork(), without functions of the program. The import lock and the interpreter's are held.
PyObject* fork_silently(PyObject* module, PyObject*);

// end_silently(copy): kills and reaps a copy. A signal handler of the program may have reaped one that was forked
// plainly.
PyObject* end_silently(PyObject* module, PyObject* copy);

}  // namespace gradlife::heap
