// The labels of many references of one container, in one pass over it.
#pragma once

#include "heap_py/interpreter/relation.hpp"
#include "heapgraph/graph/buffer.hpp"

namespace gradlife::heap {

class ManyLabels {
 public:
  // Tuples of a class of their own may have names for their items.
  static bool knows(const PyTypeObject* type) {
    return (type->tp_flags & (Py_TPFLAGS_DICT_SUBCLASS | Py_TPFLAGS_LIST_SUBCLASS)) != 0 || type == &PyTuple_Type;
  }
  // A dict, list or tuple; as long as it does not change.
  explicit ManyLabels(PyObject* source);
  // The first of several places wins, and a value before a key. Relation::unknown: not found.
  Label of(PyObject* target) const;

 private:
  struct Place {
    PyObject *target, *key;
    Relation relation;
  };
  void reserve(size_t places);
  void add(PyObject* target, Relation relation, PyObject* key);
  void read_dict(PyObject* dict);
  size_t slot_of(const PyObject* target) const;

  Buffer<Place> places_;
  Buffer<uint32_t> slots_;  // of `places_`, plus one; 0: empty. Open addressing, at most half full
  unsigned shift_ = 0;
};

}  // namespace gradlife::heap
