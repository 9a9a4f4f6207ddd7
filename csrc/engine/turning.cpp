// flip and roll: the same elements in another order along dimensions.
#include "engine/rearranging.hpp"

namespace gradlife::ops {
namespace {

struct Flipped {
  Dims dims;
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("FlipBackward0", {saved_number("dims")});
    return spec;
  }
  SavedValue value(size_t) const { return saved(dims); }
  Tensor gradient(const Tensor& gradient) const { return flip(gradient, dims); }
};

// Rolling back runs through the dimensions in reverse.
struct Rolled {
  Dims shifts;
  Dims dims;
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("RollBackward0", {saved_number("dims"), saved_number("shifts")});
    return spec;
  }
  SavedValue value(size_t field) const { return saved(field == 0 ? dims : shifts); }
  Tensor gradient(const Tensor& gradient) const {
    Dims back;
    Dims back_dims;
    for (size_t i = shifts.size(); i-- > 0;) back.push_back(-shifts[i]);
    for (size_t i = dims.size(); i-- > 0;) back_dims.push_back(dims[i]);
    return roll(gradient, back, back_dims);
  }
};

std::array<bool, max_dims> each_once(const Dims& dims, size_t count) {
  std::array<bool, max_dims> is_named{};
  for (int64_t given : dims) {
    const size_t dim = static_cast<size_t>(wrap_dim(given, count));
    require(!is_named[dim], "dim ", dim, " appears multiple times in the list of dims");
    is_named[dim] = true;
  }
  return is_named;
}

// to[...] = from[...] with the source's window moved along one dimension by `shift`.
void roll_along(const TensorImpl& to, const TensorImpl& from, size_t dim, int64_t shift) {
  const int64_t size = from.sizes()[dim];
  const int64_t by = size == 0 ? 0 : ((shift % size) + size) % size;
  const auto part = [dim](const TensorImpl& tensor, int64_t start, int64_t length) {
    Dims sizes = tensor.sizes();
    sizes[dim] = length;
    return make<TensorImpl>(tensor.storage(), tensor.dtype(), sizes, tensor.strides(),
                            tensor.offset() + start * tensor.strides()[dim]);
  };
  kernels::copy(*part(to, by, size - by), *part(from, 0, size - by));
  kernels::copy(*part(to, 0, by), *part(from, size - by, by));
}

Tensor rolled(const Tensor& a, const Dims& shifts, const Dims& dims) {
  Tensor result = copy_raw(a);
  for (size_t i = 0; i < dims.size() && a->dim() > 0; ++i) {
    Tensor next = empty(a->sizes(), a->dtype());
    roll_along(*next, *result, static_cast<size_t>(wrap_dim(dims[i], a->dim())), shifts[i]);
    result = std::move(next);
  }
  return result;
}

Tensor rolled_in_row(const Tensor& a, int64_t shift) {
  const Tensor plain = copy_raw(a);
  const Tensor row = alias(plain, {a->numel()}, {1}, 0);
  return alias(rolled(row, {shift}, {0}), a->sizes(), contiguous_strides(a->sizes()), 0);
}

}  // namespace

Tensor flip(const Tensor& a, const Dims& dims) {
  refuse_forbidden_view_of(a);
  const std::array<bool, max_dims> is_flipped = each_once(dims, a->dim());
  Tensor result = kernels::allocate_like(*a, a->dtype());
  // Read forwards, written from the other end: with negative strides from the last place on.
  int64_t offset = 0;
  Dims strides = result->strides();
  for (size_t dim = 0; dim < a->dim(); ++dim) {
    if (!is_flipped[dim] || a->numel() == 0) continue;
    offset += (a->sizes()[dim] - 1) * strides[dim];
    strides[dim] = -strides[dim];
  }
  if (a->numel() != 0) {
    const Dims& from_strides = a->strides();
    const kernels::Loops loops = kernels::plan(a->sizes(), {&from_strides, &strides});
    kernels::dispatch(a->dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* from = a->data<T>();
      T* to = result->data<T>() + offset;
      kernels::run<2>(loops, [&](int64_t length, const int64_t* at) {
        for (int64_t i = 0; i < length; ++i)
          to[at[1] + i * row_stride(loops, 1)] = from[at[0] + i * row_stride(loops, 0)];
      });
    });
  }
  return recorded(std::move(result), a, Flipped{dims});
}

Tensor roll(const Tensor& a, const Dims& shifts, const Dims& dims) {
  refuse_forbidden_view_of(a);
  require(!shifts.empty(), "`shifts` required");
  require(shifts.size() == dims.size() || (shifts.size() == 1 && dims.empty()),
          "shifts and dimensions must align. shifts: ", shifts.size(), ", dims:", dims.size());
  Tensor result = dims.empty() ? rolled_in_row(a, shifts[0]) : rolled(a, shifts, dims);
  return recorded(std::move(result), a, Rolled{shifts, dims});
}

}  // namespace gradlife::ops
