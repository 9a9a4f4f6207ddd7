#define Py_BUILD_CORE 1
#include "heap_py/interpreter/interpreter.h"

#include <internal/pycore_code.h>
#include <internal/pycore_context.h>
#include <internal/pycore_dict.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_object.h>

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

const void* gl_inline_attributes(PyObject* object) { return inline_values(object); }

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

/* Values whose keys are shared, with the order of insertion stored next to them. */
#if PY_VERSION_HEX >= 0x030d0000
static size_t values_bytes(const PyDictValues* values) {
  return offsetof(PyDictValues, values) + values->capacity * sizeof(PyObject*) + values->capacity;
}
#else
static size_t values_bytes(const PyDictKeysObject* keys) {
  const size_t slots = (size_t)(keys->dk_nentries + keys->dk_usable);
  return slots * sizeof(PyObject*) + ((slots + 2 + sizeof(PyObject*) - 1) & ~(sizeof(PyObject*) - 1));
}
#endif

size_t gl_inline_bytes(PyObject* object) {
#if PY_VERSION_HEX >= 0x030d0000
  return (Py_TYPE(object)->tp_flags & Py_TPFLAGS_INLINE_VALUES) != 0 ? values_bytes(_PyObject_InlineValues(object)) : 0;
#else
  PyDictKeysObject* keys = inline_values(object) != NULL ? attribute_names(object) : NULL;
  return keys != NULL ? values_bytes(keys) : 0;
#endif
}

size_t gl_bytes_before(PyTypeObject* type) { return _PyType_PreHeaderSize(type); }

size_t gl_least_block_bytes(PyTypeObject* type) { return gl_bytes_before(type) + _PyObject_VAR_SIZE(type, 1); }

size_t gl_block_bytes(PyTypeObject* type) {
  size_t bytes = gl_least_block_bytes(type);
#if PY_VERSION_HEX >= 0x030d0000
  if ((type->tp_flags & Py_TPFLAGS_INLINE_VALUES) != 0) bytes += _PyInlineValuesSize(type);
#endif
  return bytes;
}

static size_t dict_values_bytes(const PyDictObject* dict) {
#if PY_VERSION_HEX >= 0x030d0000
  return dict->ma_values->embedded ? 0 : values_bytes(dict->ma_values); /* embedded: they are the instance's */
#else
  return values_bytes(dict->ma_keys);
#endif
}

size_t gl_dict_table_bytes(PyObject* object) {
  PyDictObject* dict = (PyDictObject*)object;
  PyDictKeysObject* keys = dict->ma_keys;
  const size_t slots = (size_t)1 << keys->dk_log2_size;
  const size_t usable = (slots << 1) / 3;
  if (dict->ma_values != NULL) return dict_values_bytes(dict); /* the keys are shared */
  if (keys->dk_log2_size == 0) return 0;                       /* the one empty table */
  const size_t entry = keys->dk_kind == DICT_KEYS_GENERAL ? sizeof(PyDictKeyEntry) : sizeof(PyDictUnicodeEntry);
  return sizeof(PyDictKeysObject) + ((size_t)1 << keys->dk_log2_index_bytes) + usable * entry;
}

void gl_visit_text_keys(PyObject* object, gl_object_visitor visit, void* state) {
  PyDictObject* dict = (PyDictObject*)object;
  PyDictKeysObject* keys = dict->ma_keys;
  if (dict->ma_values != NULL || keys->dk_kind == DICT_KEYS_GENERAL) return;
  PyDictUnicodeEntry* entries = DK_UNICODE_ENTRIES(keys);
  for (Py_ssize_t i = 0; i < keys->dk_nentries; ++i)
    if (entries[i].me_value != NULL) visit(entries[i].me_key, state);
}

const char* gl_frame_object_field(PyObject* object, PyObject* target) {
  PyFrameObject* frame = (PyFrameObject*)object;
  if ((PyObject*)frame->f_back == target) return "f_back";
  if (frame->f_trace == target) return "f_trace";
#if PY_VERSION_HEX >= 0x030d0000
  if (frame->f_extra_locals == target || frame->f_locals_cache == target) return "f_locals";
#endif
#if PY_VERSION_HEX >= 0x030e0000
  if (frame->f_overwritten_fast_locals == target) return "overwritten locals";
#endif
  return NULL;
}

const char* gl_context_field(PyObject* object, PyObject* target) {
  if (PyContext_CheckExact(object)) {
    PyContext* context = (PyContext*)object;
    if ((PyObject*)context->ctx_vars == target) return "variables";
    if ((PyObject*)context->ctx_prev == target) return "the context before";
  } else if (PyContextVar_CheckExact(object)) {
    PyContextVar* variable = (PyContextVar*)object;
    if (variable->var_default == target) return "default";
    if (variable->var_name == target) return "name";
  } else if (PyContextToken_CheckExact(object)) {
    PyContextToken* token = (PyContextToken*)object;
    if (token->tok_oldval == target) return "old_value";
    if ((PyObject*)token->tok_var == target) return "var";
    if ((PyObject*)token->tok_ctx == target) return "the context that it was made in";
  }
  return NULL;
}

PyObject* gl_context_variable_name(PyObject* variable) {
  return PyContextVar_CheckExact(variable) ? ((PyContextVar*)variable)->var_name : NULL;
}

int gl_is_immortal(const PyObject* object) {
#if PY_VERSION_HEX >= 0x030c0000
  return _Py_IsImmortal((PyObject*)object);
#else
  return Py_REFCNT(object) >= 500000000; /* small ints and others that are static begin with twice that */
#endif
}
