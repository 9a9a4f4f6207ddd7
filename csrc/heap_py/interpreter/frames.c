#define Py_BUILD_CORE 1
#include "heap_py/interpreter/interpreter.h"

#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_interpframe.h>
#endif

PyThreadState* gl_current_thread(void) {
#if PY_VERSION_HEX >= 0x030d0000
  return PyThreadState_GetUnchecked();
#else
  return _PyThreadState_UncheckedGet();
#endif
}

void* gl_newest_frame(PyThreadState* thread) {
#if PY_VERSION_HEX >= 0x030d0000
  return thread->current_frame;
#else
  return thread->cframe != NULL ? thread->cframe->current_frame : NULL;
#endif
}

void* gl_older_frame(void* frame) { return ((_PyInterpreterFrame*)frame)->previous; }

/* Whether it is only there to be returned to, and has no locals of its own. */
static int is_of_interpreter(const _PyInterpreterFrame* frame) {
#if PY_VERSION_HEX >= 0x030e0000
  return frame->owner >= FRAME_OWNED_BY_INTERPRETER;
#elif PY_VERSION_HEX >= 0x030c0000
  return frame->owner == FRAME_OWNED_BY_CSTACK;
#else
  (void)frame;
  return 0;
#endif
}

static PyCodeObject* code_of(_PyInterpreterFrame* frame) {
#if PY_VERSION_HEX >= 0x030e0000
  if (PyStackRef_IsNull(frame->f_executable)) return NULL;
  PyObject* executable = PyStackRef_AsPyObjectBorrow(frame->f_executable);
  return PyCode_Check(executable) ? (PyCodeObject*)executable : NULL;
#elif PY_VERSION_HEX >= 0x030d0000
  return frame->f_executable != NULL && PyCode_Check(frame->f_executable) ? (PyCodeObject*)frame->f_executable : NULL;
#else
  return frame->f_code != NULL && PyCode_Check(frame->f_code) ? frame->f_code : NULL;
#endif
}

static PyObject* function_of(_PyInterpreterFrame* frame) {
#if PY_VERSION_HEX >= 0x030e0000
  const int has_reference = !PyStackRef_IsNull(frame->f_funcobj) && PyStackRef_RefcountOnObject(frame->f_funcobj);
  return has_reference ? PyStackRef_AsPyObjectBorrow(frame->f_funcobj) : NULL;
#elif PY_VERSION_HEX >= 0x030c0000
  return frame->f_funcobj;
#else
  return (PyObject*)frame->f_func;
#endif
}

/* The height of a frame's value stack; negative: it is not written down. */
static int height_written_down(_PyInterpreterFrame* frame, const PyCodeObject* code) {
#if PY_VERSION_HEX >= 0x030e0000
  if (frame->stackpointer == NULL) return -1; /* only while an instruction runs that nobody can look at */
  const ptrdiff_t height = frame->stackpointer - frame->localsplus - code->co_nlocalsplus;
  return height <= code->co_stacksize ? (int)height : -1;
#else
  return frame->stacktop - code->co_nlocalsplus;
#endif
}

int gl_read_frame(void* address, gl_frame* read) {
  _PyInterpreterFrame* frame = address;
  if (is_of_interpreter(frame)) return 0;
  read->code = code_of(frame);
  if (read->code == NULL) return 0;
  const int incomplete = _PyFrame_IsIncomplete(frame);
  const int instruction = _PyInterpreterFrame_LASTI(frame);
  read->function = function_of(frame);
  read->locals = frame->f_locals;
  read->frame_object = (PyObject*)frame->frame_obj;
  read->fast = (const uintptr_t*)frame->localsplus;
  read->fast_count = incomplete ? 0 : read->code->co_nlocalsplus;
  const int height = incomplete ? -1 : height_written_down(frame, read->code);
  read->stack_count = height < 0 ? 0 : height;
  read->has_stack_height = height >= 0;
  read->is_generator = frame->owner == FRAME_OWNED_BY_GENERATOR;
  read->line = instruction < 0 ? read->code->co_firstlineno
                               : PyCode_Addr2Line(read->code, instruction * (int)sizeof(_Py_CODEUNIT));
  return 1;
}

int gl_frame_place(void* address, PyCodeObject** code, int* instruction) {
  _PyInterpreterFrame* frame = address;
  if (is_of_interpreter(frame)) return 0;
  *code = code_of(frame);
  if (*code == NULL || _PyFrame_IsIncomplete(frame)) return 0;
  *instruction = _PyInterpreterFrame_LASTI(frame);
  return 1;
}

int gl_line_of(PyCodeObject* code, int instruction) {
  return instruction < 0 ? code->co_firstlineno : PyCode_Addr2Line(code, instruction * (int)sizeof(_Py_CODEUNIT));
}

int gl_column_of(PyCodeObject* code, int instruction) {
  int line, column, last_line, last_column;
  if (instruction < 0 || PyCode_Addr2Location(code, instruction * (int)sizeof(_Py_CODEUNIT), &line, &column, &last_line,
                                              &last_column) == 0)
    return -1;
  return column;
}

void* gl_generator_frame(PyObject* object) {
  if (!PyGen_Check(object) && !PyCoro_CheckExact(object) && !PyAsyncGen_CheckExact(object)) return NULL;
  PyGenObject* generator = (PyGenObject*)object;
  if (generator->gi_frame_state >= FRAME_CLEARED) return NULL;
#if PY_VERSION_HEX >= 0x030e0000
  return &generator->gi_iframe;
#else
  return generator->gi_iframe;
#endif
}

void* gl_frame_of_object(PyObject* object) { return ((PyFrameObject*)object)->f_frame; }

int gl_has_ended(PyObject* object) { return ((PyFrameObject*)object)->f_frame->owner == FRAME_OWNED_BY_FRAME_OBJECT; }
