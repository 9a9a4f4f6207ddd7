// The relations between objects, in words that a report can use.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <string>

namespace gradlife::heap {

enum class Relation : uint8_t {
  unknown,      // a reference whose place in the object is not known
  attribute,    // obj.name
  slot,         // obj.name, declared in __slots__ or by the type
  dict_value,   // d[key]
  dict_key,     // a key of d
  item,         // x[3], of a list, tuple, deque
  member,       // an element of a set
  global_name,  // a variable of a module
  local,        // a variable of a running frame
  stack,        // a value that a running frame computes with
  cell,         // the contents of a closure cell
  closure,      // a closure variable of a function
  default_argument,
  internal,  // a field of the type itself; the label says which: __self__, tb_next
  native,    // a reference in C++: grad_fn, saved tensor
  root,      // what the interpreter or a thread holds
};
const char* relation_name(Relation relation);

struct Label {
  Relation relation = Relation::unknown;
  std::string text;  // a name, or a key as it would be written
  int64_t index = -1;
  PyObject* key = nullptr;  // of a dict's entry, borrowed while nothing runs
  std::string call{};       // of a tuple of arguments, what they are for: "worker(batch,label)"
  // The relation as shown: a name, then a character that no name or key contains, then the call.
  std::string whole() const { return call.empty() ? text : text + '\x1f' + call; }
};

}  // namespace gradlife::heap
