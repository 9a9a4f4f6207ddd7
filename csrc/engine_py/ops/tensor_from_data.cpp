// Tensors from Python numbers, nested in lists and tuples, or from an array.
#include <cstring>

#include "engine/ops/kernels/strided_loops.hpp"
#include "engine/ops/ops.hpp"
#include "engine_py/call/methods.hpp"
#include "engine_py/call/warnings.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

// Returns the dtype that a number suggests; a plain float is float32, numpy's numbers keep their width.
DType dtype_of_number(PyObject* object) {
  const char* name = Py_TYPE(object)->tp_name;
  if (std::strcmp(name, "numpy.float64") == 0) return DType::float64;
  if (std::strcmp(name, "numpy.int32") == 0) return DType::int32;
  if (std::strncmp(name, "numpy.bool", 10) == 0) return DType::boolean;
  Scalar number;
  if (PyComplex_Check(object) != 0) return DType::complex64;
  if (parse_number(object, &number)) return number.is_real() ? DType::float32 : number.natural_dtype();
  if (PyUnicode_Check(object)) raise_python(PyExc_TypeError, "new(): invalid data type 'str'");
  raise_python(PyExc_RuntimeError, "Could not infer dtype of %.200s", Py_TYPE(object)->tp_name);
}

Dims sizes_of_array(PyObject* array) {
  const Ref shape = checked(PyObject_GetAttrString(array, "shape"));
  return parse_dims(shape.get());
}

// Follows the first elements down; the filling checks that the others agree.
Dims nested_sizes(PyObject* data) {
  Dims sizes;
  Ref current = Ref::borrow(data);
  while (true) {
    const bool is_list = is_sequence(current.get());
    if (!is_list) {
      Dims inner;
      if (is_tensor(current.get())) inner = unwrap(current.get())->sizes();
      if (is_array(current.get())) inner = sizes_of_array(current.get());
      for (int64_t size : inner) sizes.push_back(size);
      return sizes;
    }
    const Py_ssize_t length = PySequence_Fast_GET_SIZE(current.get());
    sizes.push_back(length);
    if (length == 0) return sizes;
    current = Ref::borrow(PySequence_Fast_GET_ITEM(current.get(), 0));
  }
}

// Fills a tensor from a nested sequence, with at most eight dimensions.
class Filling {
 public:
  explicit Filling(const Dims& sizes) : sizes_(sizes) {}

  void infer(PyObject* data, size_t dim) {
    if (is_tensor(data)) return vote(unwrap(data)->dtype());
    if (is_array(data)) return vote(tensor_from_array(data)->dtype());
    if (!is_sequence(data)) return vote(dtype_of_number(data));
    check_length(data, dim);
    // Each item is owned: an item's own code may change the list.
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(data); ++i)
      infer(Ref::borrow(PySequence_Fast_GET_ITEM(data, i)).get(), dim + 1);
  }
  DType dtype() const { return is_voted_ ? dtype_ : DType::float32; }

  void fill(const Tensor& target, PyObject* data) {
    if (is_tensor(data)) return copy_into(target, unwrap(data));
    if (is_array(data)) return copy_into(target, tensor_from_array(data));
    if (!is_sequence(data)) return store(target, data);
    check_length(data, sizes_.size() - target->dim());
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(data); ++i) {
      Dims sizes = target->sizes();
      Dims strides = target->strides();
      sizes.erase(0);
      strides.erase(0);
      fill_element(target, sizes, strides, i, Ref::borrow(PySequence_Fast_GET_ITEM(data, i)).get());
    }
  }

 private:
  void vote(DType dtype) {
    dtype_ = is_voted_ ? kernels::promote(dtype_, dtype) : dtype;
    is_voted_ = true;
  }
  void check_length(PyObject* data, size_t dim) const {
    if (dim >= sizes_.size())
      raise_python(PyExc_TypeError, "not a sequence of numbers as deep as the first element (got %.200s)",
                   Py_TYPE(data)->tp_name);
    const Py_ssize_t length = PySequence_Fast_GET_SIZE(data);
    if (length != sizes_[dim])
      raise_python(PyExc_ValueError, "expected sequence of length %lld at dim %zu (got %zd)",
                   static_cast<long long>(sizes_[dim]), dim, length);
  }
  static void copy_into(const Tensor& target, const Tensor& source) {
    if (source->sizes() != target->sizes())
      fail(ErrorKind::value, "expected a tensor of size ", target->sizes(), " (got ", source->sizes(), ")");
    kernels::copy(*target, *source);
  }
  static void store(const Tensor& target, PyObject* number) {
    Scalar value;
    if (target->dim() != 0)
      fail(ErrorKind::type, "expected a sequence of length ", target->sizes()[0], " (got ", Py_TYPE(number)->tp_name,
           ")");
    if (PyComplex_Check(number) != 0 && is_complex(target->dtype())) {
      value = Scalar::complex(PyComplex_RealAsDouble(number), PyComplex_ImagAsDouble(number));
    } else if (!parse_number(number, &value)) {
      dtype_of_number(number);
    }
    kernels::fill(*target, value);
  }
  void fill_element(const Tensor& target, const Dims& sizes, const Dims& strides, Py_ssize_t index, PyObject* data) {
    const int64_t offset = target->offset() + index * target->strides()[0];
    Scalar value;
    if (sizes.empty() && !is_complex(target->dtype()) && parse_number(data, &value)) {
      kernels::dispatch(target->dtype(), [&](auto zero) {
        static_cast<decltype(zero)*>(target->storage()->data())[offset] = value.to<decltype(zero)>();
      });
    } else {
      fill(alias(target, sizes, strides, offset), data);
    }
  }

  Dims sizes_;
  DType dtype_ = DType::float32;
  bool is_voted_ = false;
};

PyObject* tensor_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("tensor", {"data", "dtype", "device", "requires_grad", "pin_memory"}, 1, arguments, count, names);
    args.require_cpu(2);
    if (PyObject_TypeCheck(args[0], state().storage_base) != 0)
      return checked(PyObject_CallMethod(args[0], "_window", "O", wrap_dtype(args.dtype(1, DType::int64)).get()))
          .release();
    if (is_tensor(args[0]))
      warn(PyExc_UserWarning,
           "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
           "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).");
    const DType dtype = args.dtype(1, DType::float32);
    return finished_tensor(tensor_from_data(args[0], args.has(1) ? &dtype : nullptr), args.flag(3, false));
  });
}

PyObject* from_numpy_function(PyObject*, PyObject* array) {
  return guarded([&] { return wrap(tensor_from_array(array)).release(); });
}

}  // namespace

PyObject* finished_tensor(Tensor tensor, bool is_required) {
  if (is_required) {
    require(is_differentiable(tensor->dtype()),
            "Only Tensors of floating point and complex dtype can require gradients");
    set_requires_grad(tensor, true);
  }
  return wrap(std::move(tensor)).release();
}

Tensor tensor_from_data(PyObject* data, const DType* dtype) {
  const Dims sizes = nested_sizes(data);
  Filling filling(sizes);
  if (dtype == nullptr) filling.infer(data, 0);
  Tensor result = empty(sizes, dtype != nullptr ? *dtype : filling.dtype());
  filling.fill(result, data);
  return result;
}

PyMethodDef data_functions[] = {{"tensor", as_method(tensor_function), fast_call, nullptr},
                                {"from_numpy", from_numpy_function, METH_O, nullptr},
                                {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
