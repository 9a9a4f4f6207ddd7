// Labels many references of one container in one pass over it.
#pragma once

#include "heap_py/interpreter/relation.hpp"
#include "heapgraph/graph/buffer.hpp"

namespace gradlife::heap {

class ManyLabels {
 public:
  // Dicts, lists, tuples, sets and deques. Not subclasses of tuple, which may have names for their items.
  static bool knows(PyTypeObject* type);
  // For such a container, which does not change meanwhile.
  explicit ManyLabels(PyObject* source);
  // Returns the first label of a target, a value's before a key's. Relation::unknown: not found.
  Label of(PyObject* target) const;

 private:
  struct Place {
    PyObject *target, *key;
    Relation relation;
  };
  void reserve(size_t places);
  void add(PyObject* target, Relation relation, PyObject* key);
  void read_dict(PyObject* dict);
  void read_sequence(PyObject* source);
  void read_set(const PySetObject* set);
  void read_deque(PyObject* deque, PyTypeObject* type);
  size_t slot_of(const PyObject* target) const;

  Buffer<Place> places_;
  Buffer<uint32_t> slots_;  // index in `places_` plus one; 0: empty. Open addressing, at most half full
  unsigned shift_ = 0;
};

}  // namespace gradlife::heap
