// Methods and functions that name elements by tensors: gather, scatter, index_*, masked_*, take, nonzero, where.
#include "engine/indexing.hpp"
#include "engine_py/errors.hpp"
#include "engine_py/methods.hpp"
#include "engine_py/operands.hpp"
#include "engine_py/out_forms.hpp"
#include "engine_py/warnings.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {
namespace {

using ops::Form;

// A method that gives its result, or changes its tensor and gives that back.
PyObject* answer(PyObject* self, Tensor result, Form form) {
  return form == Form::in_place ? Py_NewRef(self) : wrap(std::move(result)).release();
}

PyObject* gather_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("gather", {"dim", "index", "sparse_grad"}, 2, arguments, count, names);
    if (args.flag(2, false)) raise_python(PyExc_NotImplementedError, "gradlife's engine has no sparse gradients");
    return wrap(ops::gather(unwrap(self), args.integer(0, 0), args.tensor(1))).release();
  });
}

ops::Combine parse_combine(const Args& args, size_t i) {
  if (PyUnicode_Check(args[i])) {
    if (PyUnicode_CompareWithASCIIString(args[i], "add") == 0) return ops::Combine::add;
    if (PyUnicode_CompareWithASCIIString(args[i], "multiply") == 0) return ops::Combine::multiply;
  }
  raise_python(PyExc_RuntimeError, "reduce argument must be either add or multiply.");
}

// scatter(dim, index, src) and scatter(dim, index, value), each also with a way to combine.
template <Form form>
PyObject* scatter_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(form == Form::in_place ? "scatter_" : "scatter", {"dim", "index", "src", "value", "reduce"}, 2,
                    arguments, count, names);
    const Tensor& tensor = unwrap(self);
    const int64_t dim = args.integer(0, 0);
    const Tensor& index = args.tensor(1);
    const size_t at = args.has(2) ? 2 : 3;
    Scalar number;
    const bool is_number = args.has(at) && parse_number(args[at], &number);
    if (args.has(4)) {
      const Tensor source = is_number ? ops::wrapped_number(number) : args.tensor(at);
      return answer(self, ops::scatter_combine(tensor, dim, index, source, parse_combine(args, 4), form), form);
    }
    if (is_number) return answer(self, ops::scatter_number(tensor, dim, index, number, form), form);
    if (!args.has(at)) raise_python(PyExc_TypeError, "scatter() missing 1 required positional arguments: \"src\"");
    const Tensor& source = args.tensor(at);
    if (at == 3) return answer(self, ops::scatter_number(tensor, dim, index, ops::item(source), form), form);
    return answer(self, ops::scatter(tensor, dim, index, source, form), form);
  });
}

template <Form form>
PyObject* scatter_add_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(form == Form::in_place ? "scatter_add_" : "scatter_add", {"dim", "index", "src"}, 3, arguments,
                    count, names);
    return answer(self, ops::scatter_add(unwrap(self), args.integer(0, 0), args.tensor(1), args.tensor(2), form), form);
  });
}

PyObject* index_select_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("index_select", {"dim", "index"}, 2, arguments, count, names);
    return wrap(ops::index_select(unwrap(self), args.integer(0, 0), args.tensor(1))).release();
  });
}

template <Form form>
PyObject* index_add_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(form == Form::in_place ? "index_add_" : "index_add", {"dim", "index", "source", "alpha"}, 3,
                    arguments, count, names);
    return answer(
        self, ops::index_add(unwrap(self), args.integer(0, 0), args.tensor(1), args.tensor(2), args.number(3, 1), form),
        form);
  });
}

template <Form form>
PyObject* index_copy_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(form == Form::in_place ? "index_copy_" : "index_copy", {"dim", "index", "source"}, 3, arguments,
                    count, names);
    return answer(self, ops::index_copy(unwrap(self), args.integer(0, 0), args.tensor(1), args.tensor(2), form), form);
  });
}

template <Form form>
PyObject* index_fill_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(form == Form::in_place ? "index_fill_" : "index_fill", {"dim", "index", "value"}, 3, arguments,
                    count, names);
    const int64_t dim = args.integer(0, 0);
    Scalar number;
    const bool is_number = parse_number(args[2], &number);
    if (form == Form::in_place) warn_of_expanded(*unwrap(self), "index_fill_", masked_assignment);
    Tensor result = is_number ? ops::index_fill(unwrap(self), dim, args.tensor(1), number, form)
                              : ops::index_fill(unwrap(self), dim, args.tensor(1), args.tensor(2), form);
    return answer(self, std::move(result), form);
  });
}

template <Form form>
PyObject* index_put_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(form == Form::in_place ? "index_put_" : "index_put", {"indices", "values", "accumulate"}, 2,
                    arguments, count, names);
    if (form == Form::in_place) warn_of_expanded(*unwrap(self), "index_put_", indexed_assignment);
    const auto call = form == Form::in_place ? ops::index_put_in_place : ops::index_put;
    return answer(self, call(unwrap(self), args.tensors(0), args.tensor(1), args.flag(2, false)), form);
  });
}

PyObject* take_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("take", {"index"}, 1, arguments, count, names);
    return wrap(ops::take(unwrap(self), args.tensor(0))).release();
  });
}

template <Form form>
PyObject* put_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(form == Form::in_place ? "put_" : "put", {"index", "source", "accumulate"}, 2, arguments, count,
                    names);
    return answer(self, ops::put(unwrap(self), args.tensor(0), args.tensor(1), args.flag(2, false), form), form);
  });
}

PyObject* take_along_dim_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("take_along_dim", {"indices", "dim"}, 1, arguments, count, names);
    if (!args.has(1)) return wrap(ops::take_along_dim(unwrap(self), args.tensor(0))).release();
    return wrap(ops::take_along_dim(unwrap(self), args.tensor(0), args.integer(1, 0))).release();
  });
}

template <Form form>
PyObject* masked_fill_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(form == Form::in_place ? "masked_fill_" : "masked_fill", {"mask", "value"}, 2, arguments, count,
                    names);
    Scalar number;
    const bool is_number = parse_number(args[1], &number);
    if (form == Form::in_place) warn_of_expanded(*unwrap(self), "masked_fill_", masked_assignment);
    Tensor result = is_number ? ops::masked_fill(unwrap(self), args.tensor(0), number, form)
                              : ops::masked_fill(unwrap(self), args.tensor(0), args.tensor(1), form);
    return answer(self, std::move(result), form);
  });
}

PyObject* masked_select_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("masked_select", {"mask"}, 1, arguments, count, names);
    return wrap(ops::masked_select(unwrap(self), args.tensor(0))).release();
  });
}

template <Form form>
PyObject* masked_scatter_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(form == Form::in_place ? "masked_scatter_" : "masked_scatter", {"mask", "source"}, 2, arguments,
                    count, names);
    return answer(self, ops::masked_scatter(unwrap(self), args.tensor(0), args.tensor(1), form), form);
  });
}

PyObject* nonzero_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("nonzero", {"as_tuple"}, 0, arguments, count, names);
    if (args.flag(0, false)) return wrap_tuple(ops::nonzero_tuple(unwrap(self))).release();
    return wrap(ops::nonzero(unwrap(self))).release();
  });
}

PyObject* argwhere_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    refuse_arguments(arguments, count, names);
    return wrap(ops::nonzero(unwrap(self))).release();
  });
}

// tensor.where(condition, other)
PyObject* where_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("where", {"condition", "other"}, 2, arguments, count, names);
    return wrap(ops::where(args.tensor(0), unwrap(self), tensor_or_number(args, 1))).release();
  });
}

// where(condition, input, other), and where(condition) for the places where it holds.
PyObject* where_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    if (has_out(names)) return call_with_out("where", where_function, arguments, count, names);
    const Args args("where", {"condition", "input", "other"}, 1, arguments, count, names);
    if (args[1] == nullptr && args[2] == nullptr) return wrap_tuple(ops::nonzero_tuple(args.tensor(0))).release();
    const Args all("where", {"condition", "input", "other"}, 3, arguments, count, names);
    return wrap(ops::where(all.tensor(0), tensor_or_number(all, 1), tensor_or_number(all, 2))).release();
  });
}

}  // namespace

const Operation index_operations[] = {operation<gather_method>("gather"),
                                      operation<scatter_method<Form::plain_copy>>("scatter"),
                                      operation<scatter_add_method<Form::plain_copy>>("scatter_add"),
                                      operation<index_select_method>("index_select"),
                                      operation<index_add_method<Form::plain_copy>>("index_add"),
                                      operation<index_copy_method<Form::plain_copy>>("index_copy"),
                                      operation<index_fill_method<Form::like_copy>>("index_fill"),
                                      operation<index_put_method<Form::like_copy>>("index_put"),
                                      operation<take_method>("take"),
                                      operation<put_method<Form::like_copy>>("put"),
                                      operation<take_along_dim_method>("take_along_dim"),
                                      operation<masked_fill_method<Form::plain_copy>>("masked_fill"),
                                      operation<masked_select_method>("masked_select"),
                                      operation<masked_scatter_method<Form::plain_copy>>("masked_scatter"),
                                      operation<nonzero_method>("nonzero"),
                                      operation<argwhere_method>("argwhere"),
                                      {"where", where_method, where_function},
                                      {nullptr, nullptr, nullptr}};

PyMethodDef index_in_place_methods[] = {
    {"scatter_", as_method(scatter_method<Form::in_place>), fast_call, nullptr},
    {"scatter_add_", as_method(scatter_add_method<Form::in_place>), fast_call, nullptr},
    {"index_add_", as_method(index_add_method<Form::in_place>), fast_call, nullptr},
    {"index_copy_", as_method(index_copy_method<Form::in_place>), fast_call, nullptr},
    {"index_fill_", as_method(index_fill_method<Form::in_place>), fast_call, nullptr},
    {"index_put_", as_method(index_put_method<Form::in_place>), fast_call, nullptr},
    {"put_", as_method(put_method<Form::in_place>), fast_call, nullptr},
    {"masked_fill_", as_method(masked_fill_method<Form::in_place>), fast_call, nullptr},
    {"masked_scatter_", as_method(masked_scatter_method<Form::in_place>), fast_call, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
