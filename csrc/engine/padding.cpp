// Borders of one value around a tensor.
#include <algorithm>

#include "engine/kernels.hpp"
#include "engine/op_node.hpp"
#include "engine/patches.hpp"

namespace gradlife::ops {
namespace {

struct Padded {
  Dims pads;
  static const NodeSpec& spec() {
    static const NodeSpec& spec = node_spec("ConstantPadNdBackward0", {saved_number("pad")});
    return spec;
  }
  SavedValue value(size_t) const { return saved(pads); }
  Tensor gradient(const Tensor& gradient) const {
    Dims back = pads;
    for (int64_t& each : back) each = -each;
    return constant_pad(gradient, back, 0);
  }
};

void check_pads(const TensorImpl& a, const Dims& pads) {
  require(pads.size() % 2 == 0, "Length of pad must be even but instead it equals ", pads.size());
  require(pads.size() / 2 <= a.dim(),
          "Length of pad should be no more than twice the number of dimensions of the input. Pad length is ",
          pads.size(), " while the input has ", a.dim(), " dimensions.");
}

Dims padded_sizes(const TensorImpl& a, const Dims& pads) {
  Dims sizes = a.sizes();
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    const int64_t cut = std::min<int64_t>(0, pads[2 * i]) + std::min<int64_t>(0, pads[2 * i + 1]);
    require(sizes[a.dim() - 1 - i] + cut >= 0, "narrow(): length must be non-negative.");
  }
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    const size_t dim = a.dim() - 1 - i;
    sizes[dim] += pads[2 * i] + pads[2 * i + 1];
  }
  return sizes;
}

// The part of `a` that is left when `cut` is cut off in front and behind wherever it is positive.
Tensor part_of(const Tensor& a, const Dims& pads, int64_t sign) {
  Dims sizes = a->sizes();
  int64_t offset = a->offset();
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    const size_t dim = a->dim() - 1 - i;
    const int64_t front = std::max<int64_t>(0, sign * pads[2 * i]), back = std::max<int64_t>(0, sign * pads[2 * i + 1]);
    sizes[dim] = std::max<int64_t>(0, sizes[dim] - front - back);
    offset += front * a->strides()[dim];
  }
  return alias(a, sizes, a->strides(), offset);
}

}  // namespace

Tensor constant_pad(const Tensor& a, const Dims& pads, const Scalar& value) {
  refuse_forbidden_view_of(a);
  check_pads(*a, pads);
  const Tensor result = full(padded_sizes(*a, pads), value, a->dtype());
  if (result->numel() > 0 && a->numel() > 0) {
    const Tensor target = part_of(result, pads, 1), source = part_of(a, pads, -1);
    if (target->numel() > 0 && target->sizes() == source->sizes()) kernels::copy(*target, *source);
  }
  return recorded(result, a, Padded{pads});
}

}  // namespace gradlife::ops
