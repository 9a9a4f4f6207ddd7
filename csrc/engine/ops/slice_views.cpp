// Views of a part: one index, a slice. Their gradients put the part back into zeros.
#include <algorithm>

#include "engine/backward/op_node.hpp"
#include "engine/ops/kernels/strided_loops.hpp"
#include "engine/ops/ops.hpp"

namespace gradlife::ops {
namespace {

struct Selection {
  int64_t dim;
  int64_t index;
};

struct Slicing {
  int64_t dim;
  int64_t start;
  int64_t end;
  int64_t step;
};

Tensor part_of(const Tensor& whole, const Selection& part) { return select(whole, part.dim, part.index); }
Tensor part_of(const Tensor& whole, const Slicing& part) {
  return slice(whole, part.dim, part.start, part.end, part.step);
}

// Node of `put_back`: the part's gradient is that part of the whole's.
struct PutBackSelection : Selection {
  inline static const NodeSpec& spec =
      node_spec("SelectBackwardBackward0", {saved_number("dim"), saved_number("index")});
  SavedValue value(size_t field) const { return saved(field == 0 ? dim : index); }
  Tensor gradient(const Tensor& gradient) const { return part_of(gradient, *this); }
};

struct PutBackSlice : Slicing {
  inline static const NodeSpec& spec =
      node_spec("SliceBackwardBackward0",
                {saved_number("dim"), saved_number("end"), saved_number("start"), saved_number("step")});
  SavedValue value(size_t field) const {
    const int64_t values[] = {dim, end, start, step};
    return saved(values[field]);
  }
  Tensor gradient(const Tensor& gradient) const { return part_of(gradient, *this); }
};

// Returns zeros with the gradient in place of the part.
template <class Part>
Tensor put_back(const Tensor& gradient, const Dims& sizes, const Part& part) {
  Tensor whole = full(sizes, 0, gradient->dtype());
  {
    const GradMode no_grad(false);
    kernels::copy(*part_of(whole, part), *gradient);
  }
  return recorded(std::move(whole), gradient, part);
}

struct Selected {
  Selection part;
  Dims sizes;
  inline static const NodeSpec& spec =
      node_spec("SelectBackward0", {saved_number("dim"), saved_number("index"), saved_number("self_sym_sizes")});
  SavedValue value(size_t field) const {
    return field == 0 ? saved(part.dim) : field == 1 ? saved(part.index) : saved(sizes);
  }
  Tensor gradient(const Tensor& gradient) const { return put_back(gradient, sizes, PutBackSelection{part}); }
};

struct Sliced {
  Slicing part;
  Dims sizes;
  inline static const NodeSpec& spec =
      node_spec("SliceBackward0", {saved_number("dim"), saved_number("end"), saved_number("self_sym_sizes"),
                                   saved_number("start"), saved_number("step")});
  SavedValue value(size_t field) const {
    if (field == 2) return saved(sizes);
    const int64_t values[] = {part.dim, part.end, 0, part.start, part.step};
    return saved(values[field]);
  }
  Tensor gradient(const Tensor& gradient) const { return put_back(gradient, sizes, PutBackSlice{part}); }
};

}  // namespace

Tensor select(const Tensor& a, int64_t dim, int64_t index) {
  refuse_forbidden_view_of(a);
  if (a->dim() == 0) fail(ErrorKind::index, "select() cannot be applied to a 0-dim tensor.");
  const size_t at = static_cast<size_t>(wrap_dim(dim, a->dim()));
  const int64_t size = a->sizes()[at];
  if (index < -size || index >= size)
    fail(ErrorKind::index, "select(): index ", index, " out of range for tensor of size ", a->sizes(), " at dimension ",
         at);
  Dims sizes = a->sizes();
  Dims strides = a->strides();
  sizes.erase(at);
  strides.erase(at);
  const int64_t offset = a->offset() + (index < 0 ? index + size : index) * a->strides()[at];
  const ViewFromWatcher answer("select.int", a, dim, index);
  return made_by(recorded(make_view(a, sizes, strides, offset), a, Selected{{dim, index}, a->sizes()}), a,
                 [dim, index](const Tensor& t) { return select(t, dim, index); });
}

Tensor slice(const Tensor& a, int64_t dim, int64_t start, int64_t end, int64_t step) {
  refuse_forbidden_view_of(a);
  if (a->dim() == 0) fail(ErrorKind::index, "slice() cannot be applied to a 0-dim tensor.");
  require(step > 0, "slice step must be positive");
  const size_t at = static_cast<size_t>(wrap_dim(dim, a->dim()));
  const int64_t size = a->sizes()[at];
  const int64_t first = std::clamp<int64_t>(start < 0 ? start + size : start, 0, size);
  const int64_t last = std::clamp<int64_t>(end < 0 ? end + size : end, first, size);
  Dims sizes = a->sizes();
  Dims strides = a->strides();
  sizes[at] = last > first ? (last - first - 1) / step + 1 : 0;
  strides[at] *= step;
  const int64_t offset = a->offset() + first * a->strides()[at];
  const ViewFromWatcher answer("slice.Tensor", a, dim, start, end, step);
  return made_by(recorded(make_view(a, sizes, strides, offset), a, Sliced{{dim, start, end, step}, a->sizes()}), a,
                 [=](const Tensor& t) { return slice(t, dim, start, end, step); });
}

Tensor narrow(const Tensor& a, int64_t dim, int64_t start, int64_t length) {
  require(a->dim() > 0, "narrow() cannot be applied to a 0-dim tensor.");
  require(length >= 0, "narrow(): length must be non-negative.");
  const int64_t size = a->sizes()[static_cast<size_t>(wrap_dim(dim, a->dim()))];
  if (start < -size || start > size)
    fail(ErrorKind::index, "start out of range (expected to be in range of [", -size, ", ", size, "], but got ", start,
         ")");
  const int64_t first = start < 0 ? start + size : start;
  require(first <= size - length, "start (", first, ") + length (", length, ") exceeds dimension size (", size, ").");
  return slice(a, dim, first, first + length, 1);
}

}  // namespace gradlife::ops
