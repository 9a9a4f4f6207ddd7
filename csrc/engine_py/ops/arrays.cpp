// Memory shared with numpy in both directions, by the array interface protocol, which needs no numpy headers.
#include <string>

#include "engine/ops/ops.hpp"
#include "engine/policy/traits.hpp"
#include "engine_py/call/methods.hpp"
#include "engine_py/call/warnings.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"
#include "engine_py/wrappers/objects.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

// Returns numpy.ndarray, or empty if numpy is not imported: then nothing can be an array.
Ref array_type() {
  PyObject* modules = PyImport_GetModuleDict();
  const Ref numpy = dict_item(modules, "numpy");
  if (!numpy) return {};
  return checked(PyObject_GetAttrString(numpy.get(), "ndarray"));
}

struct Interface {
  Dims sizes;
  Dims strides;  // in bytes
  std::string type;
  void* data = nullptr;
  bool is_read_only = false;
};

// A subclass of numpy's array may describe itself arbitrarily.
Ref entry(Borrowed dict, const char* name) {
  if (PyDict_Check(dict.get()) == 0) raise_python(PyExc_TypeError, "__array_interface__ is no dict");
  return dict_item(dict, name);
}

Ref required_entry(Borrowed dict, const char* name) {
  Ref value = entry(dict, name);
  if (!value) raise_python(PyExc_ValueError, "__array_interface__ has no '%s'", name);
  return value;
}

Dims byte_strides(PyObject* given, const Dims& sizes, int64_t item) {
  if (given != nullptr && given != Py_None) return parse_dims(given);
  Dims strides = contiguous_strides(sizes);
  for (int64_t& stride : strides) stride *= item;
  return strides;
}

Interface read_interface(PyObject* array) {
  const Ref dict = checked(PyObject_GetAttrString(array, "__array_interface__"));
  Interface result;
  const Ref type = required_entry(dict.get(), "typestr");
  const char* text = PyUnicode_AsUTF8(type.get());
  if (text == nullptr) throw PythonError();
  result.type = text;
  result.sizes = parse_dims(required_entry(dict.get(), "shape").get());
  const int64_t item = result.type.size() > 2 ? std::stoll(result.type.substr(2)) : 1;
  result.strides = byte_strides(entry(dict.get(), "strides").get(), result.sizes, item);
  const Ref data = required_entry(dict.get(), "data");
  PyObject* address;
  int is_read_only;
  if (!PyArg_Parse(data.get(), "(O!p)", &PyLong_Type, &address, &is_read_only)) throw PythonError();
  result.data = PyLong_AsVoidPtr(address);
  if (PyErr_Occurred() != nullptr) throw PythonError();
  result.is_read_only = is_read_only != 0;
  return result;
}

DType dtype_of(const Interface& interface, PyObject* array) {
  if (interface.type[0] == '>')
    raise_python(
        PyExc_ValueError,
        "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
        "currently not supported.");
  const std::string kind = interface.type.substr(1);
  if (kind == "f4") return DType::float32;
  if (kind == "f8") return DType::float64;
  if (kind == "i8") return DType::int64;
  if (kind == "i4") return DType::int32;
  if (kind == "b1") return DType::boolean;
  if (kind == "c8") return DType::complex64;
  if (kind == "c16") return DType::complex128;
  const Ref dtype = checked(PyObject_GetAttrString(array, "dtype"));
  const Ref type = checked(PyObject_GetAttrString(dtype.get(), "type"));
  raise_python(
      PyExc_TypeError,
      "can't convert np.ndarray of type %.200s. The only types that gradlife's engine supports are: float64, float32, "
      "int64, int32, and bool.",
      reinterpret_cast<PyTypeObject*>(type.get())->tp_name);
}

Dims element_strides(const Interface& interface, int64_t item) {
  Dims strides(interface.strides.size());
  for (size_t i = 0; i < strides.size(); ++i) {
    if (interface.strides[i] < 0)
      raise_python(
          PyExc_ValueError,
          "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
          "currently supported. (You can probably work around this by making a copy of your array  with "
          "array.copy().) ");
    if (interface.strides[i] % item != 0)
      raise_python(
          PyExc_ValueError,
          "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the "
          "memory.");
    strides[i] = interface.strides[i] / item;
  }
  return strides;
}

// Bytes from the first element to the end of the last.
size_t byte_count(const Dims& sizes, const Dims& strides, int64_t item) {
  int64_t count = 1;
  for (size_t i = 0; i < sizes.size(); ++i) count += (sizes[i] - 1) * strides[i];
  return sizes.product() == 0 ? 0 : static_cast<size_t>(count * item);
}

const char* type_text(DType dtype) {
  static constexpr const char* names[] = {"<f4", "<f8", "<i8", "|b1", "<i4", "<c8", "<c16"};
  return names[static_cast<size_t>(dtype)];
}

Ref interface_of(const TensorImpl& tensor) {
  const int64_t item = static_cast<int64_t>(item_size(tensor.dtype()));
  Dims strides = tensor.strides();
  for (int64_t& stride : strides) stride *= item;
  const Ref shape = wrap_dims(tensor.sizes());
  const Ref steps = wrap_dims(strides);
  const Ref address =
      checked(PyLong_FromVoidPtr(static_cast<char*>(tensor.storage()->data()) + tensor.offset() * item));
  return checked(Py_BuildValue("{s:s,s:O,s:O,s:(OO),s:i}", "typestr", type_text(tensor.dtype()), "shape", shape.get(),
                               "strides", steps.get(), "data", address.get(), Py_False, "version", 3));
}

}  // namespace

bool is_array(PyObject* object) {
  const Ref type = array_type();
  if (!type) return false;
  return PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(type.get())) != 0;
}

Tensor tensor_from_array(PyObject* array) {
  if (!is_array(array)) raise_python(PyExc_TypeError, "expected np.ndarray (got %.200s)", Py_TYPE(array)->tp_name);
  const Interface interface = read_interface(array);
  const DType dtype = dtype_of(interface, array);
  const int64_t item = static_cast<int64_t>(item_size(dtype));
  const Dims strides = element_strides(interface, item);
  if (interface.is_read_only)
    warn(PyExc_UserWarning,
         "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing "
         "to this tensor will result in undefined behavior. You may want to copy the array to protect its data or make "
         "it writable before converting it to a tensor.");
  const size_t bytes = byte_count(interface.sizes, strides, item);
  StoragePtr storage = make<Storage>(interface.data, bytes, Handle::borrow(array));
  return make<TensorImpl>(std::move(storage), dtype, interface.sizes, strides, 0);
}

// The array's base is a detached tensor, from 1.2 to 1.10 the tensor itself. It describes its memory only while numpy
// asks.
Ref array_of(PyObject* self) {
  const Tensor& tensor = unwrap(self);
  const Policy& policy = tensor->policy();
  require(!tensor->is_conjugate(),
          "Can't call numpy() on Tensor that has conjugate bit set. Use tensor.resolve_conj().numpy() instead.");
  const Ref numpy = Ref::steal(PyImport_ImportModule("numpy"));
  if (!numpy) {
    drop_error();
    fail(ErrorKind::runtime, "Numpy is not available");
  }
  // A wrapper that has attributes, even under OneFlow's policies.
  PyTypeObject* type = reinterpret_cast<PyTypeObject*>(state().tensor_class);
  const bool is_base = has(policy, traits::array_base_is_tensor);
  const Ref owner = is_base ? Ref::borrow(self) : new_wrapper(detach(tensor).detach(), type);
  checked_status(PyObject_SetAttrString(owner.get(), "__array_interface__", interface_of(*tensor).get()));
  Ref array = checked(PyObject_CallMethod(numpy.get(), "asarray", "O", owner.get()));
  checked_status(PyObject_DelAttrString(owner.get(), "__array_interface__"));
  tensor->storage()->forbid_growth();  // the array points into it
  return array;
}

}  // namespace gradlife
