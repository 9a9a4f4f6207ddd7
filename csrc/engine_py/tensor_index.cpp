// Indexing with ints, slices, None and Ellipsis, which gives views; and assignment to what an index names.
#include "engine/ops.hpp"
#include "engine_py/args.hpp"
#include "engine_py/errors.hpp"
#include "engine_py/tables.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {
namespace {

[[noreturn]] void refuse_index(PyObject* index) {
  if (is_tensor(index) || PyList_Check(index) || PyBool_Check(index))
    raise_python(PyExc_NotImplementedError,
                 "gradlife's engine indexes with ints, slices, None and Ellipsis only (got %.200s)",
                 Py_TYPE(index)->tp_name);
  raise_python(PyExc_IndexError,
               "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
               "%.200s)",
               Py_TYPE(index)->tp_name);
}

// A tensor without dimensions may stand for an int.
bool is_integer_index(PyObject* index) {
  if (PyBool_Check(index)) return false;
  if (is_tensor(index)) return unwrap(index)->dim() == 0 && unwrap(index)->dtype() == DType::int64;
  return PyIndex_Check(index) != 0;
}

// `position`: which of several indices this one is, for the error's text.
Tensor select_at(const Tensor& tensor, int64_t dim, PyObject* index, int64_t position = 0) {
  const int64_t at = parse_integer(index);
  if (tensor->dim() == 0 && at == 0)
    fail(ErrorKind::index,
         "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
         "0-dim "
         "tensor to a number");
  // Two ellipses can lead past the last dimension.
  const int64_t size = dim < static_cast<int64_t>(tensor->dim()) ? tensor->sizes()[static_cast<size_t>(dim)] : 0;
  if (at < -size || at >= size)
    fail(ErrorKind::index, "index ", at, " is out of bounds for dimension ", position, " with size ", size);
  return ops::select(tensor, dim, at);
}

// A slice that takes all leaves no node behind, but for one that is read alone: `x[:]`.
enum class WholeSlice : uint8_t { is_view, is_nothing };

Tensor slice_at(const Tensor& tensor, int64_t dim, PyObject* index, WholeSlice whole) {
  Py_ssize_t start, stop, step;
  checked_status(PySlice_Unpack(index, &start, &stop, &step));
  if (step < 1) raise_python(PyExc_ValueError, "step must be greater than zero");
  const bool in_range = dim < static_cast<int64_t>(tensor->dim());
  if (whole == WholeSlice::is_nothing && in_range && start == 0 && step == 1 &&
      stop >= tensor->sizes()[static_cast<size_t>(dim)])
    return tensor;
  return ops::slice(tensor, dim, start, stop, step);
}

// How many of the tensor's own dimensions the indices name.
int64_t named_dims(PyObject* indices) {
  int64_t count = 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(indices); ++i) {
    PyObject* index = PyTuple_GET_ITEM(indices, i);
    count += index != Py_None && index != Py_Ellipsis ? 1 : 0;
  }
  return count;
}

Tensor apply_tuple(const Tensor& tensor, PyObject* indices) {
  const int64_t named = named_dims(indices);
  const int64_t dims = static_cast<int64_t>(tensor->dim());
  if (named > dims) fail(ErrorKind::index, "too many indices for tensor of dimension ", dims);
  Tensor result = tensor;
  int64_t dim = 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(indices); ++i) {
    PyObject* index = PyTuple_GET_ITEM(indices, i);
    if (index == Py_Ellipsis) {
      dim += dims - named;
    } else if (index == Py_None) {
      result = ops::unsqueeze(result, dim++);
    } else if (PySlice_Check(index)) {
      result = slice_at(result, dim++, index, WholeSlice::is_nothing);
    } else if (is_integer_index(index)) {
      result = select_at(result, dim, index, i);
    } else {
      refuse_index(index);
    }
  }
  return result;
}

// The window that an index names; the tensor itself where it names all of it.
Tensor window_at(const Tensor& tensor, PyObject* index, WholeSlice whole) {
  if (index == Py_Ellipsis) return tensor;
  if (index == Py_None) return ops::unsqueeze(tensor, 0);
  if (PySlice_Check(index)) return slice_at(tensor, 0, index, whole);
  if (is_integer_index(index)) return select_at(tensor, 0, index);
  if (PyTuple_Check(index)) return apply_tuple(tensor, index);
  refuse_index(index);
}

Tensor value_for(const Tensor& target, PyObject* value) {
  if (is_tensor(value)) return unwrap(value);
  Scalar number;
  if (!parse_number(value, &number))
    raise_python(PyExc_TypeError, "can't assign a %.200s to a %s", Py_TYPE(value)->tp_name,
                 legacy_type_name(target->dtype()));
  return ops::full({}, number, target->dtype());
}

Dims without_leading_ones(const Dims& sizes) {
  Dims result;
  for (int64_t size : sizes)
    if (size != 1 || !result.empty()) result.push_back(size);
  return result;
}

void assign(const Tensor& target, const Tensor& value) {
  if (target->sizes() == value->sizes()) {
    ops::copy_in_place(target, value);
  } else if (value->dim() == 0) {
    ops::fill_in_place(target, value);
  } else {
    const Tensor source = ops::view(value, without_leading_ones(value->sizes()));
    ops::copy_in_place(target, source->sizes() == target->sizes() ? source : ops::expand(source, target->sizes()));
  }
}

PyObject* get_item(PyObject* self, PyObject* index) {
  return guarded([&] {
    const Tensor& tensor = unwrap(self);
    Tensor result = window_at(tensor, index, WholeSlice::is_view);
    if (result == tensor) result = ops::view_as_itself(tensor);
    return wrap(std::move(result)).release();
  });
}

int set_item(PyObject* self, PyObject* index, PyObject* value) {
  return guarded(-1, [&] {
    if (value == nullptr) raise_python(PyExc_TypeError, "Tensor does not support deleting items");
    const Tensor& tensor = unwrap(self);
    const Tensor source = value_for(tensor, value);
    assign(window_at(tensor, index, WholeSlice::is_nothing), source);
    return 0;
  });
}

Py_ssize_t length(PyObject* self) {
  return guarded(Py_ssize_t{-1}, [&]() -> Py_ssize_t {
    const Tensor& tensor = unwrap(self);
    if (tensor->dim() == 0) raise_python(PyExc_TypeError, "len() of a 0-d tensor");
    return static_cast<Py_ssize_t>(tensor->sizes()[0]);
  });
}

}  // namespace

PyMappingMethods op_mapping = {length, get_item, set_item};

}  // namespace gradlife
