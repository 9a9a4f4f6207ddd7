// Methods that change their tensor, and return it.
#include "engine/ops/ops.hpp"
#include "engine_py/call/methods.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

template <Tensor (*op)(const Tensor&)>
PyObject* changing(PyObject* self, PyObject* const*, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    refuse_arguments(changing<op>, count, names);
    op(unwrap(self));
    return Py_NewRef(self);
  });
}

Tensor operand(const Args& args, size_t i) {
  Scalar number;
  return parse_number(args[i], &number) ? ops::wrapped_number(number) : args.tensor(i);
}

template <Tensor (*op)(const Tensor&, const Tensor&, const Scalar&), const char* name>
PyObject* scaled(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(name, {"other", "alpha"}, 1, arguments, count, names);
    op(unwrap(self), operand(args, 0), args.number(1, 1));
    return Py_NewRef(self);
  });
}

template <Tensor (*op)(const Tensor&, const Tensor&), const char* name>
PyObject* binary(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(name, {"other"}, 1, arguments, count, names);
    op(unwrap(self), operand(args, 0));
    return Py_NewRef(self);
  });
}

PyObject* fill_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("fill_", {"value"}, 1, arguments, count, names);
    Scalar number;
    const bool is_number = parse_number(args[0], &number);
    is_number ? ops::fill_in_place(unwrap(self), number) : ops::fill_in_place(unwrap(self), args.tensor(0));
    return Py_NewRef(self);
  });
}

PyObject* pow_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("pow_", {"exponent"}, 1, arguments, count, names);
    Scalar number;
    const bool is_number = parse_number(args[0], &number);
    is_number ? ops::pow_scalar_in_place(unwrap(self), number) : ops::pow_in_place(unwrap(self), args.tensor(0));
    return Py_NewRef(self);
  });
}

PyObject* copy_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("copy_", {"other", "non_blocking"}, 1, arguments, count, names);
    ops::copy_in_place(unwrap(self), operand(args, 0));
    return Py_NewRef(self);
  });
}

constexpr char add_name[] = "add_", sub_name[] = "sub_", mul_name[] = "mul_", div_name[] = "div_";

}  // namespace

// Functions of the module as well.
const Operation in_place_operations[] = {operation<changing<ops::neg_in_place>>("neg_"),
                                         operation<changing<ops::exp_in_place>>("exp_"),
                                         operation<changing<ops::sin_in_place>>("sin_"),
                                         operation<changing<ops::tanh_in_place>>("tanh_"),
                                         operation<changing<ops::relu_in_place>>("relu_"),
                                         operation<changing<ops::sigmoid_in_place>>("sigmoid_"),
                                         operation<changing<ops::zero_in_place>>("zero_"),
                                         operation<fill_method>("fill_"),
                                         {nullptr, nullptr, nullptr}};

PyMethodDef in_place_methods[] = {{"add_", as_method(scaled<ops::add_in_place, add_name>), fast_call, nullptr},
                                  {"sub_", as_method(scaled<ops::sub_in_place, sub_name>), fast_call, nullptr},
                                  {"mul_", as_method(binary<ops::mul_in_place, mul_name>), fast_call, nullptr},
                                  {"div_", as_method(binary<ops::div_in_place, div_name>), fast_call, nullptr},
                                  {"pow_", as_method(pow_method), fast_call, nullptr},
                                  {"copy_", as_method(copy_method), fast_call, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
