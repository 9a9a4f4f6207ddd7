// Methods and functions of whole numbers, bits and truth values; div, which can round its quotient to whole numbers.
#include "engine/integers.hpp"
#include "engine/kernels.hpp"
#include "engine_py/errors.hpp"
#include "engine_py/methods.hpp"
#include "engine_py/operands.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {
namespace {

PyObject* answer(PyObject* self, Tensor result, bool in_place) {
  return in_place ? Py_NewRef(self) : wrap(std::move(result)).release();
}

// Each operation: what it does with a tensor, or with a number as a tensor.
struct FloorDivide {
  static Tensor call(const Tensor& a, const Tensor& b, bool in_place) { return ops::floor_divide(a, b, in_place); }
};
struct Remainder {
  static Tensor call(const Tensor& a, const Tensor& b, bool in_place) { return remainder_of(a, b, in_place); }
};
struct Fmod {
  static Tensor call(const Tensor& a, const Tensor& b, bool in_place) {
    return b->is_wrapped_number() ? ops::fmod_number(a, ops::item(b), in_place) : ops::fmod(a, b, in_place);
  }
};
template <ops::Bitwise operation>
struct Bits {
  static Tensor call(const Tensor& a, const Tensor& b, bool in_place) {
    return ops::bitwise(operation, a, b, in_place);
  }
};
template <ops::Logical operation>
struct Truth {
  static Tensor call(const Tensor& a, const Tensor& b, bool in_place) {
    return ops::logical(operation, a, b, in_place);
  }
};
using And = Bits<ops::Bitwise::conjunction>;
using Or = Bits<ops::Bitwise::disjunction>;
using Xor = Bits<ops::Bitwise::exclusion>;
using Left = Bits<ops::Bitwise::left_shift>;
using Right = Bits<ops::Bitwise::right_shift>;
using LogicalAnd = Truth<ops::Logical::conjunction>;
using LogicalOr = Truth<ops::Logical::disjunction>;
using LogicalXor = Truth<ops::Logical::exclusion>;

template <class Op, bool in_place = false>
PyObject* binary(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("method", {"other"}, 1, arguments, count, names);
    return answer(self, Op::call(unwrap(self), tensor_or_number(args, 0), in_place), in_place);
  });
}

template <Tensor (*op)(const Tensor&, bool), bool in_place = false>
PyObject* unary(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    refuse_arguments(arguments, count, names);
    return answer(self, op(unwrap(self), in_place), in_place);
  });
}

Tensor logical_not(const Tensor& a, bool in_place) {
  return in_place ? ops::logical_not_in_place(a) : ops::logical_not(a);
}

ops::Rounding parse_rounding(PyObject* mode) {
  if (PyUnicode_Check(mode) && PyUnicode_CompareWithASCIIString(mode, "floor") == 0) return ops::Rounding::floor;
  if (PyUnicode_Check(mode) && PyUnicode_CompareWithASCIIString(mode, "trunc") == 0) return ops::Rounding::truncate;
  raise_python(PyExc_RuntimeError, "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%S'",
               mode);
}

Tensor divided(const Tensor& a, const Args& args, bool in_place) {
  if (args.has(1)) return ops::div_rounded(a, tensor_or_number(args, 0), parse_rounding(args[1]), in_place);
  if (args[1] != nullptr) return ops::div_unrounded(a, tensor_or_number(args, 0), in_place);
  if (in_place) return ops::div_in_place(a, tensor_or_number(args, 0));
  Scalar number;
  return parse_number(args[0], &number) ? ops::div_number(a, number) : ops::div(a, args.tensor(0));
}

template <bool in_place = false>
PyObject* div_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(in_place ? "div_" : "div", {"other", "rounding_mode"}, 1, arguments, count, names);
    return answer(self, divided(unwrap(self), args, in_place), in_place);
  });
}

}  // namespace

const Operation integer_operations[] = {operation<div_method<>>("div"),
                                        operation<div_method<>>("divide"),
                                        operation<binary<FloorDivide>>("floor_divide"),
                                        operation<binary<Remainder>>("remainder"),
                                        operation<binary<Fmod>>("fmod"),
                                        operation<binary<And>>("bitwise_and"),
                                        operation<binary<Or>>("bitwise_or"),
                                        operation<binary<Xor>>("bitwise_xor"),
                                        operation<binary<Left>>("bitwise_left_shift"),
                                        operation<binary<Right>>("bitwise_right_shift"),
                                        operation<unary<ops::bitwise_not>>("bitwise_not"),
                                        operation<binary<LogicalAnd>>("logical_and"),
                                        operation<binary<LogicalOr>>("logical_or"),
                                        operation<binary<LogicalXor>>("logical_xor"),
                                        operation<unary<logical_not>>("logical_not"),
                                        {nullptr, nullptr, nullptr}};

PyMethodDef integer_in_place_methods[] = {
    {"div_", as_method(div_method<true>), fast_call, nullptr},
    {"divide_", as_method(div_method<true>), fast_call, nullptr},
    {"floor_divide_", as_method(binary<FloorDivide, true>), fast_call, nullptr},
    {"remainder_", as_method(binary<Remainder, true>), fast_call, nullptr},
    {"fmod_", as_method(binary<Fmod, true>), fast_call, nullptr},
    {"bitwise_and_", as_method(binary<And, true>), fast_call, nullptr},
    {"bitwise_or_", as_method(binary<Or, true>), fast_call, nullptr},
    {"bitwise_xor_", as_method(binary<Xor, true>), fast_call, nullptr},
    {"bitwise_left_shift_", as_method(binary<Left, true>), fast_call, nullptr},
    {"bitwise_right_shift_", as_method(binary<Right, true>), fast_call, nullptr},
    {"bitwise_not_", as_method(unary<ops::bitwise_not, true>), fast_call, nullptr},
    {"logical_and_", as_method(binary<LogicalAnd, true>), fast_call, nullptr},
    {"logical_or_", as_method(binary<LogicalOr, true>), fast_call, nullptr},
    {"logical_xor_", as_method(binary<LogicalXor, true>), fast_call, nullptr},
    {"logical_not_", as_method(unary<logical_not, true>), fast_call, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
