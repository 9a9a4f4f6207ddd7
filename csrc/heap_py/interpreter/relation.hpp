// The relations between objects, in words for a report.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <string>

namespace gradlife::heap {

enum class Relation : uint8_t {
  unknown,      // a reference whose position in the object is not known
  attribute,    // obj.name
  slot,         // obj.name, declared in __slots__ or by the type
  dict_value,   // d[key]
  dict_key,     // a key of d
  item,         // x[3] of a list, tuple or deque
  member,       // an element of a set
  global_name,  // a variable of a module
  local,        // a variable of a running frame
  stack,        // a value on a running frame's evaluation stack
  cell,         // the contents of a closure cell
  closure,      // a closure variable of a function
  default_argument,
  internal,  // a field of the type itself; the label says which: __self__, tb_next
  native,    // a reference in C++: grad_fn, saved tensor
  root,      // held by the interpreter or a thread
};
const char* relation_name(Relation relation);

struct Label {
  Relation relation = Relation::unknown;
  std::string text;  // a name, or a key as source code would show it
  int64_t index = -1;
  PyObject* key = nullptr;  // of a dict entry, borrowed while no code runs
  std::string call{};       // of a tuple of arguments, the call that they wait for: "worker(batch,label)"
  // The label with its call: a name, then a character that no name or key contains, then the call.
  std::string whole() const { return call.empty() ? text : text + '\x1f' + call; }
};

}  // namespace gradlife::heap
