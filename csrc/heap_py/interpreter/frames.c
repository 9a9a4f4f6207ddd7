#define Py_BUILD_CORE 1
#include "heap_py/interpreter/interpreter.h"

#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>

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

static PyCodeObject* code_of(_PyInterpreterFrame* frame) {
#if PY_VERSION_HEX >= 0x030d0000
  return frame->f_executable != NULL && PyCode_Check(frame->f_executable) ? (PyCodeObject*)frame->f_executable : NULL;
#else
  return frame->f_code != NULL && PyCode_Check(frame->f_code) ? frame->f_code : NULL;
#endif
}

static PyObject* function_of(_PyInterpreterFrame* frame) {
#if PY_VERSION_HEX >= 0x030c0000
  return frame->f_funcobj;
#else
  return (PyObject*)frame->f_func;
#endif
}

int gl_read_frame(void* address, gl_frame* read) {
  _PyInterpreterFrame* frame = address;
#if PY_VERSION_HEX >= 0x030c0000
  if (frame->owner == FRAME_OWNED_BY_CSTACK) return 0; /* has no locals of its own */
#endif
  read->code = code_of(frame);
  if (read->code == NULL) return 0;
  const int incomplete = _PyFrame_IsIncomplete(frame);
  const int instruction = _PyInterpreterFrame_LASTI(frame);
  read->function = function_of(frame);
  read->locals = frame->f_locals;
  read->frame_object = (PyObject*)frame->frame_obj;
  read->fast = frame->localsplus;
  read->fast_count = incomplete ? 0 : read->code->co_nlocalsplus;
  read->stack_count =
      incomplete || frame->stacktop < read->code->co_nlocalsplus ? 0 : frame->stacktop - read->code->co_nlocalsplus;
  read->has_stack_height = !incomplete && frame->stacktop >= read->code->co_nlocalsplus;
  read->is_generator = frame->owner == FRAME_OWNED_BY_GENERATOR;
  read->line = instruction < 0 ? read->code->co_firstlineno
                               : PyCode_Addr2Line(read->code, instruction * (int)sizeof(_Py_CODEUNIT));
  return 1;
}

int gl_frame_place(void* address, PyCodeObject** code, int* instruction) {
  _PyInterpreterFrame* frame = address;
#if PY_VERSION_HEX >= 0x030c0000
  if (frame->owner == FRAME_OWNED_BY_CSTACK) return 0;
#endif
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
  return generator->gi_frame_state < FRAME_CLEARED ? (void*)generator->gi_iframe : NULL;
}

void* gl_frame_of_object(PyObject* object) { return ((PyFrameObject*)object)->f_frame; }
