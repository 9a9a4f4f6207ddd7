#include "engine_py/call/args.hpp"

#include <cstring>

#include "engine/ops/ops.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

size_t position_of(PyObject* name, const std::array<const char*, 9>& parameters, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (PyUnicode_CompareWithASCIIString(name, parameters[i]) == 0) return i;
  // PyTorch also accepts numpy's word for a dimension.
  if (PyUnicode_CompareWithASCIIString(name, "axis") == 0)
    for (size_t i = 0; i < count; ++i)
      if (std::strcmp(parameters[i], "dim") == 0) return i;
  return count;
}

[[noreturn]] void refuse_out(const char* function) {
  raise_python(PyExc_RuntimeError, "%s(): gradlife's engine gives results, it does not write them into out=", function);
}

}  // namespace

const char* short_name(PyObject* object) {
  const char* name = Py_TYPE(object)->tp_name;
  const char* dot = std::strrchr(name, '.');
  return dot != nullptr ? dot + 1 : name;
}

Args::Args(const char* function, std::initializer_list<const char*> parameters, size_t required,
           PyObject* const* arguments, Py_ssize_t count, PyObject* names)
    : function_(function) {
  for (const char* parameter : parameters) parameters_[count_++] = parameter;
  const size_t given = static_cast<size_t>(count);
  if (given > count_)
    raise_python(PyExc_TypeError, "%s() takes %s%zu positional argument%s but %zu %s given", function,
                 required != count_ ? concat("from ", required, " to ").c_str() : "", count_,
                 count_ == 1 && required == 1 ? "" : "s", given, given == 1 ? "was" : "were");
  for (size_t i = 0; i < given; ++i) values_[i] = arguments[i];
  const Py_ssize_t named = names != nullptr ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* name = PyTuple_GET_ITEM(names, i);
    const size_t at = position_of(name, parameters_, count_);
    if (at == count_ && PyUnicode_CompareWithASCIIString(name, "out") == 0) refuse_out(function);
    if (at == count_) raise_python(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", function, name);
    if (values_[at] != nullptr)
      raise_python(PyExc_TypeError, "%s() got multiple values for argument '%U'", function, name);
    values_[at] = arguments[count + i];
  }
  for (size_t i = 0; i < required; ++i)
    if (values_[i] == nullptr)
      raise_python(PyExc_TypeError, "%s() missing %zu required positional arguments: \"%s\"", function, required - i,
                   parameters_[i]);
}

void Args::wrong_type(size_t i, const char* expected) const {
  raise_python(PyExc_TypeError, "%s(): argument '%s' (position %zu) must be %s, not %s", function_, parameters_[i],
               i + 1, expected, short_name(values_[i]));
}

int64_t Args::integer(size_t i, int64_t fallback) const {
  if (!has(i)) return fallback;
  if (!PyIndex_Check(values_[i]) || PyBool_Check(values_[i])) wrong_type(i, "int");
  return parse_integer(values_[i]);
}

double Args::real(size_t i, double fallback) const { return number(i, fallback).to<double>(); }

bool Args::flag(size_t i, bool fallback) const {
  if (!has(i)) return fallback;
  if (!PyBool_Check(values_[i])) wrong_type(i, "bool");
  return values_[i] == Py_True;
}

Scalar Args::number(size_t i, const Scalar& fallback) const {
  Scalar result = fallback;
  if (!has(i) || parse_number(values_[i], &result)) return result;
  // A tensor with one element and no dimensions stands for that number, unless a gradient would be lost.
  const bool stands_for_one =
      is_tensor(values_[i]) && unwrap(values_[i])->dim() == 0 && !requires_grad(unwrap(values_[i]));
  if (!stands_for_one) wrong_type(i, "Number");
  return ops::item(unwrap(values_[i]));
}

DType Args::dtype(size_t i, DType fallback) const {
  DType result = fallback;
  if (!has(i) || parse_dtype(values_[i], &result)) return result;
  raise_python(PyExc_TypeError, "%s(): argument '%s' must be torch.dtype, not %s", function_, parameters_[i],
               short_name(values_[i]));
}

Dims Args::dims(size_t i) const {
  if (!PyIndex_Check(values_[i]) && !is_sequence(values_[i])) wrong_type(i, "tuple of ints");
  return parse_dims(values_[i]);
}

const Tensor& Args::tensor(size_t i) const {
  if (!is_tensor(values_[i])) wrong_type(i, "Tensor");
  return unwrap(values_[i]);
}

TensorList Args::tensors(size_t i) const {
  if (!is_sequence(values_[i])) wrong_type(i, "tuple of Tensors");
  const Ref items = checked(PySequence_Fast(values_[i], ""));
  TensorList result;
  for (Py_ssize_t at = 0; at < PySequence_Fast_GET_SIZE(items.get()); ++at) {
    PyObject* item = PySequence_Fast_GET_ITEM(items.get(), at);
    if (!is_tensor(item))
      raise_python(PyExc_TypeError, "expected Tensor as element %zd in argument %zu, but got %s", at, i,
                   short_name(item));
    result.push_back(unwrap(item));
  }
  return result;
}

void Args::require_cpu(size_t i) const {
  if (!has(i) || state().cpu_device == nullptr) return;
  const int same = PyObject_RichCompareBool(state().cpu_device, values_[i], Py_EQ);
  checked_status(same);
  if (same == 0) raise_python(PyExc_RuntimeError, "gradlife's engine has no device '%S', only 'cpu'", values_[i]);
}

namespace {

Scalar parse_whole_number(PyObject* object) {
  const Ref number = checked(PyNumber_Index(object));
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (overflow == 0) return Scalar(static_cast<int64_t>(value));
  const unsigned long long unsigned_value = PyLong_AsUnsignedLongLong(number.get());
  if (PyErr_Occurred() != nullptr) throw PythonError();
  return Scalar::unsigned_integer(unsigned_value);
}

}  // namespace

bool is_numpy_scalar(PyObject* object) { return std::strncmp(Py_TYPE(object)->tp_name, "numpy.", 6) == 0; }

bool parse_number(PyObject* object, Scalar* number) {
  if (PyFloat_Check(object)) {
    *number = Scalar(PyFloat_AS_DOUBLE(object));
  } else if (PyComplex_CheckExact(object)) {
    *number = Scalar::complex(PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object));
  } else if (PyBool_Check(object)) {
    *number = Scalar::boolean(object == Py_True);
  } else if (PyLong_Check(object)) {
    *number = parse_whole_number(object);
  } else if (!is_numpy_scalar(object) || Py_TYPE(object)->tp_as_number == nullptr || is_sequence(object)) {
    return false;
  } else if (PyIndex_Check(object) && std::strcmp(Py_TYPE(object)->tp_name, "numpy.ndarray") != 0) {
    *number = parse_whole_number(object);
  } else if (Py_TYPE(object)->tp_as_number->nb_float != nullptr &&
             std::strcmp(Py_TYPE(object)->tp_name, "numpy.ndarray") != 0) {
    const Ref converted = checked(PyNumber_Float(object));
    *number = Scalar(PyFloat_AS_DOUBLE(converted.get()));
  } else {
    return false;
  }
  return true;
}

bool is_sequence(PyObject* object) { return PyTuple_Check(object) || PyList_Check(object); }

Dims parse_sizes(PyObject* const* arguments, Py_ssize_t count) {
  if (count == 1 && is_sequence(arguments[0])) return parse_dims(arguments[0]);
  Dims sizes;
  for (Py_ssize_t i = 0; i < count; ++i) sizes.push_back(parse_integer(arguments[i]));
  return sizes;
}

Ref wrap_scalar(const Scalar& scalar) {
  if (scalar.kind == Scalar::Kind::complex) return checked(PyComplex_FromDoubles(scalar.real, scalar.imaginary));
  if (scalar.kind == Scalar::Kind::real) return checked(PyFloat_FromDouble(scalar.real));
  if (scalar.kind == Scalar::Kind::integer) return checked(PyLong_FromLongLong(scalar.integer));
  return Ref::borrow(scalar.integer != 0 ? Py_True : Py_False);
}

Ref wrap_tuple(const TensorList& tensors) {
  return make_tuple(tensors.size(), [&](size_t i) { return wrap(tensors[i]); });
}

}  // namespace gradlife
