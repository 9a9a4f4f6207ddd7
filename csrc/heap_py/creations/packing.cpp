#include "heap_py/creations/packing.hpp"

namespace gradlife::heap {

std::vector<std::string> texts(PyObject* tuple) {
  std::vector<std::string> found;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    const char* bytes = PyUnicode_AsUTF8(PyTuple_GET_ITEM(tuple, i));
    if (bytes == nullptr) throw PythonErrorSet();
    found.emplace_back(bytes);
  }
  return found;
}

Ref stack_list(const CallSites& sites, bool with_columns) {
  Ref list = checked(PyList_New(0));
  for (const CallSites::Stack& stack : sites.stacks()) {
    const Ref row = checked(PyList_New(0));
    for (const uint32_t at : stack) {
      if (at == CallSites::unknown) break;
      const Place& place = sites.places()[at];
      const Ref file = text(place.file), function = text(place.function);
      const Ref frame =
          checked(Py_BuildValue(with_columns ? "OiOi" : "OiO", file.get(), place.line, function.get(), place.column));
      checked_status(PyList_Append(row.get(), frame.get()));
    }
    checked_status(PyList_Append(list.get(), row.get()));
  }
  return list;
}

}  // namespace gradlife::heap
