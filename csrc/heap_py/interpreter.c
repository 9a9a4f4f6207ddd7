#define Py_BUILD_CORE 1
#include "heap_py/interpreter.h"

#include <internal/pycore_code.h>
#include <internal/pycore_dict.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_gc.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_object.h>

#if PY_VERSION_HEX < 0x030b0000 || PY_VERSION_HEX >= 0x030e0000
#error "the heap walk knows CPython 3.11, 3.12 and 3.13"
#endif
#ifdef Py_GIL_DISABLED
#error "the heap walk needs the interpreter lock"
#endif

/* --- the collector's objects ----------------------------------------------------------------------------------------
 */

#if PY_VERSION_HEX >= 0x030c0000
typedef struct {
  gl_object_visitor visit;
  void* state;
} visit_call;

static int visit_one(PyObject* object, void* call) {
  ((visit_call*)call)->visit(object, ((visit_call*)call)->state);
  return 1;
}

void gl_visit_tracked(gl_object_visitor visit, void* state) {
  visit_call call = {visit, state};
  PyUnstable_GC_VisitObjects(visit_one, &call);
}
#else
static void visit_list(PyGC_Head* head, gl_object_visitor visit, void* state) {
  /* The low bits of a link are the collector's marks. */
  for (PyGC_Head* at = (PyGC_Head*)(head->_gc_next & ~(uintptr_t)3); at != head;
       at = (PyGC_Head*)(at->_gc_next & ~(uintptr_t)3))
    visit((PyObject*)(at + 1), state);
}

void gl_visit_tracked(gl_object_visitor visit, void* state) {
  struct _gc_runtime_state* gc = &PyInterpreterState_Get()->gc;
  for (int i = 0; i < NUM_GENERATIONS; ++i) visit_list(&gc->generations[i].head, visit, state);
  visit_list(&gc->permanent_generation.head, visit, state);
}
#endif

size_t gl_estimate_tracked(void) {
  struct _gc_runtime_state* gc = &PyInterpreterState_Get()->gc;
  Py_ssize_t count = gc->long_lived_total + gc->long_lived_pending + gc->generations[0].count;
  return count > 0 ? (size_t)count : 0;
}

/* --- interpreter and threads
 * ------------------------------------------------------------------------------------------ */

#define SHOW(label, object)                          \
  do {                                               \
    PyObject* shown_ = (PyObject*)(object);          \
    if (shown_ != NULL) visit(label, shown_, state); \
  } while (0)

static void visit_exit_callbacks(struct atexit_state* exits, gl_labelled_visitor visit, void* state) {
  for (int i = 0; i < exits->ncallbacks; ++i) {
    if (exits->callbacks[i] == NULL) continue;
    SHOW("atexit callback", exits->callbacks[i]->func);
    SHOW("arguments of an atexit callback", exits->callbacks[i]->args);
    SHOW("arguments of an atexit callback", exits->callbacks[i]->kwargs);
  }
}

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
}

void gl_visit_thread(PyThreadState* thread, gl_labelled_visitor visit, void* state) {
  SHOW("profile function", thread->c_profileobj);
  SHOW("trace function", thread->c_traceobj);
  SHOW("thread-locals", thread->dict);
  SHOW("exception to be raised", thread->async_exc);
  SHOW("async generator hook", thread->async_gen_firstiter);
  SHOW("async generator hook", thread->async_gen_finalizer);
  SHOW("context", thread->context);
#if PY_VERSION_HEX >= 0x030c0000
  SHOW("exception being raised", thread->current_exception);
#else
  SHOW("exception being raised", thread->curexc_type);
  SHOW("exception being raised", thread->curexc_value);
  SHOW("exception being raised", thread->curexc_traceback);
#endif
  for (_PyErr_StackItem* item = thread->exc_info; item != NULL; item = item->previous_item)
    SHOW("exception being handled", item->exc_value);
}

/* --- frames
 * ----------------------------------------------------------------------------------------------------------- */

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
  read->is_generator = frame->owner == FRAME_OWNED_BY_GENERATOR;
  read->line = instruction < 0 ? read->code->co_firstlineno
                               : PyCode_Addr2Line(read->code, instruction * (int)sizeof(_Py_CODEUNIT));
  return 1;
}

void* gl_generator_frame(PyObject* object) {
  if (!PyGen_Check(object) && !PyCoro_CheckExact(object) && !PyAsyncGen_CheckExact(object)) return NULL;
  PyGenObject* generator = (PyGenObject*)object;
  return generator->gi_frame_state < FRAME_CLEARED ? (void*)generator->gi_iframe : NULL;
}

void* gl_frame_of_object(PyObject* object) { return ((PyFrameObject*)object)->f_frame; }

/* --- attributes without a dict
 * ---------------------------------------------------------------------------------------- */

#if PY_VERSION_HEX >= 0x030d0000
static PyDictValues* inline_values(PyObject* object) {
  if ((Py_TYPE(object)->tp_flags & Py_TPFLAGS_INLINE_VALUES) == 0) return NULL;
  PyDictValues* values = _PyObject_InlineValues(object);
  return values->valid ? values : NULL;
}
#elif PY_VERSION_HEX >= 0x030c0000
static PyDictValues* inline_values(PyObject* object) {
  if ((Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT) == 0) return NULL;
  PyDictOrValues found = *_PyObject_DictOrValuesPointer(object);
  return _PyDictOrValues_IsValues(found) ? _PyDictOrValues_GetValues(found) : NULL;
}
#else
static PyDictValues* inline_values(PyObject* object) {
  if ((Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT) == 0) return NULL;
  return *_PyObject_ValuesPointer(object);
}
#endif

static PyDictKeysObject* attribute_names(PyObject* object) {
  return ((PyHeapTypeObject*)Py_TYPE(object))->ht_cached_keys;
}

void gl_visit_inline_attributes(PyObject* object, gl_attribute_visitor visit, void* state) {
  PyDictValues* values = inline_values(object);
  PyDictKeysObject* keys = values != NULL ? attribute_names(object) : NULL;
  if (keys == NULL || keys->dk_kind == DICT_KEYS_GENERAL) return;
  PyDictUnicodeEntry* entries = DK_UNICODE_ENTRIES(keys);
  for (Py_ssize_t i = 0; i < keys->dk_nentries; ++i)
    if (values->values[i] != NULL && entries[i].me_key != NULL) visit(entries[i].me_key, values->values[i], state);
}

PyObject* gl_existing_dict(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if ((type->tp_flags & Py_TPFLAGS_MANAGED_DICT) != 0) {
#if PY_VERSION_HEX >= 0x030d0000
    return (PyObject*)_PyObject_GetManagedDict(object);
#elif PY_VERSION_HEX >= 0x030c0000
    PyDictOrValues found = *_PyObject_DictOrValuesPointer(object);
    return _PyDictOrValues_IsValues(found) ? NULL : _PyDictOrValues_GetDict(found);
#else
    return *_PyObject_ManagedDictPointer(object);
#endif
  }
  Py_ssize_t offset = type->tp_dictoffset;
  if (offset == 0) return NULL;
  if (offset < 0) {
    Py_ssize_t items = Py_SIZE(object) < 0 ? -Py_SIZE(object) : Py_SIZE(object);
    offset += (Py_ssize_t)_PyObject_VAR_SIZE(type, items);
  }
  return *(PyObject**)((char*)object + offset);
}

size_t gl_inline_bytes(PyObject* object) {
#if PY_VERSION_HEX >= 0x030d0000
  if ((Py_TYPE(object)->tp_flags & Py_TPFLAGS_INLINE_VALUES) == 0) return 0;
  PyDictValues* values = _PyObject_InlineValues(object);
  return offsetof(PyDictValues, values) + values->capacity * sizeof(PyObject*) + values->capacity;
#else
  PyDictValues* values = inline_values(object);
  PyDictKeysObject* keys = values != NULL ? attribute_names(object) : NULL;
  if (keys == NULL) return 0;
  const size_t slots = (size_t)(keys->dk_nentries + keys->dk_usable);
  return slots * sizeof(PyObject*) + ((slots + 2 + sizeof(PyObject*) - 1) & ~(sizeof(PyObject*) - 1));
#endif
}

size_t gl_dict_table_bytes(PyObject* object) {
  PyDictObject* dict = (PyDictObject*)object;
  PyDictKeysObject* keys = dict->ma_keys;
  const size_t slots = (size_t)1 << keys->dk_log2_size;
  const size_t usable = (slots << 1) / 3;
  if (dict->ma_values != NULL) return (usable + 1) * sizeof(PyObject*); /* the keys are shared */
  if (keys->dk_log2_size == 0) return 0;                                /* the one empty table */
  const size_t entry = keys->dk_kind == DICT_KEYS_GENERAL ? sizeof(PyDictKeyEntry) : sizeof(PyDictUnicodeEntry);
  return sizeof(PyDictKeysObject) + ((size_t)1 << keys->dk_log2_index_bytes) + usable * entry;
}
