#define Py_BUILD_CORE 1
#include "heap_py/interpreter/interpreter.h"

#include <signal.h>

#include <internal/pycore_gc.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#if PY_VERSION_HEX >= 0x030c0000
#include <internal/pycore_signal.h>
#endif
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_tstate.h>
#endif

#if PY_VERSION_HEX < 0x030b0000 || PY_VERSION_HEX >= 0x03100000
#error "the heap walk knows CPython 3.11 to 3.15"
#endif
#if PY_VERSION_HEX >= 0x030e0000 && PY_VERSION_HEX < 0x030e0500
#error "the collector of CPython 3.14.0 to 3.14.4 is another one: use 3.14.5 or later"
#endif
#ifdef Py_GIL_DISABLED
#error "the heap walk needs the interpreter lock"
#endif

/* --- the collector's objects ----------------------------------------------------------------------------------------
 */

/* The low bits of a link are the collector's marks. */
static PyGC_Head* next_of(const PyGC_Head* at) { return (PyGC_Head*)(at->_gc_next & ~(uintptr_t)3); }
static PyGC_Head* previous_of(const PyGC_Head* at) { return (PyGC_Head*)(at->_gc_prev & ~(uintptr_t)3); }

/* From both ends towards the middle: each step waits for memory, and two waits overlap. */
static void visit_list(PyGC_Head* head, gl_object_visitor visit, void* state) {
  PyGC_Head *first = next_of(head), *last = previous_of(head);
  while (first != head) {
    PyGC_Head* next = next_of(first);
    visit((PyObject*)(first + 1), state);
    if (first == last) return;
    PyGC_Head* previous = previous_of(last);
    visit((PyObject*)(last + 1), state);
    if (next == last) return;
    first = next;
    last = previous;
  }
}
/* During a collection the back link is stored elsewhere. */
static void visit_list_forwards(PyGC_Head* head, gl_object_visitor visit, void* state) {
  for (PyGC_Head* at = next_of(head); at != head; at = next_of(at)) visit((PyObject*)(at + 1), state);
}

/* Not PyUnstable_GC_VisitObjects: in 3.12 it leaves out the objects of gc.freeze(). */
void gl_visit_tracked(gl_object_visitor visit, void* state) {
  struct _gc_runtime_state* gc = &PyInterpreterState_Get()->gc;
  void (*visit_each)(PyGC_Head*, gl_object_visitor, void*) = gc->collecting ? visit_list_forwards : visit_list;
  for (int i = 0; i < NUM_GENERATIONS; ++i) visit_each(&gc->generations[i].head, visit, state);
  visit_each(&gc->permanent_generation.head, visit, state);
}

size_t gl_estimate_tracked(void) {
  struct _gc_runtime_state* gc = &PyInterpreterState_Get()->gc;
  Py_ssize_t count = gc->long_lived_total + gc->long_lived_pending + gc->generations[0].count;
  return count > 0 ? (size_t)count : 0;
}

Py_ssize_t gl_raise_long_lived(Py_ssize_t least) {
  struct _gc_runtime_state* gc = &PyInterpreterState_Get()->gc;
  const Py_ssize_t before = gc->long_lived_total;
  if (before < least) gc->long_lived_total = least;
  return before;
}

/* --- interpreter and threads
 * ------------------------------------------------------------------------------------------ */

#define SHOW(label, object)                          \
  do {                                               \
    PyObject* shown_ = (PyObject*)(object);          \
    if (shown_ != NULL) visit(label, shown_, state); \
  } while (0)

static void visit_exit_callbacks(struct atexit_state* exits, gl_labelled_visitor visit, void* state) {
#if PY_VERSION_HEX >= 0x030e0000
  SHOW("atexit callbacks", exits->callbacks);
#else
  for (int i = 0; i < exits->ncallbacks; ++i) {
    if (exits->callbacks[i] == NULL) continue;
    SHOW("atexit callback", exits->callbacks[i]->func);
    SHOW("arguments of an atexit callback", exits->callbacks[i]->args);
    SHOW("arguments of an atexit callback", exits->callbacks[i]->kwargs);
  }
#endif
}

#if PY_VERSION_HEX < 0x030c0000
/* They are in a static table of the signal module, which its own function reads. */
static void visit_signal_handlers(gl_labelled_visitor visit, void* state) {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "_signal");
  PyObject* read =
      module != NULL && PyModule_Check(module) ? PyDict_GetItemString(PyModule_GetDict(module), "getsignal") : NULL;
  for (int i = 1; read != NULL && PyCFunction_CheckExact(read) && i < NSIG; ++i) {
    PyObject* number = PyLong_FromLong(i);
    PyObject* handler = number != NULL ? PyObject_CallOneArg(read, number) : NULL;
    if (handler == NULL) PyErr_Clear();
    SHOW("signal handler", handler);
    Py_XDECREF(handler);
    Py_XDECREF(number);
  }
}
#else
static void visit_signal_handlers(gl_labelled_visitor visit, void* state) {
  for (int i = 0; i < Py_NSIG; ++i) {
#if PY_VERSION_HEX >= 0x030d0000
    SHOW("signal handler", _Py_atomic_load_ptr_relaxed((void**)&_PyRuntime.signals.handlers[i].func));
#else
    SHOW("signal handler", _Py_atomic_load_relaxed(&_PyRuntime.signals.handlers[i].func));
#endif
  }
}

static void visit_monitoring(PyInterpreterState* interpreter, gl_labelled_visitor visit, void* state) {
  for (int tool = 0; tool < PY_MONITORING_TOOL_IDS; ++tool) {
    SHOW("name of a monitoring tool", interpreter->monitoring_tool_names[tool]);
    for (int event = 0; event < _PY_MONITORING_EVENTS; ++event)
      SHOW("monitoring callback", interpreter->monitoring_callables[tool][event]);
  }
}
#endif

void gl_visit_interpreter(PyInterpreterState* interpreter, gl_labelled_visitor visit, void* state) {
#if PY_VERSION_HEX >= 0x030c0000
  SHOW("sys.modules", interpreter->imports.modules);
  SHOW("modules by index", interpreter->imports.modules_by_index);
  SHOW("importlib", interpreter->imports.importlib);
  SHOW("__import__", interpreter->imports.import_func);
  SHOW("a copy of sys", interpreter->sysdict_copy);
#else
  SHOW("sys.modules", interpreter->modules);
  SHOW("modules by index", interpreter->modules_by_index);
  SHOW("importlib", interpreter->importlib);
  SHOW("__import__", interpreter->import_func);
#endif
#if PY_VERSION_HEX >= 0x030f0000
  SHOW("__lazy_import__", interpreter->imports.lazy_import_func);
  SHOW("filter of lazy imports", interpreter->imports.lazy_imports_filter);
  SHOW("sys.lazy_modules", interpreter->imports.lazy_modules);
  SHOW("submodules to be imported", interpreter->imports.lazy_pending_submodules);
#endif
#if PY_VERSION_HEX >= 0x030d0000
  SHOW("codec search functions", interpreter->codecs.search_path);
  SHOW("codec cache", interpreter->codecs.search_cache);
  SHOW("codec error handlers", interpreter->codecs.error_registry);
#else
  SHOW("codec search functions", interpreter->codec_search_path);
  SHOW("codec cache", interpreter->codec_search_cache);
  SHOW("codec error handlers", interpreter->codec_error_registry);
#endif
  SHOW("sys", interpreter->sysdict);
  SHOW("builtins", interpreter->builtins);
  SHOW("a copy of builtins", interpreter->builtins_copy);
  SHOW("interpreter dict", interpreter->dict);
  SHOW("before-fork callbacks", interpreter->before_forkers);
  SHOW("after-fork callbacks", interpreter->after_forkers_parent);
  SHOW("after-fork callbacks", interpreter->after_forkers_child);
  SHOW("audit hooks", interpreter->audit_hooks);
  SHOW("warning filters", interpreter->warnings.filters);
  SHOW("warnings shown once", interpreter->warnings.once_registry);
  SHOW("default warning action", interpreter->warnings.default_action);
  SHOW("gc.garbage", interpreter->gc.garbage);
  SHOW("gc.callbacks", interpreter->gc.callbacks);
  visit_exit_callbacks(&interpreter->atexit, visit, state);
#if PY_VERSION_HEX >= 0x030c0000
  visit_monitoring(interpreter, visit, state);
#endif
  if (interpreter == PyInterpreterState_Main()) visit_signal_handlers(visit, state);
}

void gl_before_fork(void) {
  PyInterpreterState* interpreter = PyInterpreterState_Get();
  PyObject* functions = interpreter->before_forkers;
  interpreter->before_forkers = NULL;
  PyOS_BeforeFork();
  interpreter->before_forkers = functions;
}

void gl_after_fork_in_program(void) {
  PyInterpreterState* interpreter = PyInterpreterState_Get();
  PyObject* functions = interpreter->after_forkers_parent;
  interpreter->after_forkers_parent = NULL;
  PyOS_AfterFork_Parent();
  interpreter->after_forkers_parent = functions;
}

/* The caller's state is alone in its list for the time of the call. */
void gl_after_fork_in_copy(void) {
  PyThreadState* thread = PyThreadState_Get();
  PyInterpreterState* interpreter = thread->interp;
  PyThreadState *first_thread = interpreter->threads.head, *previous = thread->prev, *next = thread->next;
  PyInterpreterState *first = _PyRuntime.interpreters.head, *next_interpreter = interpreter->next;
  PyObject* functions = interpreter->after_forkers_child;
  interpreter->threads.head = thread;
  thread->prev = thread->next = NULL;
  _PyRuntime.interpreters.head = interpreter;
  interpreter->next = NULL;
  interpreter->after_forkers_child = NULL;
  PyOS_AfterFork_Child();
  interpreter->after_forkers_child = functions;
  interpreter->next = next_interpreter;
  _PyRuntime.interpreters.head = first;
  thread->prev = previous;
  thread->next = next;
  interpreter->threads.head = first_thread;
}

unsigned long gl_thread_ident(PyThreadState* thread) { return thread->thread_id; }

int gl_has_other_interpreters(void) {
  PyInterpreterState* first = PyInterpreterState_Head();
  return first != NULL && PyInterpreterState_Next(first) != NULL;
}

void gl_visit_thread(PyThreadState* thread, gl_labelled_visitor visit, void* state) {
  SHOW("profile function", thread->c_profileobj);
  SHOW("trace function", thread->c_traceobj);
  SHOW("thread-locals", thread->dict);
  SHOW("exception to be raised", thread->async_exc);
  SHOW("async generator hook", thread->async_gen_firstiter);
  SHOW("async generator hook", thread->async_gen_finalizer);
  SHOW("context", thread->context);
#if PY_VERSION_HEX >= 0x030d0000
  SHOW("key of its thread-locals", thread->threading_local_key);
  SHOW("key of its thread-locals", thread->threading_local_sentinel);
#endif
#if PY_VERSION_HEX >= 0x030c0000
  SHOW("exception being raised", thread->current_exception);
#else
  SHOW("exception being raised", thread->curexc_type);
  SHOW("exception being raised", thread->curexc_value);
  SHOW("exception being raised", thread->curexc_traceback);
#endif
#if PY_VERSION_HEX >= 0x030e0000
  SHOW("running event loop", ((_PyThreadStateImpl*)thread)->asyncio_running_loop);
  SHOW("running task", ((_PyThreadStateImpl*)thread)->asyncio_running_task);
#endif
#if PY_VERSION_HEX >= 0x030f0000
  SHOW("lazy imports under way", ((_PyThreadStateImpl*)thread)->lazy_imports);
#endif
  for (_PyErr_StackItem* item = thread->exc_info; item != NULL; item = item->previous_item)
    SHOW("exception being handled", item->exc_value);
}
