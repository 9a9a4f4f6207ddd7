// One pass over everything that the interpreter holds: the graph at one moment.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>
#include <unordered_set>
#include <vector>

#include "heap_py/interpreter/birth_marks.hpp"
#include "heap_py/interpreter/provider.hpp"
#include "heap_py/interpreter/type_table.hpp"
#include "heapgraph/graph/builder.hpp"

namespace gradlife::heap {

struct WalkOptions {
  bool with_leaves = true;     // objects without references: numbers, text, bytes
  size_t min_atom_bytes = 0;   // strings and bytes below this size are left out, and numbers, and code with only these
  std::string hidden_sources;  // frames of code below this folder belong to the tool
  std::vector<PyObject*> hidden_objects;  // objects of the tool
  std::vector<PyObject*> frames;          // frame objects of ended calls, which are roots as running frames are
  bool with_natives = false;              // adds native objects without a known referrer, and their referents
  const BirthMarks* births = nullptr;     // what shows when tracked objects were born, if anything does
  size_t budget = 0;                      // the number of objects to read, nearest to the roots first; 0: all
};

// Counts the references to an object from the tool's own frames in this thread; with `is_argument`, also the one on the
// caller's evaluation stack that passes it to this call.
int64_t count_own_references(const PyObject* object, const WalkOptions& options, bool is_argument = true);

// Whether the object cannot hold a leak: a number, a string or bytes below `min_bytes`, code with only such
// constants.
bool is_small_atom(PyObject* object, size_t min_bytes = SIZE_MAX);

// Error: std::bad_alloc, std::length_error. Needs the interpreter lock; runs no Python code and creates no object.
class Walker {
 public:
  Walker(Graph& graph, const WalkOptions& options, const std::vector<Provider*>& providers);
  // Returns false if the budget ended before the heap did. Then the referents of the last objects and all unreachable
  // objects are unknown.
  bool run();

 private:
  void add_roots();
  void add_threads();
  void add_frames(void* newest);
  void add_tracked();
  Py_ssize_t note_unset(NodeId node, PyObject* list);  // returns the length
  void own_text_keys(PyObject* dict);
  void note_length(NodeId node, PyObject* object, const TypeTable::Entry& entry);
  size_t expand_from(size_t node, size_t last);
  void add_natives();
  void expand(NodeId node);
  void expand_root(NodeId node);
  void expand_frame(void* address);
  void expand_fields(PyObject* object, const std::vector<Py_ssize_t>& fields);
  void expand_python(NodeId node, PyObject* object);
  bool expand_generator(PyObject* object, traverseproc traverse);
  void expand_greenlet(PyObject* greenlet, traverseproc traverse);
  uint32_t name_type(NodeId node);  // sets the node's type; returns the row of its exact type
  void expand_wrapper(PyObject* object, const TypeTable::Entry& entry);
  uint32_t modules_row(uint32_t row);
  void expand_static_type(PyTypeObject* type);

  Graph& graph_;
  const WalkOptions& options_;
  const std::vector<Provider*>& providers_;
  Builder builder_;
  TypeTable types_;
  const PyObject* modules_;
  std::unordered_set<const void*> running_generators_;  // their frames
  struct RootTypes {
    uint32_t process, interpreter, thread, frame;
  } roots_{};
};

// Walks within the budget. Returns true if the whole heap was read, with unreachable objects; false if only a part.
bool walk_heap(Graph& graph, WalkOptions options, const std::vector<Provider*>& providers);
// Describes the limit of a partial walk in a sentence.
std::string budget_limit(size_t budget);

}  // namespace gradlife::heap
