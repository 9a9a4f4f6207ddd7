// Methods and functions that compute new values.
#include "engine/ops/index.hpp"
#include "engine/ops/ops.hpp"
#include "engine_py/call/methods.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

template <Tensor (*op)(const Tensor&, const Tensor&)>
PyObject* product(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("matmul", {"other"}, 1, arguments, count, names);
    return wrap(op(unwrap(self), args.tensor(0))).release();
  });
}

// add and sub take a factor for the second operand.
struct Add {
  static constexpr const char* name = "add";
  static Tensor tensors(const Tensor& a, const Tensor& b, const Scalar& alpha) { return ops::add(a, b, alpha); }
  static Tensor number(const Tensor& a, const Scalar& b, const Scalar& alpha) { return ops::add_number(a, b, alpha); }
};
struct Sub {
  static constexpr const char* name = "sub";
  static Tensor tensors(const Tensor& a, const Tensor& b, const Scalar& alpha) { return ops::sub(a, b, alpha); }
  static Tensor number(const Tensor& a, const Scalar& b, const Scalar& alpha) { return ops::sub_number(a, b, alpha); }
};

template <class Op>
PyObject* scaled(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(Op::name, {"other", "alpha"}, 1, arguments, count, names);
    const Scalar alpha = args.number(1, 1);
    Scalar number;
    if (parse_number(args[0], &number)) return wrap(Op::number(unwrap(self), number, alpha)).release();
    return wrap(Op::tensors(unwrap(self), args.tensor(0), alpha)).release();
  });
}

struct Div {
  static constexpr const char* name = "div";
  static Tensor tensors(const Tensor& a, const Tensor& b) { return ops::div(a, b); }
  static Tensor number(const Tensor& a, const Scalar& b) { return ops::div_number(a, b); }
};
struct Mul {
  static constexpr const char* name = "mul";
  static Tensor tensors(const Tensor& a, const Tensor& b) { return ops::mul(a, b); }
  static Tensor number(const Tensor& a, const Scalar& b) { return ops::mul_number(a, b); }
};
template <ops::Comparison comparison>
struct Compare {
  static constexpr const char* name = "comparison";
  static Tensor tensors(const Tensor& a, const Tensor& b) { return ops::compare(comparison, a, b); }
  static Tensor number(const Tensor& a, const Scalar& b) { return ops::compare_number(comparison, a, b); }
};

template <class Op>
PyObject* binary(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(Op::name, {"other"}, 1, arguments, count, names);
    Scalar number;
    if (parse_number(args[0], &number)) return wrap(Op::number(unwrap(self), number)).release();
    return wrap(Op::tensors(unwrap(self), args.tensor(0))).release();
  });
}

PyObject* pow_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("pow", {"exponent"}, 1, arguments, count, names);
    Scalar number;
    if (parse_number(args[0], &number)) return wrap(ops::pow_scalar(unwrap(self), number)).release();
    return wrap(ops::pow(unwrap(self), args.tensor(0))).release();
  });
}

Tensor square(const Tensor& tensor) { return ops::pow_scalar(tensor, 2); }

PyObject* allclose_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("allclose", {"other", "rtol", "atol", "equal_nan"}, 1, arguments, count, names);
    return PyBool_FromLong(
        ops::allclose(unwrap(self), args.tensor(0), args.real(1, 1e-5), args.real(2, 1e-8), args.flag(3, false)));
  });
}

PyObject* masked_fill_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("masked_fill", {"mask", "value"}, 2, arguments, count, names);
    Scalar number;
    if (parse_number(args[1], &number)) return wrap(ops::masked_fill(unwrap(self), args.tensor(0), number)).release();
    return wrap(ops::masked_fill(unwrap(self), args.tensor(0), args.tensor(1))).release();
  });
}

}  // namespace

const Operation arithmetic_operations[] = {operation<scaled<Add>>("add"),
                                           operation<scaled<Sub>>("sub"),
                                           operation<binary<Mul>>("mul"),
                                           operation<binary<Div>>("div"),
                                           operation<pow_method>("pow"),
                                           operation<unary<square>>("square"),
                                           operation<unary<ops::neg>>("neg"),
                                           operation<unary<ops::exp>>("exp"),
                                           operation<unary<ops::sin>>("sin"),
                                           operation<unary<ops::cos>>("cos"),
                                           operation<unary<ops::tanh>>("tanh"),
                                           operation<unary<ops::relu>>("relu"),
                                           operation<unary<ops::sqrt>>("sqrt"),
                                           operation<unary<ops::sigmoid>>("sigmoid"),
                                           operation<unary<ops::abs>>("abs"),
                                           operation<product<ops::matmul>>("matmul"),
                                           operation<product<ops::mm>>("mm"),
                                           operation<binary<Compare<ops::Comparison::eq>>>("eq"),
                                           operation<binary<Compare<ops::Comparison::ne>>>("ne"),
                                           operation<binary<Compare<ops::Comparison::lt>>>("lt"),
                                           operation<binary<Compare<ops::Comparison::le>>>("le"),
                                           operation<binary<Compare<ops::Comparison::gt>>>("gt"),
                                           operation<binary<Compare<ops::Comparison::ge>>>("ge"),
                                           operation<allclose_method>("allclose"),
                                           operation<masked_fill_method>("masked_fill"),
                                           {nullptr, nullptr, nullptr}};

}  // namespace gradlife
