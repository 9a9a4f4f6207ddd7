#define Py_BUILD_CORE 1
#include "heap_py/interpreter/birth_lists.h"

#include <internal/pycore_gc.h>
#include <internal/pycore_interp.h>

static struct _gc_runtime_state* collector(void) { return &PyInterpreterState_Get()->gc; }
static PyGC_Head* oldest_list(void) { return &collector()->generations[NUM_GENERATIONS - 1].head; }
static PyGC_Head* head_of(PyObject* object) { return (PyGC_Head*)object - 1; }
static PyObject* object_at(PyGC_Head* at) { return (PyObject*)(at + 1); }

/* The low bits of a link are the collector's marks. */
static PyGC_Head* next_of(const PyGC_Head* at) { return (PyGC_Head*)(at->_gc_next & ~(uintptr_t)3); }
static PyGC_Head* previous_of(const PyGC_Head* at) { return (PyGC_Head*)(at->_gc_prev & ~(uintptr_t)3); }
static void link_next(PyGC_Head* at, PyGC_Head* next) { at->_gc_next = (at->_gc_next & 3) | (uintptr_t)next; }
static void link_previous(PyGC_Head* at, PyGC_Head* previous) {
  at->_gc_prev = (at->_gc_prev & 3) | (uintptr_t)previous;
}
static void join(PyGC_Head* left, PyGC_Head* right) {
  link_next(left, right);
  link_previous(right, left);
}
static void take_out(PyGC_Head* at) { join(previous_of(at), next_of(at)); }
static void put_before(PyGC_Head* at, PyGC_Head* next) {
  join(previous_of(next), at);
  join(at, next);
}
static void make_empty(PyGC_Head* list) { list->_gc_next = list->_gc_prev = (uintptr_t)list; }
static int is_empty(const PyGC_Head* list) { return next_of(list) == list; }

/* Moves all of a list before `next`, which stands in another one. */
static void move_list_before(PyGC_Head* list, PyGC_Head* next) {
  if (is_empty(list)) return;
  PyGC_Head *first = next_of(list), *last = previous_of(list);
  join(previous_of(next), first);
  join(last, next);
  make_empty(list);
}

static void move_to(PyObject* object, PyGC_Head* next) {
  take_out(head_of(object));
  put_before(head_of(object), next);
}

Py_ssize_t gl_full_collections(void) {
#if PY_VERSION_HEX >= 0x030f0000
  const struct gc_old_stats_buffer* last = &collector()->generation_stats->old[NUM_GENERATIONS - 2];
  return last->items[last->index].collections;
#else
  return collector()->generation_stats[NUM_GENERATIONS - 1].collections;
#endif
}
PyObject* gl_collector_callbacks(void) { return collector()->callbacks; }

void gl_place_front(PyObject* front) {
  take_out(head_of(front));
  put_before(head_of(front), next_of(oldest_list()));
}

void gl_place_mark(PyObject* mark) {
  struct _gc_runtime_state* gc = collector();
  /* The young lists first, then those before them: the order in which they would come here. */
  for (int i = NUM_GENERATIONS - 2; i >= 0; --i) {
    PyGC_Head* list = &gc->generations[i].head;
    for (PyGC_Head* at = next_of(list); at != list; at = next_of(at)) ++gc->long_lived_pending;
    move_list_before(list, oldest_list());
  }
  move_to(mark, oldest_list());
}

/* The way back from the end passes only what is new. */
int gl_is_in_order(const gl_birth_marks* marks) {
  PyGC_Head* list = oldest_list();
  if (next_of(list) != head_of(marks->front)) return 0;
  size_t left = marks->count;
  for (PyGC_Head* at = previous_of(list); left > 0 && at != list; at = previous_of(at))
    if (at == head_of(marks->marks[left - 1])) --left;
  return left == 0;
}

/* Between two nodes, from both ends towards the middle: each step waits for memory, and two waits overlap. */
static void visit_between(PyGC_Head* before, PyGC_Head* behind, gl_object_visitor visit, void* state) {
  PyGC_Head *first = next_of(before), *last = previous_of(behind);
  if (first == behind) return;
  for (;;) {
    PyGC_Head* next = next_of(first);
    visit(object_at(first), state);
    if (first == last) return;
    PyGC_Head* previous = previous_of(last);
    visit(object_at(last), state);
    if (next == last) return;
    first = next;
    last = previous;
  }
}

static void visit_list(PyGC_Head* list, gl_object_visitor visit, void* state) {
  visit_between(list, list, visit, state);
}

int gl_visit_by_birth(const gl_birth_marks* marks, gl_object_visitor visit, gl_epoch_visitor begin, void* state) {
  struct _gc_runtime_state* gc = collector();
  if (gc->collecting || marks->count == 0 || !gl_is_in_order(marks)) return 0;
  visit_list(&gc->permanent_generation.head, visit, state);
  PyGC_Head* before = head_of(marks->front);
  for (size_t i = 0; i < marks->count; ++i) {
    PyGC_Head* mark = head_of(marks->marks[i]);
    visit_between(before, mark, visit, state);
    begin(state);
    before = mark;
  }
  visit_between(before, oldest_list(), visit, state);
  for (int i = 0; i < NUM_GENERATIONS - 1; ++i) visit_list(&gc->generations[i].head, visit, state);
  return 1;
}

int gl_is_before_reordering(PyObject* mark) {
  return collector()->collecting && (head_of(mark)->_gc_prev & _PyGC_PREV_MASK_COLLECTING) != 0;
}

void gl_visit_behind(const gl_birth_marks* marks, gl_object_visitor visit, gl_epoch_visitor begin, void* state) {
  PyGC_Head* list = oldest_list();
  size_t passed = 0;
  for (PyGC_Head* at = head_of(marks->marks[0]); at != list; at = next_of(at)) {
    if (passed < marks->count && at == head_of(marks->marks[passed])) {
      ++passed;
      begin(state);
    } else {
      visit(object_at(at), state);
    }
  }
}

int gl_restore_order(const gl_birth_marks* marks, gl_epoch_of epoch_of, void* state) {
  PyGC_Head* list = oldest_list();
  PyGC_Head* epochs = PyMem_RawMalloc((marks->count + 1) * sizeof(PyGC_Head));
  if (epochs == NULL) return 0;
  for (size_t i = 0; i <= marks->count; ++i) make_empty(&epochs[i]);
  for (size_t i = 0; i < marks->count; ++i) move_to(marks->marks[i], &epochs[i + 1]);
  for (PyGC_Head *at = next_of(list), *next; at != list; at = next) {
    next = next_of(at);
    const size_t epoch = epoch_of(object_at(at), state);
    if (epoch != 0) move_to(object_at(at), &epochs[epoch]);
  }
  for (size_t i = 1; i <= marks->count; ++i) move_list_before(&epochs[i], list);
  gl_place_front(marks->front);
  PyMem_RawFree(epochs);
  return 1;
}

void gl_unfreeze_as_old(PyObject* front) {
  move_list_before(&collector()->permanent_generation.head, next_of(head_of(front)));
}
