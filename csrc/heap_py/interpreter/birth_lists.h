/* The order of the collector's lists as a record of births. Objects of ours, the marks, stand in the oldest list: what
 * stands behind a mark was tracked after the mark was placed. The interpreter lock is held. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "heap_py/interpreter/interpreter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `front` stands before all objects of the oldest list, marks[i] behind those that were there when it was placed. */
typedef struct {
  PyObject* front;
  PyObject* const* marks;
  size_t count;
} gl_birth_marks;

/* The list of gc.callbacks; borrowed. */
PyObject* gl_collector_callbacks(void);
Py_ssize_t gl_full_collections(void); /* that have ended */

void gl_place_front(PyObject* front);
/* Moves all objects of the younger lists into the oldest, and the mark behind them. */
void gl_place_mark(PyObject* mark);

/* Visits every object that the collector knows, older ones first, without the marks. `begin` is called before the
 * objects behind each mark. Returns 0, and visits nothing, if the marks are not where they were placed: someone called
 * gc.freeze() or gc.unfreeze(). */
typedef void (*gl_epoch_visitor)(void* state);
int gl_is_in_order(const gl_birth_marks* marks);
int gl_visit_by_birth(const gl_birth_marks* marks, gl_object_visitor visit, gl_epoch_visitor begin, void* state);

/* Whether a full collection is under way that has changed no order yet, seen from the tp_traverse of a mark. */
int gl_is_before_reordering(PyObject* mark);
/* Visits the objects behind a mark; `begin` as above, for the marks among them. Safe in a collection. */
void gl_visit_behind(const gl_birth_marks* marks, gl_object_visitor visit, gl_epoch_visitor begin, void* state);
/* Puts each object of the oldest list behind its mark again. `epoch_of` returns the number of marks before an object,
 * 0 for one that is older than all. */
typedef size_t (*gl_epoch_of)(PyObject* object, void* state);
int gl_restore_order(const gl_birth_marks* marks, gl_epoch_of epoch_of, void* state); /* 0: no memory, nothing moved */

/* As gc.unfreeze(), but the objects go to the front of the oldest list: they are older than all marks. */
void gl_unfreeze_as_old(PyObject* front);

#ifdef __cplusplus
}
#endif
