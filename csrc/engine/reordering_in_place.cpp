// Dimensions in another order, added or dropped, of the tensor itself.
#include "engine/reordering_rules.hpp"
#include "engine/seen_in_place.hpp"

namespace gradlife::ops {
namespace {

// The window that the view would have.
template <class View>
Tensor window_of(const Tensor& target, View view) {
  check_seen(target);
  const GradMode no_grad(false);
  return view(detach(target));
}

}  // namespace

Tensor transpose_in_place(const Tensor& target, int64_t dim0, int64_t dim1) {
  const Tensor window = window_of(target, [&](const Tensor& seen) { return transpose(seen, dim0, dim1); });
  return see_through(target, window, Transposed{dim0, dim1});
}

Tensor t_in_place(const Tensor& target) {
  require(target->dim() <= 2, "t_() expects a tensor with <= 2 dimensions, but self is ", target->dim(), "D");
  return see_through(target, window_of(target, t), MatrixTransposed());
}

Tensor unsqueeze_in_place(const Tensor& target, int64_t dim) {
  return see_through(target, window_of(target, [&](const Tensor& seen) { return unsqueeze(seen, dim); }),
                     Unsqueezed{dim});
}

Tensor squeeze_in_place(const Tensor& target) {
  return see_through(target, window_of(target, [](const Tensor& seen) { return squeeze(seen); }),
                     SqueezedAll{target->sizes()});
}

Tensor squeeze_in_place(const Tensor& target, int64_t dim) {
  return see_through(target, window_of(target, [&](const Tensor& seen) { return squeeze(seen, dim); }),
                     SqueezedDim{dim, target->sizes()});
}

Tensor squeeze_in_place(const Tensor& target, const Dims& dims) {
  return see_through(target, window_of(target, [&](const Tensor& seen) { return squeeze(seen, dims); }),
                     SqueezedDims{dims, target->sizes()});
}

}  // namespace gradlife::ops
