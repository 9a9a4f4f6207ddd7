// The operators of whole numbers and bits: // % & | ^ << >> ~, and their in-place forms.
#include "engine/integers.hpp"
#include "engine_py/errors.hpp"
#include "engine_py/operands.hpp"
#include "engine_py/tables.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {
namespace {

struct FloorDivide {
  static Tensor call(const Tensor& a, const Tensor& b, bool in_place) { return ops::floor_divide(a, b, in_place); }
};
struct Remainder {
  static Tensor call(const Tensor& a, const Tensor& b, bool in_place) { return remainder_of(a, b, in_place); }
};
template <ops::Bitwise operation>
struct Bits {
  static Tensor call(const Tensor& a, const Tensor& b, bool in_place) {
    return ops::bitwise(operation, a, b, in_place);
  }
};

// NotImplemented lets the other operand, or Python's TypeError, have its say.
template <class Op>
PyObject* binary(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    const Tensor left = operand_of(a);
    const Tensor right = operand_of(b);
    if (!left || !right) return Py_NewRef(Py_NotImplemented);
    return wrap(Op::call(left, right, false)).release();
  });
}

template <class Op>
PyObject* in_place(PyObject* self, PyObject* other) {
  return guarded([&]() -> PyObject* {
    const Tensor right = operand_of(other);
    if (!right) return Py_NewRef(Py_NotImplemented);
    Op::call(unwrap(self), right, true);
    return Py_NewRef(self);
  });
}

PyObject* inverted(PyObject* self) {
  return guarded([&] {
    const Tensor& tensor = unwrap(self);
    if (is_floating(tensor->dtype()))
      raise_python(PyExc_TypeError, "~ (operator.invert) is only implemented on integer and Boolean-type tensors");
    return wrap(ops::bitwise_not(tensor)).release();
  });
}

}  // namespace

void add_integer_operators(PyNumberMethods& numbers) {
  using ops::Bitwise;
  numbers.nb_floor_divide = binary<FloorDivide>;
  numbers.nb_remainder = binary<Remainder>;
  numbers.nb_and = binary<Bits<Bitwise::conjunction>>;
  numbers.nb_or = binary<Bits<Bitwise::disjunction>>;
  numbers.nb_xor = binary<Bits<Bitwise::exclusion>>;
  numbers.nb_lshift = binary<Bits<Bitwise::left_shift>>;
  numbers.nb_rshift = binary<Bits<Bitwise::right_shift>>;
  numbers.nb_invert = inverted;
  numbers.nb_inplace_floor_divide = in_place<FloorDivide>;
  numbers.nb_inplace_remainder = in_place<Remainder>;
  numbers.nb_inplace_and = in_place<Bits<Bitwise::conjunction>>;
  numbers.nb_inplace_or = in_place<Bits<Bitwise::disjunction>>;
  numbers.nb_inplace_xor = in_place<Bits<Bitwise::exclusion>>;
  numbers.nb_inplace_lshift = in_place<Bits<Bitwise::left_shift>>;
  numbers.nb_inplace_rshift = in_place<Bits<Bitwise::right_shift>>;
}

}  // namespace gradlife
