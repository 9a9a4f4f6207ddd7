// The graph of the physical limit: one flat array after the other, trusted and not checked.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define CHUNK 8192
#define ROW_MARK ((PyObject*)1)

typedef struct {
  PyObject* key;
  uint32_t node;
} Slot;

typedef struct {
  PyObject* objects;  // gc.get_objects()
  PyObject** nodes;
  size_t count, capacity, tracked;
  uint32_t *first, *targets;  // references of node i: targets[first[i] .. first[i + 1])
  size_t edges, edge_capacity, rows;
  uint32_t *first_back, *sources;
  uint32_t* sizes;
  Slot* slots;
  size_t slot_count;
  int shift;
  PyObject** pending;
  size_t pending_count, pending_capacity;
} Graph;

static void* grown(void* block, size_t bytes) {
  block = realloc(block, bytes);
  if (block == NULL) abort();
  return block;
}
static void* zeros(size_t count, size_t bytes) {
  void* block = calloc(count, bytes);
  if (block == NULL) abort();
  return block;
}
static void* filled(size_t bytes) { return memset(grown(NULL, bytes), 0xff, bytes); }

// --- addresses to nodes ---

static size_t home(const Graph* g, PyObject* key) {
  return (size_t)(((uintptr_t)key >> 4) * 0x9E3779B97F4A7C15ull) >> g->shift;
}
static void make_slots(Graph* g, size_t wanted) {
  int bits = 10;
  while (((size_t)1 << bits) < wanted * 2) ++bits;
  g->slot_count = (size_t)1 << bits;
  g->shift = 64 - bits;
  free(g->slots);
  g->slots = zeros(g->slot_count, sizeof(Slot));
}
static uint32_t find(const Graph* g, PyObject* key) {
  for (size_t at = home(g, key);; at = (at + 1) & (g->slot_count - 1)) {
    if (g->slots[at].key == key) return g->slots[at].node;
    if (g->slots[at].key == NULL) return NONE;
  }
}
static void put(Graph* g, PyObject* key, uint32_t node) {
  size_t at = home(g, key);
  while (g->slots[at].key != NULL) at = (at + 1) & (g->slot_count - 1);
  g->slots[at] = (Slot){key, node};
}
static uint32_t add(Graph* g, PyObject* object) {
  if (g->count == g->capacity) {
    g->capacity += g->capacity / 2 + 1024;
    g->nodes = grown(g->nodes, g->capacity * sizeof *g->nodes);
    g->first = grown(g->first, (g->capacity + 1) * sizeof *g->first);
  }
  const uint32_t node = (uint32_t)g->count++;
  g->nodes[node] = object;
  if (g->count * 2 <= g->slot_count) {
    put(g, object, node);
  } else {
    make_slots(g, g->count * 2);
    for (size_t i = 0; i < g->count; ++i) put(g, g->nodes[i], (uint32_t)i);
  }
  return node;
}

// --- the graph ---

static void prefetch(PyObject* object) {
  __builtin_prefetch(object);
  __builtin_prefetch((char*)object - 16);
}
static int push(PyObject* object, void* graph) {
  Graph* g = graph;
  if (object == NULL) return 0;
  if (g->pending_count == g->pending_capacity) {
    g->pending_capacity = g->pending_capacity * 2 + CHUNK;
    g->pending = grown(g->pending, g->pending_capacity * sizeof *g->pending);
  }
  g->pending[g->pending_count++] = object;
  return 0;
}
static void resolve(Graph* g) {
  if (g->edges + g->pending_count > g->edge_capacity) {
    g->edge_capacity = g->edges + g->pending_count + g->edge_capacity / 2;
    g->targets = grown(g->targets, g->edge_capacity * sizeof *g->targets);
  }
  for (size_t i = 0; i < g->pending_count; ++i) {
    if (i + 10 < g->pending_count) __builtin_prefetch(&g->slots[home(g, g->pending[i + 10])]);
    PyObject* object = g->pending[i];
    if (object == ROW_MARK) {
      g->first[g->rows++] = (uint32_t)g->edges;
      continue;
    }
    const uint32_t known = find(g, object);
    g->targets[g->edges++] = known != NONE ? known : add(g, object);
  }
  g->pending_count = 0;
}
static PyObject* all_objects(void) {
  PyObject* gc = PyImport_ImportModule("gc");
  PyObject* list = gc != NULL ? PyObject_CallMethod(gc, "get_objects", NULL) : NULL;
  Py_XDECREF(gc);
  return list;
}
static int build(Graph* g) {
  memset(g, 0, sizeof *g);
  g->objects = all_objects();
  if (g->objects == NULL) return -1;
  g->count = g->tracked = (size_t)PyList_GET_SIZE(g->objects);
  g->capacity = 2 * g->count + 1024;
  g->nodes = grown(NULL, g->capacity * sizeof *g->nodes);
  g->first = grown(NULL, (g->capacity + 1) * sizeof *g->first);
  g->edge_capacity = 4 * g->count;
  g->targets = grown(NULL, g->edge_capacity * sizeof *g->targets);
  make_slots(g, 2 * g->count);
  for (size_t i = 0; i < g->count; ++i) {
    if (i + 16 < g->count) __builtin_prefetch(&g->slots[home(g, PyList_GET_ITEM(g->objects, i + 16))], 1);
    g->nodes[i] = PyList_GET_ITEM(g->objects, i);
    put(g, g->nodes[i], (uint32_t)i);
  }
  for (size_t i = 0; i < g->count; ++i) {
    if (i + 12 < g->count) prefetch(g->nodes[i + 12]);
    PyObject* object = g->nodes[i];
    const traverseproc traverse = Py_TYPE(object)->tp_traverse;
    push(ROW_MARK, g);
    if (traverse != NULL && (i < g->tracked || PyObject_IS_GC(object))) traverse(object, push, g);
    if (g->pending_count >= CHUNK || i + 1 == g->count) resolve(g);
  }
  g->first[g->rows] = (uint32_t)g->edges;
  return 0;
}
static void release(Graph* g) {
  free(g->nodes), free(g->first), free(g->targets), free(g->first_back), free(g->sources);
  free(g->sizes), free(g->slots), free(g->pending);
  Py_XDECREF(g->objects);
}
static void turn_round(Graph* g) {
  g->first_back = zeros(g->count + 2, sizeof *g->first_back);
  g->sources = grown(NULL, (g->edges + 1) * sizeof *g->sources);
  for (size_t e = 0; e < g->edges; ++e) g->first_back[g->targets[e] + 2]++;
  for (size_t i = 2; i <= g->count + 1; ++i) g->first_back[i] += g->first_back[i - 1];
  for (size_t i = 0; i < g->count; ++i)
    for (uint32_t e = g->first[i]; e < g->first[i + 1]; ++e)
      g->sources[g->first_back[g->targets[e] + 1]++] = (uint32_t)i;
}
static size_t size_of(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (PyUnicode_CheckExact(object) || PyDict_CheckExact(object) || PyAnySet_CheckExact(object) || type == &PyType_Type)
    return _PySys_GetSizeOf(object);
  size_t bytes = (size_t)type->tp_basicsize;
  if (type == &PyList_Type) return bytes + 16 + (size_t)((PyListObject*)object)->allocated * sizeof(void*);
  if (type->tp_itemsize != 0) bytes += (size_t)labs(Py_SIZE(object)) * (size_t)type->tp_itemsize;
  return bytes + (PyObject_IS_GC(object) ? 16 : 0);
}
static void measure(Graph* g) {
  g->sizes = grown(NULL, g->count * sizeof *g->sizes);
  for (size_t i = 0; i < g->count; ++i) {
    if (i + 12 < g->count) __builtin_prefetch(g->nodes[i + 12]);
    g->sizes[i] = (uint32_t)size_of(g->nodes[i]);
  }
}
