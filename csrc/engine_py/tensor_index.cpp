// Indexing: views where an index names a window, copies where index tensors do; and assignment to either.
#include "engine/indexing.hpp"
#include "engine_py/args.hpp"
#include "engine_py/errors.hpp"
#include "engine_py/index_parser.hpp"
#include "engine_py/tables.hpp"
#include "engine_py/warnings.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {
namespace {

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

// Values for index tensors: without the leading dimensions of size 1 that broadcasting would add anyway.
Tensor fitted(const Tensor& value) {
  const Dims sizes = without_leading_ones(value->sizes());
  return sizes == value->sizes() ? value : ops::view(value, sizes);
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
    ParsedIndex parsed = parse_index(tensor, index, WholeSlice::is_view);
    if (!parsed.indices.empty()) return wrap(ops::index(parsed.window, parsed.indices)).release();
    if (parsed.window == tensor) parsed.window = ops::view_as_itself(tensor);
    return wrap(std::move(parsed.window)).release();
  });
}

int set_item(PyObject* self, PyObject* index, PyObject* value) {
  return guarded(-1, [&] {
    if (value == nullptr) raise_python(PyExc_TypeError, "Tensor does not support deleting items");
    const Tensor& tensor = unwrap(self);
    const Tensor source = value_for(tensor, value);
    if (index == Py_False) return 0;
    const ParsedIndex parsed = index == Py_True ? ParsedIndex{ops::unsqueeze(tensor, 0), {}}
                                                : parse_index(tensor, index, WholeSlice::is_nothing);
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
    const Tensor& tensor = unwrap(self);
    if (tensor->dim() == 0) raise_python(PyExc_TypeError, "len() of a 0-d tensor");
    return static_cast<Py_ssize_t>(tensor->sizes()[0]);
  });
}

}  // namespace

PyMappingMethods op_mapping = {length, get_item, set_item};

}  // namespace gradlife
