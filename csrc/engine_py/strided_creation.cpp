// Factories that are asked for less often: by strides, on a logarithmic scale, of one number.
#include <algorithm>
#include <cmath>

#include "engine/kernels.hpp"
#include "engine/ops.hpp"
#include "engine_py/errors.hpp"
#include "engine_py/methods.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {
namespace {

PyObject* finished(Tensor tensor, bool requires_grad) {
  if (requires_grad) {
    require(is_differentiable(tensor->dtype()),
            "Only Tensors of floating point and complex dtype can require gradients");
    set_requires_grad(tensor, true);
  }
  return wrap(std::move(tensor)).release();
}

// As long a storage as the last element needs.
Tensor empty_strided(const Dims& sizes, const Dims& strides, DType dtype) {
  require(sizes.size() == strides.size(), "dimensionality of sizes (", sizes.size(),
          ") must match dimensionality of strides (", strides.size(), ")");
  ops::require_sizes(sizes);
  int64_t length = sizes.product() == 0 ? 0 : 1;
  for (size_t i = 0; i < sizes.size() && length > 0; ++i) {
    require(strides[i] >= 0, "Storage size calculation overflowed with sizes=", sizes, " and strides=", strides);
    ops::require_sizes({sizes[i], std::max<int64_t>(strides[i], 1)});
    length += (sizes[i] - 1) * strides[i];
  }
  StoragePtr storage = make<Storage>(static_cast<size_t>(length) * item_size(dtype));
  return make<TensorImpl>(std::move(storage), dtype, sizes, strides, 0);
}

PyObject* empty_strided_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("empty_strided", {"size", "stride", "dtype", "device", "requires_grad"}, 2, arguments, count,
                    names);
    args.require_cpu(3);
    return finished(empty_strided(args.dims(0), args.dims(1), args.dtype(2, DType::float32)), args.flag(4, false));
  });
}

PyObject* new_empty_strided(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("new_empty_strided", {"size", "stride", "dtype", "device", "requires_grad"}, 2, arguments, count,
                    names);
    args.require_cpu(3);
    return finished(empty_strided(args.dims(0), args.dims(1), args.dtype(2, unwrap(self)->dtype())),
                    args.flag(4, false));
  });
}

PyObject* logspace_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("logspace", {"start", "end", "steps", "base", "dtype", "device", "requires_grad"}, 3, arguments,
                    count, names);
    args.require_cpu(5);
    const double base = args.real(3, 10);
    const Tensor exponents = ops::linspace(args.real(0, 0), args.real(1, 0), args.integer(2, 0), DType::float64);
    Tensor result = empty(exponents->sizes(), args.dtype(4, DType::float32));
    kernels::dispatch(result->dtype(), [&](auto zero) {
      using T = decltype(zero);
      kernels::map<T>(*result, kernels::Operand<double>(*exponents),
                      [base](double exponent) { return static_cast<T>(std::pow(base, exponent)); });
    });
    return finished(result, args.flag(6, false));
  });
}

PyObject* scalar_tensor_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("scalar_tensor", {"s", "dtype", "device", "requires_grad"}, 1, arguments, count, names);
    args.require_cpu(2);
    return finished(ops::full({}, args.number(0, 0), args.dtype(1, DType::float32)), args.flag(3, false));
  });
}

}  // namespace

PyMethodDef strided_methods[] = {{"new_empty_strided", as_method(new_empty_strided), fast_call, nullptr},
                                 {nullptr, nullptr, 0, nullptr}};

PyMethodDef strided_functions[] = {{"empty_strided", as_method(empty_strided_function), fast_call, nullptr},
                                   {"logspace", as_method(logspace_function), fast_call, nullptr},
                                   {"scalar_tensor", as_method(scalar_tensor_function), fast_call, nullptr},
                                   {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
