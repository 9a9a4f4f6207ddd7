// When the objects that the collector knows were born: marks in its oldest list, one for each moment of interest.
//
// The order of that list shows what was tracked after a mark. A full collection changes the order; the marks note it
// before, in their tp_traverse, and restore it in a callback of the collector.
#pragma once

#include "base/pyref.hpp"
#include "heap_py/interpreter/birth_lists.h"
#include "heapgraph/graph/address_index.hpp"
#include "heapgraph/graph/buffer.hpp"

namespace gradlife::heap {

class BirthMarks {
 public:
  explicit BirthMarks(PyObject* module);
  ~BirthMarks();
  BirthMarks(const BirthMarks&) = delete;
  BirthMarks& operator=(const BirthMarks&) = delete;

  // Places the first mark; counted. `callback`: a function for gc.callbacks that calls `restore`. PythonErrorSet
  void begin(PyObject* callback);
  // Removes the marks when it was called as often as `begin`.
  void end();
  bool is_on() const { return users_ != 0; }
  // Places a mark: everything tracked so far was born before it. If the earlier marks are lost, a new line begins. Does
  // nothing while births are not noted. PythonErrorSet
  void place();
  // Puts the objects in the order of their births again, if a full collection changed it. Call it after each.
  void restore();
  // As gc.unfreeze(): what is frozen is older than all marks.
  void unfreeze();

  // Graphs with the same line have births that can be compared.
  uint64_t line() const { return line_; }
  // See gl_visit_by_birth.
  bool visit_tracked(gl_object_visitor visit, gl_epoch_visitor begin, void* state) const;

  int traverse(visitproc visit, void* arg);
  // Called by the tp_traverse of a mark.
  void note_order(PyObject* mark) noexcept;

 private:
  gl_birth_marks list() const { return {front_.get(), pointers_.data(), pointers_.size()}; }
  Ref new_mark();
  void drop();

  Ref type_;
  Ref callback_;
  Ref front_;
  std::vector<Ref> marks_;
  std::vector<PyObject*> pointers_;  // of `marks_`
  size_t users_ = 0;
  uint64_t line_ = 0;
  // While a full collection runs: what stood behind the first mark, and the number of marks before each.
  bool is_reordered_ = false;
  bool has_order_ = false;
  Py_ssize_t collections_ = 0;  // full ones before it
  Buffer<Address> addresses_;
  Buffer<uint32_t> epochs_;
  uint32_t epoch_ = 0;
};

}  // namespace gradlife::heap
