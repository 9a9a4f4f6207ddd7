// Functions of the module about dtypes, and those that draw whole numbers.
#include "engine/kernels.hpp"
#include "engine/overlap.hpp"
#include "engine/rearranging.hpp"
#include "engine_py/drawing.hpp"
#include "engine_py/errors.hpp"
#include "engine_py/methods.hpp"
#include "engine_py/operands.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {
namespace {

DType required_dtype(const Args& args, size_t i) {
  DType dtype;
  if (!args.has(i) || !parse_dtype(args[i], &dtype)) args.wrong_type(i, "torch.dtype");
  return dtype;
}

PyObject* promote_types_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("promote_types", {"type1", "type2"}, 2, arguments, count, names);
    return wrap_dtype(kernels::promote(required_dtype(args, 0), required_dtype(args, 1))).release();
  });
}

PyObject* can_cast_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("can_cast", {"from_", "to"}, 2, arguments, count, names);
    return PyBool_FromLong(ops::can_cast(required_dtype(args, 0), required_dtype(args, 1)));
  });
}

PyObject* result_type_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("result_type", {"tensor1", "tensor2"}, 2, arguments, count, names);
    const Tensor first = tensor_or_number(args, 0);
    const Tensor second = tensor_or_number(args, 1);
    return wrap_dtype(kernels::result_dtype({first.get(), second.get()})).release();
  });
}

PyObject* finished(Tensor tensor, bool requires_grad) {
  if (requires_grad) {
    require(is_differentiable(tensor->dtype()),
            "Only Tensors of floating point and complex dtype can require gradients");
    set_requires_grad(tensor, true);
  }
  return wrap(std::move(tensor)).release();
}

// randint(high, size) and randint(low, high, size).
PyObject* randint_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const bool has_low = count >= 2 && PyIndex_Check(arguments[1]) && !is_sequence(arguments[1]);
    const bool is_named = count == 0;
    if (has_low || is_named) {
      const Args args("randint", {"low", "high", "size", "dtype", "device", "requires_grad", "generator"}, 0, arguments,
                      count, names);
      if (!args.has(1) || !args.has(2))
        raise_python(PyExc_TypeError, "randint() missing 1 required positional arguments: \"size\"");
      args.require_cpu(4);
      const DrawingFrom generator(args, 6);
      return finished(ops::randint(args.integer(0, 0), args.integer(1, 0), args.dims(2), args.dtype(3, DType::int64)),
                      args.flag(5, false));
    }
    const Args args("randint", {"high", "size", "dtype", "device", "requires_grad", "generator"}, 2, arguments, count,
                    names);
    args.require_cpu(3);
    const DrawingFrom generator(args, 5);
    return finished(ops::randint(0, args.integer(0, 0), args.dims(1), args.dtype(2, DType::int64)),
                    args.flag(4, false));
  });
}

PyObject* randperm_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("randperm", {"n", "dtype", "device", "requires_grad", "generator"}, 1, arguments, count, names);
    args.require_cpu(2);
    const DrawingFrom generator(args, 4);
    return finished(ops::randperm(args.integer(0, 0), args.dtype(1, DType::int64)), args.flag(3, false));
  });
}

}  // namespace

PyMethodDef integer_functions[] = {{"promote_types", as_method(promote_types_function), fast_call, nullptr},
                                   {"can_cast", as_method(can_cast_function), fast_call, nullptr},
                                   {"result_type", as_method(result_type_function), fast_call, nullptr},
                                   {"randint", as_method(randint_function), fast_call, nullptr},
                                   {"randperm", as_method(randperm_function), fast_call, nullptr},
                                   {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
