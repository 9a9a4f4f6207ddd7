#include "heap_py/labels/container_labels.hpp"

#include <cstring>
#include <vector>

#include "heap_py/interpreter/dict_types.hpp"
#include "heap_py/interpreter/key_text.hpp"
#include "heap_py/labels/type_labels.hpp"

namespace gradlife::heap {
namespace {

Label in_dict(PyObject* dict, PyObject* target, size_t nth = 0) {
  PyObject *key, *value;
  bool is_key = false;
  for (Py_ssize_t position = 0; PyDict_Next(dict, &position, &key, &value) != 0;) {
    if (value == target && nth-- == 0) return {Relation::dict_value, describe_key(key), -1, key};
    is_key = is_key || key == target;
  }
  return is_key ? Label{Relation::dict_key, describe_key(target)} : Label{};
}

Label in_set(PyObject* object, PyObject* target) {
  const auto* set = reinterpret_cast<PySetObject*>(object);
  for (Py_ssize_t i = 0; i <= set->mask; ++i)
    if (set->table[i].key == target) return {Relation::member, ""};
  return {};
}

// The names of a namedtuple's fields, or nullptr.
PyObject* field_names(PyTypeObject* type) {
  for (; type != nullptr && type != &PyTuple_Type; type = type->tp_base) {
    PyObject *key, *value;
    for (Py_ssize_t at = 0; type->tp_dict != nullptr && PyDict_Next(type->tp_dict, &at, &key, &value) != 0;)
      if (PyUnicode_CheckExact(key) && PyUnicode_CompareWithASCIIString(key, "_fields") == 0)
        return PyTuple_Check(value) ? value : nullptr;
  }
  return nullptr;
}

// For named tuples the name is the better label: point.x, stat.st_size.
Label in_tuple(PyObject* object, PyObject* target) {
  Label found = label_in_sequence(reinterpret_cast<PyTupleObject*>(object)->ob_item, Py_SIZE(object), target);
  if (PyTuple_CheckExact(object) || found.relation == Relation::unknown) return found;
  PyObject* names = field_names(Py_TYPE(object));
  if (names != nullptr && found.index < PyTuple_GET_SIZE(names))
    return {Relation::attribute, text_of(PyTuple_GET_ITEM(names, found.index))};
  const Label declared = label_in_members(object, target);
  return declared.relation != Relation::unknown ? Label{Relation::attribute, declared.text} : found;
}

// Labels items of a sequence with unknown layout: its traverse visits the items in order, and its type.
Label in_visits(PyObject* object, PyTypeObject* type, PyObject* target) {
  struct Visits {
    PyObject *type, *target;
    int64_t count, index;
  } visits{reinterpret_cast<PyObject*>(Py_TYPE(object)), target, 0, -1};
  const auto visit = [](PyObject* visited, void* state) {
    Visits& visits = *static_cast<Visits*>(state);
    if (visited == visits.type) return 0;
    if (visited == visits.target && visits.index < 0) visits.index = visits.count;
    ++visits.count;
    return 0;
  };
  type->tp_traverse(object, visit, &visits);
  return visits.index >= 0 ? Label{Relation::item, "", visits.index} : Label{};
}

}  // namespace

PyTypeObject* base_named(PyTypeObject* type, const char* name) {
  while (type != nullptr && std::strcmp(type->tp_name, name) != 0) type = type->tp_base;
  return type;
}

Label label_in_sequence(PyObject* const* items, Py_ssize_t count, PyObject* target, size_t nth) {
  for (Py_ssize_t i = 0; i < count; ++i)
    if (items[i] == target && nth-- == 0) return {Relation::item, "", i};
  return {};
}

Label another_label_in_container(PyObject* source, PyObject* target, size_t nth) {
  if (is_dict(source)) return in_dict(source, target, nth);
  if (PyList_Check(source))
    return label_in_sequence(reinterpret_cast<PyListObject*>(source)->ob_item, Py_SIZE(source), target, nth);
  if (PyTuple_CheckExact(source))
    return label_in_sequence(reinterpret_cast<PyTupleObject*>(source)->ob_item, Py_SIZE(source), target, nth);
  return {};
}

Label label_in_container(PyObject* source, PyObject* target) {
  if (is_dict(source)) return in_dict(source, target);
  if (PyList_Check(source))
    return label_in_sequence(reinterpret_cast<PyListObject*>(source)->ob_item, Py_SIZE(source), target);
  if (PyTuple_Check(source)) return in_tuple(source, target);
  if (PyAnySet_Check(source)) return in_set(source, target);
  if (PyTypeObject* deque = base_named(source, "collections.deque")) return in_visits(source, deque, target);
  PyTypeObject* queue = base_named(source, "_queue.SimpleQueue");
  if (queue == nullptr) return {};
  const bool is_its_list = PY_VERSION_HEX < 0x030d0000 && PyList_CheckExact(target);
  return is_its_list ? Label{Relation::internal, "items"} : in_visits(source, queue, target);
}

}  // namespace gradlife::heap
