// From a Python type to its row of the graph, with what the walk needs to know of the type's instances.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <unordered_map>
#include <vector>

#include "heap_py/interpreter/provider.hpp"
#include "heapgraph/graph/builder.hpp"

namespace gradlife::heap {

// The name that a type shows: "module.Class" without asking Python code.
std::string type_name(PyTypeObject* type);

class TypeTable {
 public:
  TypeTable(Builder& builder, const std::vector<Provider*>& providers);

  struct Entry {
    traverseproc traverse = nullptr;
    bool asks_is_gc = false;         // instances are tracked or not, one by one: types
    Provider* provider = nullptr;    // has more to show
    std::vector<Py_ssize_t> fields;  // of objects that the collector never sees: where they refer to others
  };
  uint32_t row_of(PyTypeObject* type) {
    const size_t at = place_of(type);
    return slots_[at].type == type ? slots_[at].row : add(type);
  }
  const Entry& entry(uint32_t row) const { return entries_[row]; }
  void add_native_rows();  // entries for rows that others declared since

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
  std::unordered_map<PyTypeObject*, std::string> names_;  // of bases
};

}  // namespace gradlife::heap
