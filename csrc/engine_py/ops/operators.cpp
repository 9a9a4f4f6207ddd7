// The operators of Python: + - * / ** @, their in-place forms, comparisons, and conversions to Python's numbers.
#include "engine/ops/ops.hpp"
#include "engine_py/call/args.hpp"
#include "engine_py/call/tables.hpp"
#include "engine_py/call/warnings.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

struct Add {
  static Tensor tensors(const Tensor& a, const Tensor& b) { return ops::add(a, b); }
  static Tensor number(const Tensor& a, const Scalar& b) { return ops::add_number(a, b); }
  static Tensor reversed(const Scalar& a, const Tensor& b) { return ops::add_number(b, a); }
  static void change(const Tensor& a, const Tensor& b) { ops::add_in_place(a, b); }
  static void before_refusal(const Tensor&) {}
};
struct Sub {
  static Tensor tensors(const Tensor& a, const Tensor& b) { return ops::sub(a, b); }
  static Tensor number(const Tensor& a, const Scalar& b) { return ops::sub_number(a, b); }
  static Tensor reversed(const Scalar& a, const Tensor& b) { return ops::rsub_number(a, b); }
  static void change(const Tensor& a, const Tensor& b) { ops::sub_in_place(a, b); }
  static void before_refusal(const Tensor&) {}
};
struct Mul {
  static Tensor tensors(const Tensor& a, const Tensor& b) { return ops::mul(a, b); }
  static Tensor number(const Tensor& a, const Scalar& b) { return ops::mul_number(a, b); }
  static Tensor reversed(const Scalar& a, const Tensor& b) { return ops::mul_number(b, a); }
  static void change(const Tensor& a, const Tensor& b) { ops::mul_in_place(a, b); }
  static void before_refusal(const Tensor&) {}
};
struct Div {
  static Tensor tensors(const Tensor& a, const Tensor& b) { return ops::div(a, b); }
  static Tensor number(const Tensor& a, const Scalar& b) { return ops::div_number(a, b); }
  static Tensor reversed(const Scalar& a, const Tensor& b) { return ops::mul_number(ops::reciprocal(b), a); }
  static void change(const Tensor& a, const Tensor& b) { ops::div_in_place(a, b); }
  // PyTorch's `other / tensor` is tensor.reciprocal() * other: the first half is done before the second is refused.
  static void before_refusal(const Tensor& b) { ops::reciprocal(b); }
};
struct Pow {
  static Tensor tensors(const Tensor& a, const Tensor& b) { return ops::pow(a, b); }
  static Tensor number(const Tensor& a, const Scalar& b) { return ops::pow_scalar(a, b); }
  static Tensor reversed(const Scalar& a, const Tensor& b) { return ops::scalar_pow(a, b); }
  static void change(const Tensor& a, const Tensor& b) { ops::pow_in_place(a, b); }
  static void before_refusal(const Tensor&) {}
};

// `a op b`, of which at least one is a tensor. NotImplemented lets the other operand, or Python's TypeError, have its
// say.
template <class Op>
PyObject* binary(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    Scalar number;
    if (is_tensor(a)) {
      if (is_tensor(b)) return wrap(Op::tensors(unwrap(a), unwrap(b))).release();
      if (parse_number(b, &number)) return wrap(Op::number(unwrap(a), number)).release();
    } else if (parse_number(a, &number)) {
      return wrap(Op::reversed(number, unwrap(b))).release();
    } else {
      Op::before_refusal(unwrap(b));
    }
    return Py_NewRef(Py_NotImplemented);
  });
}

template <class Op>
PyObject* in_place(PyObject* self, PyObject* other) {
  return guarded([&]() -> PyObject* {
    Scalar number;
    if (is_tensor(other)) {
      Op::change(unwrap(self), unwrap(other));
    } else if (parse_number(other, &number)) {
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

PyObject* power_in_place(PyObject* self, PyObject* exponent, PyObject*) {
  return guarded([&]() -> PyObject* {
    Scalar number;
    if (is_tensor(exponent)) {
      ops::pow_in_place(unwrap(self), unwrap(exponent));
    } else if (parse_number(exponent, &number)) {
      ops::pow_scalar_in_place(unwrap(self), number);
    } else {
      return Py_NewRef(Py_NotImplemented);
    }
    return Py_NewRef(self);
  });
}

PyObject* matrix_multiply(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    if (!is_tensor(a) || !is_tensor(b)) return Py_NewRef(Py_NotImplemented);
    return wrap(ops::matmul(unwrap(a), unwrap(b))).release();
  });
}

template <Tensor (*op)(const Tensor&)>
PyObject* unary(PyObject* self) {
  return guarded([&] { return wrap(op(unwrap(self))).release(); });
}

PyObject* positive(PyObject* self) { return Py_NewRef(self); }

int truth(PyObject* self) {
  return guarded(-1, [&] {
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
    warn_of_lost_history(unwrap(self));
    return PyFloat_FromDouble(single_value(self).to<double>());
  });
}

PyObject* to_int(PyObject* self) {
  return guarded([&] {
    const Scalar value = single_value(self);
    return value.is_real() ? PyLong_FromDouble(value.real) : PyLong_FromLongLong(value.to<int64_t>());
  });
}

PyObject* to_index(PyObject* self) {
  return guarded([&] {
    const Tensor& tensor = unwrap(self);
    if (tensor->numel() != 1 || is_differentiable(tensor->dtype()))
      raise_python(PyExc_TypeError, "only integer tensors of a single element can be converted to an index");
    return PyLong_FromLongLong(ops::item(tensor).integer);
  });
}

ops::Comparison comparison_of(int op) {
  switch (op) {
    case Py_EQ:
      return ops::Comparison::eq;
    case Py_NE:
      return ops::Comparison::ne;
    case Py_LT:
      return ops::Comparison::lt;
    case Py_LE:
      return ops::Comparison::le;
    case Py_GT:
      return ops::Comparison::gt;
    default:
      return ops::Comparison::ge;
  }
}

}  // namespace

PyObject* tensor_richcompare(PyObject* a, PyObject* b, int op) {
  return guarded([&]() -> PyObject* {
    Scalar number;
    if (!is_tensor(a)) return Py_NewRef(Py_NotImplemented);
    if (is_tensor(b)) return wrap(ops::compare(comparison_of(op), unwrap(a), unwrap(b))).release();
    if (parse_number(b, &number)) return wrap(ops::compare_number(comparison_of(op), unwrap(a), number)).release();
    return Py_NewRef(Py_NotImplemented);
  });
}

namespace {

PyNumberMethods make_numbers() {
  PyNumberMethods numbers{};
  numbers.nb_add = binary<Add>;
  numbers.nb_subtract = binary<Sub>;
  numbers.nb_multiply = binary<Mul>;
  numbers.nb_true_divide = binary<Div>;
  numbers.nb_power = power;
  numbers.nb_matrix_multiply = matrix_multiply;
  numbers.nb_negative = unary<ops::neg>;
  numbers.nb_positive = positive;
  numbers.nb_absolute = unary<ops::abs>;
  numbers.nb_bool = truth;
  numbers.nb_float = to_float;
  numbers.nb_int = to_int;
  numbers.nb_index = to_index;
  numbers.nb_inplace_add = in_place<Add>;
  numbers.nb_inplace_subtract = in_place<Sub>;
  numbers.nb_inplace_multiply = in_place<Mul>;
  numbers.nb_inplace_true_divide = in_place<Div>;
  numbers.nb_inplace_power = power_in_place;
  return numbers;
}

}  // namespace

PyNumberMethods op_numbers = make_numbers();

}  // namespace gradlife
