// Maps a Python type to its row of the graph, and to what the walk must know about the type's instances.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <unordered_map>
#include <vector>

#include "heap_py/interpreter/provider.hpp"
#include "heapgraph/graph/builder.hpp"

namespace gradlife::heap {

// Returns the name of a type, "module.Class", without running Python code.
std::string type_name(PyTypeObject* type);

class TypeTable {
 public:
  TypeTable(Builder& builder, const std::vector<Provider*>& providers);

  struct Entry {
    traverseproc traverse = nullptr;
    bool asks_is_gc = false;    // whether instances are tracked differs: types
    bool is_generator = false;  // a generator, coroutine or asynchronous generator
    bool is_greenlet = false;
    bool is_dict = false;  // or a frozendict, or derived from one
    bool is_set = false;   // or a frozenset, or derived from one
    bool is_deque = false;
    Provider* provider = nullptr;    // shows more references
    std::vector<Py_ssize_t> fields;  // offsets of references in objects that the collector never sees
  };
  uint32_t row_of(PyTypeObject* type) {
    const size_t at = place_of(type);
    return slots_[at].type == type ? slots_[at].row : add(type);
  }
  const Entry& entry(uint32_t row) const { return entries_[row]; }
  void add_native_rows();  // entries for rows that others have declared since

 private:
  struct Slot {
    PyTypeObject* type;
    uint32_t row;
  };
  size_t place_of(PyTypeObject* type) const {
    size_t at = (reinterpret_cast<uintptr_t>(type) >> 4) * 0x9E3779B97F4A7C15ull >> shift_;
    while (slots_[at].type != nullptr && slots_[at].type != type) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  uint32_t add(PyTypeObject* type);
  std::string bases_of(PyTypeObject* type);
  void grow();

  Builder& builder_;
  const std::vector<Provider*>& providers_;
  Buffer<Slot> slots_;
  unsigned shift_ = 0;
  size_t used_ = 0;
  std::vector<Entry> entries_;
  std::unordered_map<PyTypeObject*, std::string> names_;  // of base classes
};

}  // namespace gradlife::heap
