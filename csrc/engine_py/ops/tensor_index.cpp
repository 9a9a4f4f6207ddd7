// Reading and writing elements by index: `x[...]` and `x[...] = y`.
#include "engine/ops/index.hpp"
#include "engine/ops/ops.hpp"
#include "engine/policy/traits.hpp"
#include "engine_py/call/args.hpp"
#include "engine_py/call/methods.hpp"
#include "engine_py/call/tables.hpp"
#include "engine_py/call/torch_function.hpp"
#include "engine_py/call/warnings.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

// `window[indices]` is selected. Without indices, the whole window is.
struct ParsedIndex {
  Tensor window;
  TensorList indices;  // undefined: the whole dimension
};

// True if a full slice records no node: only if it is the only index (`x[:]`).
enum class WholeSlice : uint8_t { is_view, is_nothing };

[[noreturn]] void refuse_index(PyObject* index) {
  raise_python(PyExc_IndexError,
               "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
               "%.200s)",
               Py_TYPE(index)->tp_name);
}

bool is_integer(PyObject* index) {
  return PyIndex_Check(index) != 0 && !PyBool_Check(index) && !is_tensor(index) && !is_array(index);
}

// Whether a tensor without dimensions may stand for an int, or for True or False.
bool is_scalar_tensor(PyObject* index, bool of_bool) {
  if (!is_tensor(index) || unwrap(index)->dim() != 0) return false;
  const DType dtype = unwrap(index)->dtype();
  return of_bool ? dtype == DType::boolean : !is_floating(dtype) && dtype != DType::boolean;
}

// `position`: the number of this index among several, for the error message.
Tensor select_at(const Tensor& tensor, int64_t dim, PyObject* index, int64_t position = 0) {
  const int64_t at = parse_integer(index);
  if (tensor->dim() == 0 && at == 0)
    fail(ErrorKind::index,
         "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
         "0-dim tensor to a number");
  // Two ellipses can lead past the last dimension.
  const int64_t size = dim < static_cast<int64_t>(tensor->dim()) ? tensor->sizes()[static_cast<size_t>(dim)] : 0;
  if (at < -size || at >= size)
    fail(ErrorKind::index, "index ", at, " is out of bounds for dimension ", position, " with size ", size);
  return ops::select(tensor, dim, at);
}

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

// Converts a list, a range or an array to an index tensor. An empty one selects nothing, whatever its dtype.
Tensor tensor_of(PyObject* sequence) {
  if (is_array(sequence)) return tensor_from_array(sequence);
  const Ref items = checked(PySequence_List(sequence));
  const Tensor tensor = tensor_from_data(items.get(), nullptr);
  if (!is_floating(tensor->dtype())) return tensor;
  return ops::to_dtype(tensor, DType::int64);
}

bool is_true(PyObject* index) { return is_tensor(index) ? ops::item(unwrap(index)).to<bool>() : index == Py_True; }

// An index into a dimension of size 1: its only element, or none.
Tensor index_of(bool truth) {
  const Tensor index = empty({truth ? 1 : 0}, DType::int64);
  return truth ? ops::zero_in_place(index) : index;
}

// Reads the parts of an index from left to right.
class Parser {
 public:
  Parser(const Tensor& tensor, int64_t named) : dims_(static_cast<int64_t>(tensor->dim())), named_(named) {
    parsed_.window = tensor;
  }
  void read(PyObject* index, int64_t position) {
    Tensor& window = parsed_.window;
    if (index == Py_Ellipsis) {
      dim_ += dims_ - named_;
    } else if (index == Py_None) {
      window = ops::unsqueeze(window, dim_++);
    } else if (PySlice_Check(index)) {
      window = slice_at(window, dim_++, index, WholeSlice::is_nothing);
    } else if (is_integer(index) || is_scalar_tensor(index, false)) {
      window = select_at(window, dim_, index, position);
    } else if (PyBool_Check(index) || is_scalar_tensor(index, true)) {
      window = ops::unsqueeze(window, dim_);
      put(index_of(is_true(index)));
    } else if (is_tensor(index)) {
      put(unwrap(index));
    } else if (PySequence_Check(index)) {
      put(tensor_of(index));
    } else {
      refuse_index(index);
    }
  }
  ParsedIndex result() { return std::move(parsed_); }

 private:
  void put(const Tensor& index) {
    const size_t at = static_cast<size_t>(dim_);
    if (parsed_.indices.size() <= at) parsed_.indices.resize(at + 1);
    parsed_.indices[at] = index;
    dim_ += index->dtype() == DType::boolean ? static_cast<int64_t>(index->dim()) : 1;
  }

  ParsedIndex parsed_;
  int64_t dim_ = 0;
  int64_t dims_;
  int64_t named_;
};

// The number of the tensor's dimensions that the indices consume.
int64_t named_dims(PyObject* indices) {
  int64_t count = 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(indices); ++i) {
    PyObject* index = PyTuple_GET_ITEM(indices, i);
    if (index == Py_None || index == Py_Ellipsis || PyBool_Check(index)) continue;
    const bool is_mask = is_tensor(index) && unwrap(index)->dtype() == DType::boolean;
    count += is_mask ? static_cast<int64_t>(unwrap(index)->dim()) : 1;
  }
  return count;
}

ParsedIndex parse_tuple(const Tensor& tensor, PyObject* indices) {
  const int64_t named = named_dims(indices);
  const int64_t dims = static_cast<int64_t>(tensor->dim());
  if (named > dims) fail(ErrorKind::index, "too many indices for tensor of dimension ", dims);
  Parser parser(tensor, named);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(indices); ++i) parser.read(PyTuple_GET_ITEM(indices, i), i);
  return parser.result();
}

// Whether a short sequence that holds sequences, slices or tensors is taken for a tuple, as old numpy did.
bool is_tuple_like(PyObject* index) {
  if (PyTuple_Check(index)) return true;
  if (is_tensor(index) || is_array(index) || !PySequence_Check(index)) return false;
  const Py_ssize_t length = PySequence_Size(index);
  if (length < 0) drop_error();
  if (length < 0 || length >= 32) return false;
  for (Py_ssize_t i = 0; i < length; ++i) {
    const Ref item = checked(PySequence_GetItem(index, i));
    PyObject* part = item.get();
    const bool is_part_of_tuple =
        is_tensor(part) || PySequence_Check(part) || PySlice_Check(part) || part == Py_Ellipsis || part == Py_None;
    if (!is_part_of_tuple) continue;
    if (has(*current_policy(), traits::warns_of_sequence_index))
      warn(PyExc_UserWarning,
           "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; "
           "use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, "
           "x[torch.tensor(seq)], which will result either in an error or a different result");
    return true;
  }
  return false;
}

// TypeError and IndexError in PyTorch's words.
ParsedIndex parse_index(const Tensor& tensor, PyObject* index, WholeSlice whole) {
  if (index == Py_Ellipsis) return {tensor, {}};
  if (index == Py_None) return {ops::unsqueeze(tensor, 0), {}};
  if (PySlice_Check(index)) return {slice_at(tensor, 0, index, whole), {}};
  if (is_integer(index)) return {select_at(tensor, 0, index), {}};
  const Ref parts = is_tuple_like(index) ? checked(PySequence_Tuple(index)) : checked(PyTuple_Pack(1, index));
  return parse_tuple(tensor, parts.get());
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

// Returns values for index tensors without the leading dimensions of size 1, which broadcasting would add anyway.
Tensor fitted(const Tensor& value) {
  const Dims sizes = without_leading_ones(value->sizes());
  return sizes == value->sizes() ? value : ops::view(value, sizes);
}

void assign(const Tensor& target, const Tensor& value) {
  if (target->sizes() == value->sizes()) {
    ops::copy_in_place(target, value);
  } else if (value->dim() == 0) {
    has(*current_policy(), traits::assigned_scalar_keeps_graph) ? ops::fill_in_place(target, value)
                                                                : ops::fill_in_place(target, ops::item(value));
  } else {
    const Tensor source = ops::view(value, without_leading_ones(value->sizes()));
    ops::copy_in_place(target, source->sizes() == target->sizes() ? source : ops::expand(source, target->sizes()));
  }
}

PyObject* get_item(PyObject* self, PyObject* index) {
  return guarded([&] {
    if (one_overrides({self, index})) return ask_classes("__getitem__", {self, index});
    const Tensor& tensor = unwrap(self);
    ParsedIndex parsed = parse_index(tensor, index, WholeSlice::is_view);
    if (!parsed.indices.empty()) return wrap(ops::index(parsed.window, parsed.indices)).release();
    if (parsed.window == tensor) parsed.window = ops::view_as_itself(tensor);
    return wrap(std::move(parsed.window)).release();
  });
}

int set_item(PyObject* self, PyObject* index, PyObject* value) {
  return guarded(-1, [&] {
    if (value == nullptr) raise_python(PyExc_TypeError, "Tensor does not support deleting items");
    if (one_overrides({self, index, value})) {
      Py_DECREF(ask_classes("__setitem__", {self, index, value}));
      return 0;
    }
    const Tensor& tensor = unwrap(self);
    const Tensor source = value_for(tensor, value);
    if (index == Py_False) return 0;
    const bool may_be_whole = has(*current_policy(), traits::assigned_slice_may_be_whole);
    const WholeSlice whole = may_be_whole ? WholeSlice::is_nothing : WholeSlice::is_view;
    const ParsedIndex parsed =
        index == Py_True ? ParsedIndex{ops::unsqueeze(tensor, 0), {}} : parse_index(tensor, index, whole);
    if (parsed.indices.empty()) {
      assign(parsed.window, source);
    } else {
      warn_of_expanded(*parsed.window, "index_put_", indexed_assignment);
      ops::index_put_in_place(parsed.window, parsed.indices, fitted(source));
    }
    return 0;
  });
}

Py_ssize_t length(PyObject* self) {
  return guarded(Py_ssize_t{-1}, [&]() -> Py_ssize_t {
    if (overrides(self)) {
      const Py_ssize_t answer =
          PyNumber_AsSsize_t(Ref::steal(ask_classes("__len__", {self})).get(), PyExc_OverflowError);
      if (answer < 0 && PyErr_Occurred() == nullptr) raise_python(PyExc_ValueError, "__len__() should return >= 0");
      return answer;
    }
    const Tensor& tensor = unwrap(self);
    if (tensor->dim() == 0) raise_python(PyExc_TypeError, "len() of a 0-d tensor");
    return static_cast<Py_ssize_t>(tensor->sizes()[0]);
  });
}

}  // namespace

PyMappingMethods op_mapping = {length, get_item, set_item};

}  // namespace gradlife
