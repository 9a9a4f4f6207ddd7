// Windows that slide along a dimension, as a view in which elements appear as often as windows hold them.
#include "engine/rearranging.hpp"

namespace gradlife::ops {
namespace {

struct Sliding {
  int64_t dim;
  int64_t size;
  int64_t step;
};

struct FoldedBack : Sliding {
  static const NodeSpec& spec() {
    static const NodeSpec& spec =
        node_spec("UnfoldBackwardBackward0", {saved_number("dim"), saved_number("size"), saved_number("step")});
    return spec;
  }
  SavedValue value(size_t field) const { return saved(field == 0 ? dim : field == 1 ? size : step); }
  Tensor gradient(const Tensor& gradient) const { return unfold(gradient, dim, size, step); }
};

// The gradients of all windows added up where they overlap.
Tensor folded(const Tensor& gradient, const Dims& sizes, const Sliding& how) {
  Tensor whole = full(sizes, 0, gradient->dtype());
  const GradMode no_grad(false);
  const Tensor windows = unfold(whole, how.dim, how.size, how.step);
  const Dims order = contiguous_strides(windows->sizes());
  const kernels::Loops loops = kernels::plan(windows->sizes(), {&order, &windows->strides(), &gradient->strides()});
  kernels::dispatch_floats(gradient->dtype(), "unfold_backward", [&](auto zero) {
    auto* to = windows->data<decltype(zero)>();
    const auto* from = gradient->data<decltype(zero)>();
    kernels::run<3>(loops, [&](int64_t length, const int64_t* at) {
      for (int64_t i = 0; i < length; ++i)
        to[at[1] + i * row_stride(loops, 1)] += from[at[2] + i * row_stride(loops, 2)];
    });
  });
  return whole;
}

struct Unfolded : Sliding {
  Dims sizes;
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec(
        "UnfoldBackward0",
        {saved_number("dimension"), saved_number("self_sym_sizes"), saved_number("size"), saved_number("step")});
    return spec;
  }
  SavedValue value(size_t field) const {
    return field == 1 ? saved(sizes) : saved(field == 0 ? dim : field == 2 ? size : step);
  }
  Tensor gradient(const Tensor& gradient) const {
    return recorded(folded(gradient, sizes, *this), gradient, FoldedBack{*this});
  }
};

}  // namespace

Tensor unfold(const Tensor& a, int64_t given_dim, int64_t size, int64_t step) {
  refuse_forbidden_view_of(a);
  const size_t dim = static_cast<size_t>(wrap_dim(given_dim, a->dim()));
  const int64_t length = a->dim() == 0 ? 1 : a->sizes()[dim];
  const int64_t stride = a->dim() == 0 ? 1 : a->strides()[dim];
  require(size >= 0, "size is ", size, " but must be >= 0");
  require(size <= length, "maximum size for tensor at dimension ", dim, " is ", length, " but size is ", size);
  require(step > 0, "step is ", step, " but must be > 0");
  Dims sizes = a->sizes();
  Dims strides = a->strides();
  if (a->dim() > 0) {
    sizes[dim] = (length - size) / step + 1;
    strides[dim] = step * stride;
  }
  sizes.push_back(size);
  strides.push_back(stride);
  return made_by(recorded(make_view(a, sizes, strides, a->offset()), a, Unfolded{{given_dim, size, step}, a->sizes()}),
                 a, [=](const Tensor& t) { return unfold(t, given_dim, size, step); });
}

}  // namespace gradlife::ops
