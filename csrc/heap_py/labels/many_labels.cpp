#include "heap_py/labels/many_labels.hpp"

#include "heap_py/interpreter/key_text.hpp"

namespace gradlife::heap {

ManyLabels::ManyLabels(PyObject* source) {
  if (PyDict_Check(source)) {
    read_dict(source);
    return;
  }
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
  if (place.key == nullptr) return {place.relation, "", static_cast<int64_t>(number) - 1};
  return {place.relation, describe_key(place.key), -1, place.key};
}

}  // namespace gradlife::heap
