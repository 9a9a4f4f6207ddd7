#include "heap_py/labels/many_labels.hpp"

#include "heap_py/interpreter/dict_types.hpp"
#include "heap_py/interpreter/key_text.hpp"
#include "heap_py/labels/container_labels.hpp"

namespace gradlife::heap {

bool ManyLabels::knows(PyTypeObject* type) {
  const bool is_sequence = (type->tp_flags & Py_TPFLAGS_LIST_SUBCLASS) != 0 || type == &PyTuple_Type;
  const bool is_set = PyType_IsSubtype(type, &PySet_Type) != 0 || PyType_IsSubtype(type, &PyFrozenSet_Type) != 0;
  return is_sequence || is_set || is_dict_type(type) || base_named(type, "collections.deque") != nullptr;
}

ManyLabels::ManyLabels(PyObject* source) {
  PyTypeObject* deque = base_named(source, "collections.deque");
  if (is_dict(source))
    read_dict(source);
  else if (PyAnySet_Check(source))
    read_set(reinterpret_cast<PySetObject*>(source));
  else if (deque != nullptr)
    read_deque(source, deque);
  else
    read_sequence(source);
}

void ManyLabels::read_sequence(PyObject* source) {
  PyObject** items = PyList_Check(source) ? reinterpret_cast<PyListObject*>(source)->ob_item
                                          : reinterpret_cast<PyTupleObject*>(source)->ob_item;
  reserve(static_cast<size_t>(Py_SIZE(source)));
  for (Py_ssize_t i = 0; i < Py_SIZE(source); ++i) add(items[i], Relation::item, nullptr);
}

void ManyLabels::read_dict(PyObject* dict) {
  reserve(2 * static_cast<size_t>(PyDict_GET_SIZE(dict)));
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value) != 0;) add(value, Relation::dict_value, key);
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value) != 0;) add(key, Relation::dict_key, key);
}

void ManyLabels::read_set(const PySetObject* set) {
  reserve(static_cast<size_t>(set->used));
  for (Py_ssize_t i = 0; i <= set->mask; ++i)
    if (set->table[i].key != nullptr && set->table[i].hash != -1) add(set->table[i].key, Relation::member, nullptr);
}

// The traverse of a deque visits the items in order, and its type.
void ManyLabels::read_deque(PyObject* deque, PyTypeObject* type) {
  struct Visits {
    ManyLabels& labels;
    const PyObject* type;
  } visits{*this, reinterpret_cast<PyObject*>(Py_TYPE(deque))};
  reserve(static_cast<size_t>(Py_SIZE(deque)) + 1);
  const auto visit = [](PyObject* item, void* state) {
    const Visits& visits = *static_cast<Visits*>(state);
    if (item != visits.type) visits.labels.add(item, Relation::item, nullptr);
    return 0;
  };
  type->tp_traverse(deque, visit, &visits);
}

void ManyLabels::reserve(size_t places) {
  unsigned bits = 4;
  while (size_t{1} << bits < 2 * places) ++bits;
  places_.reserve(places);
  slots_.assign_zero(size_t{1} << bits);
  shift_ = 64 - bits;
}

size_t ManyLabels::slot_of(const PyObject* target) const {
  size_t at = (reinterpret_cast<uintptr_t>(target) >> 3) * 0x9E3779B97F4A7C15ull >> shift_;
  while (slots_[at] != 0 && places_[slots_[at] - 1].target != target) at = (at + 1) & (slots_.size() - 1);
  return at;
}

// All items of a sequence are kept: their position is their index.
void ManyLabels::add(PyObject* target, Relation relation, PyObject* key) {
  uint32_t& slot = slots_[slot_of(target)];
  if (slot != 0 && relation != Relation::item) return;
  places_.push_back({target, key, relation});
  if (slot == 0) slot = static_cast<uint32_t>(places_.size());
}

Label ManyLabels::of(PyObject* target) const {
  const uint32_t number = slots_[slot_of(target)];
  if (number == 0) return {};
  const Place& place = places_[number - 1];
  if (place.relation == Relation::member) return {place.relation, ""};
  if (place.key == nullptr) return {place.relation, "", static_cast<int64_t>(number) - 1};
  return {place.relation, describe_key(place.key), -1, place.key};
}

}  // namespace gradlife::heap
