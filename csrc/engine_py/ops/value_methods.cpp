// Methods that convert a tensor, read plain values from it, or describe it.
#include "engine/ops/ops.hpp"
#include "engine_py/call/methods.hpp"
#include "engine_py/call/warnings.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

Ref converted(const Tensor& tensor, DType dtype, bool copy = false) {
  if (is_complex(tensor->dtype()) && !is_complex(dtype))
    warn(PyExc_UserWarning, "Casting complex values to real discards the imaginary part");
  return wrap(ops::to_dtype(tensor, dtype, copy));
}

// to(dtype), to(device), to(device, dtype), to(other), each also by name.
PyObject* to_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Tensor& tensor = unwrap(self);
    DType dtype = tensor->dtype();
    const bool dtype_first = count > 0 && parse_dtype(arguments[0], &dtype);
    if (dtype_first) {
      const Args args("to", {"dtype", "non_blocking", "copy"}, 1, arguments, count, names);
      return converted(tensor, dtype, args.flag(2, false)).release();
    }
    if (count > 0 && is_tensor(arguments[0])) {
      const Args args("to", {"other", "non_blocking", "copy"}, 1, arguments, count, names);
      return converted(tensor, args.tensor(0)->dtype(), args.flag(2, false)).release();
    }
    const Args args("to", {"device", "dtype", "non_blocking", "copy"}, 0, arguments, count, names);
    args.require_cpu(0);
    return converted(tensor, args.dtype(1, dtype), args.flag(3, false)).release();
  });
}

template <DType dtype>
PyObject* as_dtype(PyObject* self, PyObject*) {
  return guarded([&] { return converted(unwrap(self), dtype).release(); });
}

PyObject* cpu_method(PyObject* self, PyObject*) { return Py_NewRef(self); }

// Returns the legacy name of the type, or converts to a dtype.
PyObject* type_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("type", {"dtype", "non_blocking"}, 0, arguments, count, names);
    const Tensor& tensor = unwrap(self);
    if (!args.has(0)) return PyUnicode_FromString(legacy_type_name(tensor->dtype()));
    return converted(tensor, args.dtype(0, tensor->dtype())).release();
  });
}

PyObject* item_method(PyObject* self, PyObject*) {
  return guarded([&] { return wrap_scalar(ops::item(unwrap(self))).release(); });
}

// Recursion depth: the number of dimensions, at most eight.
Ref nested_list(const TensorImpl& tensor, size_t dim, int64_t index) {
  if (dim == tensor.dim()) return wrap_scalar(ops::element(tensor, index));
  const Py_ssize_t length = static_cast<Py_ssize_t>(tensor.sizes()[dim]);
  Ref list = checked(PyList_New(length));
  for (Py_ssize_t i = 0; i < length; ++i)
    PyList_SET_ITEM(list.get(), i, nested_list(tensor, dim + 1, index + i * tensor.strides()[dim]).release());
  return list;
}

PyObject* tolist_method(PyObject* self, PyObject*) {
  return guarded([&] { return nested_list(*unwrap(self), 0, 0).release(); });
}

PyObject* numpy_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("numpy", {"force"}, 0, arguments, count, names);
    const Tensor& tensor = unwrap(self);
    require(args.flag(0, false) || !grad_enabled() || !requires_grad(tensor),
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
    return array_of(self).release();
  });
}

template <const Dims& (TensorImpl::*dims)() const>
PyObject* one_or_all(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("size", {"dim"}, 0, arguments, count, names);
    const Tensor& tensor = unwrap(self);
    const Dims& all = (tensor.get()->*dims)();
    if (!args.has(0)) return wrap_dims(all).release();
    if (tensor->dim() == 0)
      fail(ErrorKind::index, "Dimension specified as ", args.integer(0, 0), " but tensor has no dimensions");
    return PyLong_FromLongLong(all[static_cast<size_t>(wrap_dim(args.integer(0, 0), tensor->dim()))]);
  });
}

PyObject* stride_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Ref result = checked(one_or_all<&TensorImpl::strides>(self, arguments, count, names));
    return PyTuple_Check(result.get()) ? PySequence_Tuple(result.get()) : Py_NewRef(result.get());
  });
}

template <class Get>
PyObject* number(PyObject* self, Get get) {
  return guarded([&] { return PyLong_FromLongLong(get(unwrap(self))); });
}

PyObject* dim_method(PyObject* self, PyObject*) {
  return number(self, [](const Tensor& tensor) { return static_cast<int64_t>(tensor->dim()); });
}
PyObject* numel_method(PyObject* self, PyObject*) {
  return number(self, [](const Tensor& tensor) { return tensor->numel(); });
}
PyObject* element_size_method(PyObject* self, PyObject*) {
  return number(self, [](const Tensor& tensor) { return static_cast<int64_t>(item_size(tensor->dtype())); });
}
PyObject* storage_offset_method(PyObject* self, PyObject*) {
  return number(self, [](const Tensor& tensor) { return tensor->offset(); });
}
PyObject* data_ptr_method(PyObject* self, PyObject*) {
  return guarded([&] {
    const Tensor& tensor = unwrap(self);
    const int64_t offset = tensor->offset() * static_cast<int64_t>(item_size(tensor->dtype()));
    return PyLong_FromVoidPtr(tensor->numel() != 0 ? static_cast<char*>(tensor->storage()->data()) + offset : nullptr);
  });
}
PyObject* is_contiguous_method(PyObject* self, PyObject*) {
  return guarded([&] { return PyBool_FromLong(unwrap(self)->is_contiguous()); });
}

// `1.0 in tensor`: whether any element equals it.
PyObject* contains_method(PyObject* self, PyObject* element) {
  return guarded([&] {
    Scalar wanted;
    const Tensor& tensor = unwrap(self);
    const bool is_number = parse_number(element, &wanted);
    const Tensor same = is_number ? ops::compare_number(ops::Comparison::eq, tensor, wanted)
                                  : ops::compare(ops::Comparison::eq, tensor, unwrap(element));
    return PyBool_FromLong(ops::item(ops::any(same)).to<bool>());
  });
}

}  // namespace

PyMethodDef value_methods[] = {{"to", as_method(to_method), fast_call, nullptr},
                               {"float", as_dtype<DType::float32>, METH_NOARGS, nullptr},
                               {"double", as_dtype<DType::float64>, METH_NOARGS, nullptr},
                               {"long", as_dtype<DType::int64>, METH_NOARGS, nullptr},
                               {"int", as_dtype<DType::int32>, METH_NOARGS, nullptr},
                               {"bool", as_dtype<DType::boolean>, METH_NOARGS, nullptr},
                               {"cpu", cpu_method, METH_NOARGS, nullptr},
                               {"type", as_method(type_method), fast_call, nullptr},
                               {"item", item_method, METH_NOARGS, nullptr},
                               {"tolist", tolist_method, METH_NOARGS, nullptr},
                               {"numpy", as_method(numpy_method), fast_call, nullptr},
                               {"size", as_method(one_or_all<&TensorImpl::sizes>), fast_call, nullptr},
                               {"stride", as_method(stride_method), fast_call, nullptr},
                               {"dim", dim_method, METH_NOARGS, nullptr},
                               {"numel", numel_method, METH_NOARGS, nullptr},
                               {"element_size", element_size_method, METH_NOARGS, nullptr},
                               {"storage_offset", storage_offset_method, METH_NOARGS, nullptr},
                               {"data_ptr", data_ptr_method, METH_NOARGS, nullptr},
                               {"is_contiguous", is_contiguous_method, METH_NOARGS, nullptr},
                               {"__contains__", contains_method, METH_O, nullptr},
                               {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
