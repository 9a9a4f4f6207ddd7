#include "heap_py/api/graph_browsing.hpp"

#include <algorithm>

#include "heap_py/api/graph_type.hpp"
#include "heap_py/interpreter/exception_border.hpp"
#include "heapgraph/frozen/text_search.hpp"

namespace gradlife::heap {
namespace {

PyObject* part_of(Row nodes, size_t first, size_t count) {
  const size_t begin = std::min(first, nodes.size());
  const size_t end = begin + std::min(count, nodes.size() - begin);
  const Ref list = checked(PyList_New(static_cast<Py_ssize_t>(end - begin)));
  for (size_t i = begin; i < end; ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i - begin),
                    checked(PyLong_FromUnsignedLong(nodes.begin()[i])).release());
  return Py_BuildValue("nO", static_cast<Py_ssize_t>(nodes.size()), list.get());
}

size_t no_less_than_0(Py_ssize_t number) {
  if (number < 0) throw std::out_of_range("a place and a number are 0 or more");
  return static_cast<size_t>(number);
}

}  // namespace

PyObject* dominated_method(PyObject* self, PyObject* arguments) {
  return guarded([&] {
    PyObject* number = nullptr;
    Py_ssize_t first = 0, count = 0;
    if (PyArg_ParseTuple(arguments, "Onn", &number, &first, &count) == 0) throw PythonErrorSet();
    FrozenGraph& frozen = frozen_of(self);
    const size_t node = number != Py_None ? PyLong_AsSize_t(number) : 0;
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    if (node >= frozen.graph.size()) throw std::out_of_range("no such node in this graph");
    const DominatorTree& tree = frozen.need_dominator_tree();
    const Row nodes = number != Py_None ? tree.of(static_cast<NodeId>(node)) : tree.unreached();
    return part_of(nodes, no_less_than_0(first), no_less_than_0(count));
  });
}

PyObject* search_method(PyObject* self, PyObject* arguments) {
  return guarded([&] {
    const char* wanted = nullptr;
    Py_ssize_t length = 0, count = 0;
    if (PyArg_ParseTuple(arguments, "s#n", &wanted, &length, &count) == 0) throw PythonErrorSet();
    const std::vector<NodeId> found = search_texts(frozen_of(self), std::string(wanted, static_cast<size_t>(length)));
    return part_of({found.data(), found.data() + found.size()}, 0, no_less_than_0(count));
  });
}

}  // namespace gradlife::heap
