/* What only CPython's internal headers show: the collector's lists, the frames that run, interpreter and thread state,
 * attributes that have no dict yet. Those headers are C and differ from version to version, so they stay behind this
 * file, which is C too. Nothing here makes an object or runs code; only gl_raise_long_lived and the functions around a
 * fork write. The interpreter lock is held. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*gl_object_visitor)(PyObject* object, void* state);
typedef void (*gl_labelled_visitor)(const char* label, PyObject* object, void* state);

/* Every object that the collector knows, frozen ones too. */
void gl_visit_tracked(gl_object_visitor visit, void* state);
size_t gl_estimate_tracked(void); /* about how many, without counting them */
/* Raises the number of objects that survived the last full collection; returns what it was. The collector takes the
 * next full one when a quarter as many are new. */
Py_ssize_t gl_raise_long_lived(Py_ssize_t least);

/* What the interpreter itself holds: modules, hooks, codecs, callbacks of exit and fork. */
void gl_visit_interpreter(PyInterpreterState* interpreter, gl_labelled_visitor visit, void* state);
/* What a thread's state holds: the exceptions being handled, trace functions, context, thread-locals. */
void gl_visit_thread(PyThreadState* thread, gl_labelled_visitor visit, void* state);
unsigned long gl_thread_ident(PyThreadState* thread);
int gl_has_other_interpreters(void);

/* What the interpreter does around a fork, without the functions of os.register_at_fork. The import lock is held by the
 * caller, so that no other thread runs meanwhile. In the copy the states of other threads and interpreters stay as they
 * were: dropping them would run code of the program, and they hold objects. */
void gl_before_fork(void);
void gl_after_fork_in_program(void);
void gl_after_fork_in_copy(void);

/* Whether its reference count says nothing: it is never freed. */
int gl_is_immortal(const PyObject* object);

/* A frame that runs, or waits for one that does. Its locals are in no tracked object. */
typedef struct {
  PyObject* function; /* NULL: the frame has no reference to one; the next two may be NULL too */
  PyObject* locals;   /* the dict of a class body or module */
  PyObject* frame_object;
  PyCodeObject* code;
  const uintptr_t* fast; /* locals, cells and free variables, then the value stack: see gl_slot_reference */
  int fast_count;
  int stack_count;      /* of the value stack, 0 where its height is not written down: see gl_stack_height */
  int has_stack_height; /* whether it is written down */
  int is_generator;
  int line; /* 0: unknown */
} gl_frame;

PyThreadState* gl_current_thread(void);       /* NULL: none */
void* gl_newest_frame(PyThreadState* thread); /* NULL: none */
void* gl_older_frame(void* frame);
int gl_read_frame(void* frame, gl_frame* read); /* 0: it is no frame of Python code, or half made */

/* The object in a slot of `fast`, or NULL. From 3.14 on a slot may hold a number of the interpreter's own, or borrow an
 * object: another slot, of this frame or of one that waits for it, has the reference. */
static inline PyObject* gl_slot_object(const gl_frame* frame, int slot) {
#if PY_VERSION_HEX >= 0x030e0000
  const uintptr_t bits = frame->fast[slot], tag = bits & 3;
  return tag == 0 || tag == 1 ? (PyObject*)(bits - tag) : NULL;
#else
  return (PyObject*)frame->fast[slot];
#endif
}
/* The object that a slot has a reference to, or NULL. Nobody counts the references to an immortal object. */
static inline PyObject* gl_slot_reference(const gl_frame* frame, int slot) {
  PyObject* object = gl_slot_object(frame, slot);
#if PY_VERSION_HEX >= 0x030e0000
  const int is_borrowed = (frame->fast[slot] & 1) != 0;
  if (is_borrowed && object != NULL && !gl_is_immortal(object)) return NULL;
#endif
  return object;
}

/* The code that a frame runs, and where it stands in it; 0 as above. Cheaper than the whole frame. */
int gl_frame_place(void* frame, PyCodeObject** code, int* instruction);
int gl_line_of(PyCodeObject* code, int instruction);   /* 0: unknown */
int gl_column_of(PyCodeObject* code, int instruction); /* in bytes; -1: unknown */

/* How many values stand on a frame's stack, also where it does not write that down. An upper bound while an instruction
 * takes values off: the last of them may be gone already. */
int gl_stack_height(void* frame);

/* The frame of a generator, coroutine or asynchronous generator that has not ended, or NULL. */
void* gl_generator_frame(PyObject* generator);

/* The frame that a frame object stands for; it owns it once the call has ended. */
void* gl_frame_of_object(PyObject* frame_object);
int gl_has_ended(PyObject* frame_object); /* whether the call has, so that the frame object owns its variables */

/* What the fields of objects are called that tell it to nobody; NULL where `target` is in none of them. */
const char* gl_frame_object_field(PyObject* frame_object, PyObject* target);
const char* gl_context_field(PyObject* object, PyObject* target); /* of a Context, ContextVar or Token */
PyObject* gl_context_variable_name(PyObject* variable);           /* NULL: it is no ContextVar */

/* The attributes that stand in an instance itself, without a dict. */
typedef void (*gl_attribute_visitor)(PyObject* name, PyObject* value, void* state);
void gl_visit_inline_attributes(PyObject* object, gl_attribute_visitor visit, void* state);
/* Where they stand, or NULL. */
const void* gl_inline_attributes(PyObject* object);
/* The dict that an instance has already, or NULL. Never makes one. */
PyObject* gl_existing_dict(PyObject* object);
/* The keys of a dict that are all text: its tp_traverse leaves them out. None for any other dict. */
void gl_visit_text_keys(PyObject* dict, gl_object_visitor visit, void* state);
/* Bytes of a dict's tables, subclasses' too: its own keys, values that stand apart. Keys that instances share are left
 * out. */
size_t gl_dict_table_bytes(PyObject* dict);
/* Bytes that belong to an instance but stand beside it: its inline attributes. */
size_t gl_inline_bytes(PyObject* object);

/* Bytes that a type's allocator asks for in front of an instance: the collector's links, places for dict and weak list.
 */
size_t gl_bytes_before(PyTypeObject* type);
/* Bytes that it asks for in all for an instance without items, at most and at least: each of the first instances of a
 * class has place for one attribute less behind it (from Python 3.13 on). */
size_t gl_block_bytes(PyTypeObject* type);
size_t gl_least_block_bytes(PyTypeObject* type);

#ifdef __cplusplus
}
#endif
