// The operations as functions of the module: separate functions, and every method with its tensor as first argument.
#include <utility>
#include <vector>

#include "base/immortal.hpp"
#include "engine/ops/ops.hpp"
#include "engine_py/call/methods.hpp"
#include "engine_py/call/tables.hpp"
#include "engine_py/call/torch_function.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

// The call without its keyword `input`.
struct NamedInput {
  PyObject* input = nullptr;
  std::vector<PyObject*> values;
  Ref names;
};

NamedInput take_input(PyObject* const* arguments, PyObject* names) {
  NamedInput call;
  const Ref rest = checked(PyList_New(0));
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* name = PyTuple_GET_ITEM(names, i);
    if (PyUnicode_CompareWithASCIIString(name, "input") == 0) {
      call.input = arguments[i];
      continue;
    }
    call.values.push_back(arguments[i]);
    checked_status(PyList_Append(rest.get(), name));
  }
  if (PyList_GET_SIZE(rest.get()) > 0) call.names = checked(PyList_AsTuple(rest.get()));
  return call;
}

PyObject* cat_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("cat", {"tensors", "dim"}, 1, arguments, count, names);
    return wrap(ops::cat(args.tensors(0), args.integer(1, 0))).release();
  });
}

PyObject* stack_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("stack", {"tensors", "dim"}, 1, arguments, count, names);
    return wrap(ops::stack(args.tensors(0), args.integer(1, 0))).release();
  });
}

PyObject* rsub_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("rsub", {"input", "other", "alpha"}, 2, arguments, count, names);
    Scalar number;
    if (parse_number(args[1], &number))
      return wrap(ops::rsub_number(number, args.tensor(0), args.number(2, 1))).release();
    return wrap(ops::sub(args.tensor(1), args.tensor(0), args.number(2, 1))).release();
  });
}

PyMethodDef own_functions[] = {{"cat", as_method(cat_function), fast_call, nullptr},
                               {"stack", as_method(stack_function), fast_call, nullptr},
                               {"rsub", as_method(rsub_function), fast_call, nullptr},
                               {nullptr, nullptr, 0, nullptr}};

// One row for each file.
// clang-format off
const Operation* const operation_tables[] = {
    arithmetic_operations,
    shape_operations,
    reduction_operations,
    scan_operations,
    in_place_operations,
    predicate_operations,
    };
const PyMethodDef* const method_tables[] = {
    in_place_methods, creation_methods,
    resizing_methods,
    value_methods,
    };
const PyMethodDef* const function_tables[] = {
    own_functions,
    reduction_functions, layer_functions,
    list_functions,
    creation_functions,
    data_functions,
    fact_functions,
};
// clang-format on

using Table = std::vector<PyMethodDef>;

void append(Table& table, const PyMethodDef* rows) {
  for (; rows->ml_name != nullptr; ++rows) table.push_back(*rows);
}

void append(Table& table, const Operation* rows, FastMethod Operation::* form) {
  for (; rows->name != nullptr; ++rows) table.push_back({rows->name, as_method(rows->*form), fast_call, nullptr});
}

// Lives as long as the process: Python's method objects point into it.
PyMethodDef* finished(Table table) {
  table.push_back({nullptr, nullptr, 0, nullptr});
  return immortal(std::move(table)).data();
}

}  // namespace

PyMethodDef* op_methods() {
  Table table;
  for (const Operation* rows : operation_tables) append(table, rows, &Operation::method);
  for (const PyMethodDef* rows : method_tables) append(table, rows);
  return finished(std::move(table));
}

PyMethodDef* op_functions() {
  Table table;
  for (const Operation* rows : operation_tables) append(table, rows, &Operation::function);
  for (const PyMethodDef* rows : function_tables) append(table, rows);
  let_classes_override(table, false);
  return finished(std::move(table));
}

namespace {

// The name of a method, for its errors.
const char* name_of(FastMethod method) {
  for (const Operation* rows : operation_tables)
    for (; rows->name != nullptr; ++rows)
      if (rows->method == method) return rows->name;
  return "";
}

void require_input(FastMethod method, PyObject* object, const char* where) {
  if (object == nullptr)
    raise_python(PyExc_TypeError, "%s() missing 1 required positional arguments: \"input\"", name_of(method));
  if (!is_tensor(object))
    raise_python(PyExc_TypeError, "%s(): argument 'input'%s must be Tensor, not %.200s", name_of(method), where,
                 Py_TYPE(object)->tp_name);
}

}  // namespace

void refuse_arguments(FastMethod method, Py_ssize_t count, PyObject* names) {
  if (names != nullptr) raise_python(PyExc_TypeError, "TensorBase.%s() takes no keyword arguments", name_of(method));
  if (count != 0)
    raise_python(PyExc_TypeError, "TensorBase.%s() takes no arguments (%zd given)", name_of(method), count);
}

PyObject* call_on_input(FastMethod method, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&]() -> PyObject* {
    if (count > 0) {
      require_input(method, arguments[0], " (position 1)");
      return method(arguments[0], arguments + 1, count - 1, names);
    }
    const NamedInput call = take_input(arguments, names);
    require_input(method, call.input, "");
    return method(call.input, call.values.data(), 0, call.names.get());
  });
}

}  // namespace gradlife
