// The physical limit: each question about the heap as a bare extension answers it, with no names, no roots beyond what
// it is given, no other thread in mind and no safety. A stopwatch, not a tool: nothing of gradlife uses it.
#include "limit_graph.h"

// --- questions ---

static PyObject* visit_heap(PyObject* module, PyObject* none) {
  (void)module, (void)none;
  PyObject* objects = all_objects();
  if (objects == NULL) return NULL;
  Graph g = {0};
  const Py_ssize_t count = PyList_GET_SIZE(objects);
  size_t edges = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (i + 12 < count) prefetch(PyList_GET_ITEM(objects, i + 12));
    PyObject* object = PyList_GET_ITEM(objects, i);
    Py_TYPE(object)->tp_traverse(object, push, &g);
    edges += g.pending_count;
    g.pending_count = 0;
  }
  free(g.pending);
  Py_DECREF(objects);
  return PyLong_FromSize_t(edges);
}
static PyObject* build_graph(PyObject* module, PyObject* none) {
  (void)module, (void)none;
  Graph g;
  if (build(&g) != 0) return NULL;
  PyObject* counts = Py_BuildValue("nn", (Py_ssize_t)g.count, (Py_ssize_t)g.edges);
  release(&g);
  return counts;
}
static PyObject* count_types(PyObject* module, PyObject* none) {
  (void)module, (void)none;
  PyObject* objects = all_objects();
  if (objects == NULL) return NULL;
  const size_t capacity = (size_t)1 << 16;
  Slot* slots = zeros(capacity, sizeof(Slot));
  const Py_ssize_t count = PyList_GET_SIZE(objects);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (i + 12 < count) __builtin_prefetch(PyList_GET_ITEM(objects, i + 12));
    PyObject* type = (PyObject*)Py_TYPE(PyList_GET_ITEM(objects, i));
    size_t at = (((uintptr_t)type >> 4) * 0x9E3779B97F4A7C15ull) >> 48;
    while (slots[at].key != NULL && slots[at].key != type) at = (at + 1) & (capacity - 1);
    slots[at].key = type;
    slots[at].node++;
  }
  PyObject* counts = PyDict_New();
  for (size_t at = 0; counts != NULL && at < capacity; ++at) {
    if (slots[at].key == NULL) continue;
    PyObject* number = PyLong_FromUnsignedLong(slots[at].node);
    if (number == NULL || PyDict_SetItem(counts, slots[at].key, number) != 0) Py_CLEAR(counts);
    Py_XDECREF(number);
  }
  free(slots);
  Py_DECREF(objects);
  return counts;
}
// Backwards from an object to the first of sys.modules: the number of references, or -1.
static PyObject* path_length(PyObject* module, PyObject* target) {
  (void)module;
  Graph g;
  if (build(&g) != 0) return NULL;
  turn_round(&g);
  uint32_t* steps = filled(g.count * sizeof *steps);
  uint32_t* queue = grown(NULL, g.count * sizeof *queue);
  const uint32_t root = find(&g, PyImport_GetModuleDict());
  size_t next = 0, end = 0;
  queue[end++] = find(&g, target);
  steps[queue[0]] = 0;
  long found = -1;
  for (; next < end && found < 0; ++next) {
    const uint32_t at = queue[next];
    if (at == root) found = (long)steps[at];
    for (uint32_t e = g.first_back[at]; e < g.first_back[at + 1]; ++e) {
      const uint32_t source = g.sources[e];
      if (steps[source] != NONE) continue;
      steps[source] = steps[at] + 1;
      queue[end++] = source;
    }
  }
  free(steps), free(queue), release(&g);
  return PyLong_FromLong(found);
}

// Semi-NCA, below a virtual root over what no known reference explains.
typedef struct {
  uint32_t *number, *node, *parent, *label, *semi, *dominator, *stack, *place;
  uint8_t* is_root;
  uint32_t count;
} Tree;

static uint32_t evaluate(Tree* t, uint32_t at, uint32_t last) {
  if (t->parent[at] < last) return t->label[at];
  size_t depth = 0;
  for (; t->parent[at] >= last; at = t->parent[at]) t->stack[depth++] = at;
  uint32_t above = at, best = t->label[at];
  while (depth != 0) {
    at = t->stack[--depth];
    t->parent[at] = t->parent[above];
    if (t->semi[best] < t->semi[t->label[at]]) t->label[at] = best;
    best = t->label[at];
    above = at;
  }
  return best;
}
static void enter(const Graph* g, Tree* t, uint32_t node, uint32_t parent) {
  t->number[node] = t->count;
  t->node[t->count] = node;
  t->parent[t->count++] = parent;
  t->place[node] = g->first[node];
}
static void search_depth_first(const Graph* g, Tree* t) {
  t->count = 1;
  t->parent[0] = 0;
  for (size_t start = 0; start < g->count; ++start) {
    if (t->is_root[start] == 0 || t->number[start] != NONE) continue;
    size_t depth = 0;
    enter(g, t, (uint32_t)start, 0);
    t->stack[depth++] = (uint32_t)start;
    while (depth != 0) {
      const uint32_t at = t->stack[depth - 1];
      if (t->place[at] == g->first[at + 1]) {
        --depth;
        continue;
      }
      const uint32_t target = g->targets[t->place[at]++];
      if (t->number[target] != NONE) continue;
      enter(g, t, target, t->number[at]);
      t->stack[depth++] = target;
    }
  }
}
static void find_dominators(const Graph* g, Tree* t) {
  for (uint32_t i = 0; i < t->count; ++i) {
    t->dominator[i] = t->parent[i];
    t->label[i] = t->semi[i] = i;
  }
  for (uint32_t i = t->count - 1; i >= 1; --i) {
    const uint32_t node = t->node[i];
    uint32_t semi = t->is_root[node] ? 0 : t->dominator[i];
    for (uint32_t e = g->first_back[node]; semi != 0 && e < g->first_back[node + 1]; ++e) {
      const uint32_t number = t->number[g->sources[e]];
      if (number == NONE) continue;
      const uint32_t other = t->semi[evaluate(t, number, i + 1)];
      if (other < semi) semi = other;
    }
    t->semi[i] = semi;
  }
  for (uint32_t i = 1; i < t->count; ++i)
    while (t->dominator[i] > t->semi[i]) t->dominator[i] = t->dominator[t->dominator[i]];
}
// Bytes that only this object keeps, after those of every object were found.
static PyObject* retained_bytes(PyObject* module, PyObject* object) {
  (void)module;
  Graph g;
  if (build(&g) != 0) return NULL;
  measure(&g);
  turn_round(&g);
  Tree t = {filled((g.count + 1) * 4), NULL, NULL, NULL, NULL, NULL, NULL, NULL, zeros(g.count, 1), 0};
  uint32_t** const arrays[] = {&t.node, &t.parent, &t.label, &t.semi, &t.dominator, &t.stack, &t.place};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) *arrays[i] = grown(NULL, (g.count + 1) * 4);
  for (size_t i = 0; i < g.tracked; ++i)
    t.is_root[i] = Py_REFCNT(g.nodes[i]) - 1 > (Py_ssize_t)(g.first_back[i + 1] - g.first_back[i]);
  t.is_root[find(&g, PyImport_GetModuleDict())] = 1;
  search_depth_first(&g, &t);
  find_dominators(&g, &t);
  uint64_t* retained = zeros(t.count, sizeof *retained);
  for (uint32_t i = t.count - 1; i >= 1; --i) {
    retained[i] += g.sizes[t.node[i]];
    retained[t.dominator[i]] += retained[i];
  }
  const uint32_t node = find(&g, object);
  const uint64_t bytes = node != NONE && t.number[node] != NONE ? retained[t.number[node]] : 0;
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) free(*arrays[i]);
  free(retained), free(t.number), free(t.is_root), release(&g);
  return PyLong_FromUnsignedLongLong(bytes);
}

// How many cyclic components there are, and how many objects in them: Tarjan.
static PyObject* cyclic_components(PyObject* module, PyObject* none) {
  (void)module, (void)none;
  Graph g;
  if (build(&g) != 0) return NULL;
  uint32_t *order = filled(g.count * 4), *low = grown(NULL, g.count * 4), *open = grown(NULL, g.count * 4);
  uint32_t *stack = grown(NULL, g.count * 4), *place = grown(NULL, g.count * 4);
  uint8_t* is_open = zeros(g.count, 1);
  uint32_t next = 0;
  size_t open_count = 0, parts = 0, members = 0;
  for (size_t start = 0; start < g.count; ++start) {
    size_t depth = 0;
    uint32_t entered = order[start] == NONE ? (uint32_t)start : NONE;
    while (entered != NONE || depth != 0) {
      if (entered != NONE) {
        order[entered] = low[entered] = next++;
        place[entered] = g.first[entered];
        stack[depth++] = open[open_count++] = entered;
        is_open[entered] = 1;
        entered = NONE;
      }
      const uint32_t at = stack[depth - 1];
      if (place[at] < g.first[at + 1]) {
        const uint32_t target = g.targets[place[at]++];
        if (order[target] == NONE)
          entered = target;
        else if (is_open[target] && order[target] < low[at])
          low[at] = order[target];
        continue;
      }
      --depth;
      if (depth != 0 && low[at] < low[stack[depth - 1]]) low[stack[depth - 1]] = low[at];
      if (low[at] != order[at]) continue;
      const size_t before = open_count;
      do is_open[open[--open_count]] = 0;
      while (open[open_count] != at);
      parts += before - open_count > 1;
      members += before - open_count > 1 ? before - open_count : 0;
    }
  }
  free(order), free(low), free(open), free(stack), free(place), free(is_open), release(&g);
  return Py_BuildValue("nn", (Py_ssize_t)parts, (Py_ssize_t)members);
}

// Addresses, types by number and sizes, offsets and references, as they stand in memory.
static PyObject* dump(PyObject* module, PyObject* name) {
  (void)module;
  const char* path = PyUnicode_AsUTF8(name);
  FILE* file = path != NULL ? fopen(path, "wb") : NULL;
  if (file == NULL) return path != NULL ? PyErr_SetFromErrno(PyExc_OSError) : NULL;
  Graph g;
  if (build(&g) != 0) return NULL;
  measure(&g);
  size_t written = fwrite(g.nodes, sizeof *g.nodes, g.count, file) + fwrite(g.sizes, 4, g.count, file);
  for (size_t i = 0; i < g.count; ++i) {
    if (i + 12 < g.count) __builtin_prefetch(g.nodes[i + 12]);
    const uint32_t type = (uint32_t)((uintptr_t)Py_TYPE(g.nodes[i]) >> 4);
    written += fwrite(&type, sizeof type, 1, file);
  }
  written += fwrite(g.first, 4, g.count + 1, file) + fwrite(g.targets, 4, g.edges, file);
  const int failed = fclose(file);
  const size_t wanted = 4 * g.count + 1 + g.edges;
  release(&g);
  if (failed != 0 || written != wanted) return PyErr_SetFromErrno(PyExc_OSError);
  Py_RETURN_NONE;
}

// Writes to each of the pages: a forked child stops sharing them.
static PyObject* touch(PyObject* module, PyObject* pages) {
  (void)module;
  Py_buffer view;
  if (PyObject_GetBuffer(pages, &view, PyBUF_SIMPLE) != 0) return NULL;
  const uint64_t* addresses = view.buf;
  for (Py_ssize_t i = 0; i < view.len / 8; ++i) {
    volatile char* page = (volatile char*)(uintptr_t)addresses[i];
    *page = *page;
  }
  PyBuffer_Release(&view);
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {{"visit_heap", visit_heap, METH_NOARGS, NULL},
                                  {"build_graph", build_graph, METH_NOARGS, NULL},
                                  {"count_types", count_types, METH_NOARGS, NULL},
                                  {"path_length", path_length, METH_O, NULL},
                                  {"retained_bytes", retained_bytes, METH_O, NULL},
                                  {"cyclic_components", cyclic_components, METH_NOARGS, NULL},
                                  {"dump", dump, METH_O, NULL},
                                  {"touch", touch, METH_O, NULL},
                                  {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "gradlife_limit", NULL, -1, functions, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_gradlife_limit(void) { return PyModule_Create(&definition); }
