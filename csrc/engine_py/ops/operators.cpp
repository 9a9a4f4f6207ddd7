// Python's operators: + - * / ** @, their in-place forms, comparisons, and conversions to Python numbers.
#include <type_traits>

#include "engine/ops/ops.hpp"
#include "engine_py/call/args.hpp"
#include "engine_py/call/tables.hpp"
#include "engine_py/call/torch_function.hpp"
#include "engine_py/call/warnings.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

struct Add {
  static constexpr const char *name = "add", *reversed_name = "add", *in_place_name = "add_";
  static Tensor tensors(const Tensor& a, const Tensor& b) { return ops::add(a, b); }
  static Tensor number(const Tensor& a, const Scalar& b) { return ops::add_number(a, b); }
  static Tensor reversed(const Scalar& a, const Tensor& b) { return ops::add_number(b, a); }
  static void change(const Tensor& a, const Tensor& b) { ops::add_in_place(a, b); }
};
struct Sub {
  static constexpr const char *name = "sub", *reversed_name = "__rsub__", *in_place_name = "sub_";
  static Tensor tensors(const Tensor& a, const Tensor& b) { return ops::sub(a, b); }
  static Tensor number(const Tensor& a, const Scalar& b) { return ops::sub_number(a, b); }
  static Tensor reversed(const Scalar& a, const Tensor& b) { return ops::rsub_number(a, b); }
  static void change(const Tensor& a, const Tensor& b) { ops::sub_in_place(a, b); }
};
struct Mul {
  static constexpr const char *name = "mul", *reversed_name = "mul", *in_place_name = "mul_";
  static Tensor tensors(const Tensor& a, const Tensor& b) { return ops::mul(a, b); }
  static Tensor number(const Tensor& a, const Scalar& b) { return ops::mul_number(a, b); }
  static Tensor reversed(const Scalar& a, const Tensor& b) { return ops::mul_number(b, a); }
  static void change(const Tensor& a, const Tensor& b) { ops::mul_in_place(a, b); }
};
struct Div {
  static constexpr const char *name = "div", *reversed_name = "__rdiv__", *in_place_name = "div_";
  static Tensor tensors(const Tensor& a, const Tensor& b) { return ops::div(a, b); }
  static Tensor number(const Tensor& a, const Scalar& b) { return ops::div_number(a, b); }
  static Tensor reversed(const Scalar& a, const Tensor& b) { return ops::mul_number(ops::reciprocal(b), a); }
  static void change(const Tensor& a, const Tensor& b) { ops::div_in_place(a, b); }
};
struct Pow {
  static constexpr const char *name = "pow", *reversed_name = "__rpow__", *in_place_name = "pow_";
  static Tensor tensors(const Tensor& a, const Tensor& b) { return ops::pow(a, b); }
  static Tensor number(const Tensor& a, const Scalar& b) { return ops::pow_scalar(a, b); }
  static Tensor reversed(const Scalar& a, const Tensor& b) { return ops::scalar_pow(a, b); }
  static void change(const Tensor& a, const Tensor& b) { ops::pow_in_place(a, b); }
};

// Whether PyTorch's operators take the operands and one of them has a class that overrides.
bool must_ask(PyObject* a, PyObject* b) {
  Scalar number;
  return one_overrides({a, b}) && (is_tensor(a) || parse_number(a, &number)) &&
         (is_tensor(b) || parse_number(b, &number));
}

// Answer a TypeError, one of the user's as well, with NotImplemented, as PyTorch's operators do.
template <class Body>
PyObject* answered(Body&& body) {
  return guarded([&]() -> PyObject* {
    try {
      return body();
    } catch (PythonError& error) {
      if (!PyErr_GivenExceptionMatches(error.value(), PyExc_TypeError)) throw;
      return Py_NewRef(Py_NotImplemented);
    }
  });
}

// CPython asks the other operand's class in reverse after NotImplemented, for classes written in Python as PyTorch's
// is.
template <class Op>
PyObject* ask_operands(PyObject* a, PyObject* b) {
  if (!is_tensor(a)) return ask_classes(Op::reversed_name, {b, a});
  PyObject* answer = answered([&] { return ask_classes(Op::name, {a, b}); });
  if (answer != Py_NotImplemented || !is_tensor(b) || Py_TYPE(a) == Py_TYPE(b)) return answer;
  Py_DECREF(answer);
  return ask_classes(Op::reversed_name, {b, a});
}

// `a op b`, where at least one is a tensor. NotImplemented leaves the answer to the other operand, or to Python's
// TypeError.
template <class Op>
PyObject* binary(PyObject* a, PyObject* b) {
  return answered([&]() -> PyObject* {
    Scalar number;
    if (must_ask(a, b)) return ask_operands<Op>(a, b);
    if (is_tensor(a)) {
      if (is_tensor(b)) return wrap(Op::tensors(unwrap(a), unwrap(b))).release();
      if (parse_number(b, &number)) return wrap(Op::number(unwrap(a), number)).release();
    } else if (parse_number(a, &number)) {
      return wrap(Op::reversed(number, unwrap(b))).release();
    } else if constexpr (std::is_same_v<Op, Div>) {
      ops::reciprocal(unwrap(b));  // PyTorch computes tensor.reciprocal() * other, and refuses the second half
    }
    return Py_NewRef(Py_NotImplemented);
  });
}

template <class Op>
PyObject* in_place(PyObject* self, PyObject* other) {
  return answered([&]() -> PyObject* {
    Scalar number;
    if (must_ask(self, other)) return ask_classes(Op::in_place_name, {self, other});
    if (is_tensor(other)) {
      Op::change(unwrap(self), unwrap(other));
    } else if (parse_number(other, &number)) {
      if constexpr (std::is_same_v<Op, Pow>)
        ops::pow_scalar_in_place(unwrap(self), number);
      else
        Op::change(unwrap(self), ops::wrapped_number(number));
    } else {
      return Py_NewRef(Py_NotImplemented);
    }
    return Py_NewRef(self);
  });
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) return Py_NewRef(Py_NotImplemented);
  return binary<Pow>(a, b);
}

PyObject* power_in_place(PyObject* self, PyObject* exponent, PyObject*) { return in_place<Pow>(self, exponent); }

struct MatMul {
  static constexpr const char *name = "matmul", *reversed_name = "__rmatmul__";
};

PyObject* matrix_multiply(PyObject* a, PyObject* b) {
  return answered([&]() -> PyObject* {
    if (!is_tensor(a) || !is_tensor(b)) return Py_NewRef(Py_NotImplemented);
    if (one_overrides({a, b})) return ask_operands<MatMul>(a, b);
    return wrap(ops::matmul(unwrap(a), unwrap(b))).release();
  });
}

constexpr char neg_name[] = "neg", abs_name[] = "abs";

template <Tensor (*op)(const Tensor&), const char* name>
PyObject* unary(PyObject* self) {
  return guarded([&] { return overrides(self) ? ask_classes(name, {self}) : wrap(op(unwrap(self))).release(); });
}

PyObject* positive(PyObject* self) {
  return guarded([&] { return overrides(self) ? ask_classes("positive", {self}) : Py_NewRef(self); });
}

int truth(PyObject* self) {
  return guarded(-1, [&] {
    if (overrides(self)) {
      const Ref answer = Ref::steal(ask_classes("__bool__", {self}));
      if (!PyBool_Check(answer.get()))
        raise_python(PyExc_TypeError, "__bool__ should return bool, returned %s", Py_TYPE(answer.get())->tp_name);
      return answer.get() == Py_True ? 1 : 0;
    }
    const Tensor& tensor = unwrap(self);
    require(tensor->numel() != 0, "Boolean value of Tensor with no values is ambiguous");
    require(tensor->numel() == 1, "Boolean value of Tensor with more than one value is ambiguous");
    return ops::item(tensor).to<bool>() ? 1 : 0;
  });
}

Scalar single_value(PyObject* self) {
  const Tensor& tensor = unwrap(self);
  if (tensor->numel() != 1) fail(ErrorKind::value, "only one element tensors can be converted to Python scalars");
  return ops::item(tensor);
}

PyObject* to_float(PyObject* self) {
  return guarded([&] {
    if (overrides(self)) return ask_classes("__float__", {self});
    warn_of_lost_history(unwrap(self));
    return PyFloat_FromDouble(single_value(self).to<double>());
  });
}

PyObject* to_int(PyObject* self) {
  return guarded([&] {
    if (overrides(self)) return ask_classes("__int__", {self});
    const Scalar value = single_value(self);
    return value.is_real() ? PyLong_FromDouble(value.real) : PyLong_FromLongLong(value.to<int64_t>());
  });
}

PyObject* to_index(PyObject* self) {
  return guarded([&] {
    if (overrides(self)) return ask_classes("__index__", {self});
    const Tensor& tensor = unwrap(self);
    if (tensor->numel() != 1 || is_differentiable(tensor->dtype()))
      raise_python(PyExc_TypeError, "only integer tensors of a single element can be converted to an index");
    return PyLong_FromLongLong(ops::item(tensor).integer);
  });
}

// In CPython's numbering.
constexpr const char* comparison_names[] = {"lt", "le", "eq", "ne", "gt", "ge"};
constexpr ops::Comparison comparisons[] = {ops::Comparison::lt, ops::Comparison::le, ops::Comparison::eq,
                                           ops::Comparison::ne, ops::Comparison::gt, ops::Comparison::ge};

PyObject* tensor_richcompare(PyObject* a, PyObject* b, int op) {
  return answered([&]() -> PyObject* {
    Scalar number;
    if (!is_tensor(a)) return Py_NewRef(Py_NotImplemented);
    if (op == Py_EQ && overrides(a)) return ask_classes("__eq__", {a, b});
    if (must_ask(a, b)) return ask_classes(comparison_names[op], {a, b});
    if (is_tensor(b)) return wrap(ops::compare(comparisons[op], unwrap(a), unwrap(b))).release();
    if (parse_number(b, &number)) return wrap(ops::compare_number(comparisons[op], unwrap(a), number)).release();
    return Py_NewRef(Py_NotImplemented);
  });
}

template <class Function>
void* as_slot(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

PyType_Slot operator_slots[] = {{Py_tp_richcompare, as_slot(tensor_richcompare)},
                                {Py_nb_add, as_slot(binary<Add>)},
                                {Py_nb_subtract, as_slot(binary<Sub>)},
                                {Py_nb_multiply, as_slot(binary<Mul>)},
                                {Py_nb_true_divide, as_slot(binary<Div>)},
                                {Py_nb_power, as_slot(power)},
                                {Py_nb_matrix_multiply, as_slot(matrix_multiply)},
                                {Py_nb_negative, as_slot(unary<ops::neg, neg_name>)},
                                {Py_nb_positive, as_slot(positive)},
                                {Py_nb_absolute, as_slot(unary<ops::abs, abs_name>)},
                                {Py_nb_bool, as_slot(truth)},
                                {Py_nb_float, as_slot(to_float)},
                                {Py_nb_int, as_slot(to_int)},
                                {Py_nb_index, as_slot(to_index)},
                                {Py_nb_inplace_add, as_slot(in_place<Add>)},
                                {Py_nb_inplace_subtract, as_slot(in_place<Sub>)},
                                {Py_nb_inplace_multiply, as_slot(in_place<Mul>)},
                                {Py_nb_inplace_true_divide, as_slot(in_place<Div>)},
                                {Py_nb_inplace_power, as_slot(power_in_place)},
                                {0, nullptr}};

}  // namespace gradlife
