// matmul: the product for each pair of shapes. The choices, and so the nodes, are PyTorch's.
#include <algorithm>

#include "engine/backward/op_node.hpp"
#include "engine/ops/kernels/strided_loops.hpp"
#include "engine/ops/ops.hpp"

namespace gradlife::ops {
namespace {

// A fresh result in another shape, which is not a view.
struct ReshapedResult {
  Dims sizes;
  inline static const NodeSpec& spec = node_spec("UnsafeViewBackward0", {saved_number("self_sym_sizes")});
  SavedValue value(size_t) const { return saved(sizes); }
  Tensor gradient(const Tensor& gradient) const { return reshape(gradient, sizes); }
};

struct SqueezedResult {
  Dims sizes;
  inline static const NodeSpec& spec =
      node_spec("SqueezeBackward4", {saved_number("dim"), saved_number("self_sym_sizes")});
  SavedValue value(size_t field) const { return field == 0 ? saved(int64_t{0}) : saved(sizes); }
  Tensor gradient(const Tensor& gradient) const { return unsqueeze(gradient, 0); }
};

// In place, as in PyTorch.
Tensor squeeze_result(const Tensor& row) {
  const Tensor result = alias(row, {row->sizes()[1]}, {1}, row->offset());
  if (result->has_version()) result->bump_version();
  return recorded(result, row, SqueezedResult{row->sizes()});
}

Dims without_last(const Dims& sizes, size_t count) {
  Dims result;
  for (size_t i = 0; i + count < sizes.size(); ++i) result.push_back(sizes[i]);
  return result;
}

Dims appended(Dims sizes, std::initializer_list<int64_t> more) {
  for (int64_t size : more) sizes.push_back(size);
  return sizes;
}

Tensor swapped(const Tensor& tensor) { return transpose(tensor, -2, -1); }

bool leading_dims_merge(const TensorImpl& tensor) {
  for (size_t i = 0; i + 2 < tensor.dim(); ++i)
    if (tensor.strides()[i] != tensor.strides()[i + 1] * tensor.sizes()[i + 1]) return false;
  return true;
}

// Whether to fold the larger tensor into one matrix: no copy is needed, or the smaller one needs a gradient, which
// would otherwise be computed once per batch.
bool should_fold(const Tensor& a, const Tensor& b) {
  const bool a_is_larger = a->dim() >= b->dim();
  const Tensor& small = a_is_larger ? b : a;
  if (std::max(a->dim(), b->dim()) < 3 || small->dim() > 2) return false;
  if (requires_grad(small)) return true;
  if (a->dim() == 2) return false;
  const Tensor large = a_is_larger ? a : swapped(b);
  return large->numel() == 0 || leading_dims_merge(*large);
}

Tensor folded_product(const Tensor& a, const Tensor& b) {
  const bool turned = b->dim() > a->dim();
  const Tensor large = turned ? swapped(b) : a;
  const Tensor small = !turned ? b : a->dim() == 2 ? t(a) : a;
  Dims shape = without_last(large->sizes(), 1);
  const Tensor rows = reshape(large, {shape.product(), large->sizes()[large->dim() - 1]});
  if (small->dim() == 1) return unsafe_view(mv(rows, small), shape);
  shape.push_back(small->sizes()[1]);
  const Tensor result = unsafe_view(mm(rows, small), shape);
  return turned ? contiguous(swapped(result)) : result;
}

Tensor batched(const Tensor& tensor, const Dims& batch, int64_t batches, int64_t rows, int64_t columns) {
  return reshape(expand(tensor, appended(batch, {rows, columns})), {batches, rows, columns});
}

Tensor expanded_product(const Tensor& a, const Tensor& b) {
  const int64_t rows = a->dim() > 1 ? a->sizes()[a->dim() - 2] : 1;
  const int64_t inner_a = a->sizes()[a->dim() - 1];
  const int64_t inner_b = b->sizes()[b->dim() > 1 ? b->dim() - 2 : 0];
  const int64_t columns = b->dim() > 1 ? b->sizes()[b->dim() - 1] : 1;
  Dims shape = kernels::broadcast_sizes(without_last(a->sizes(), 2), without_last(b->sizes(), 2));
  const int64_t batches = shape.product();
  const Tensor left = batched(a, shape, batches, rows, inner_a);
  if (b->dim() == 1) {
    const Tensor right = unsqueeze(reshape(expand(b, appended(shape, {inner_b})), {batches, inner_b}), 2);
    return unsafe_view(squeeze(bmm(left, right), -1), appended(shape, {rows}));
  }
  const Tensor right = batched(b, shape, batches, inner_b, columns);
  const Tensor result = bmm(left, right);
  if (a->dim() > 1) shape.push_back(rows);
  shape.push_back(columns);
  return unsafe_view(result, shape);
}

}  // namespace

Tensor unsafe_view(const Tensor& a, const Dims& sizes) {
  return recorded(alias(a, sizes, contiguous_strides(sizes), a->offset()), a, ReshapedResult{a->sizes()});
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  require(a->dim() != 0 && b->dim() != 0, "both arguments to matmul need to be at least 1D, but they are ", a->dim(),
          "D and ", b->dim(), "D");
  if (a->dim() == 1 && b->dim() == 1) return dot(a, b);
  if (a->dim() == 2 && b->dim() == 1) return mv(a, b);
  if (a->dim() == 1 && b->dim() == 2) return squeeze_result(mm(unsqueeze(a, 0), b));
  if (a->dim() == 2 && b->dim() == 2) return mm(a, b);
  if (should_fold(a, b)) return folded_product(a, b);
  if (a->dim() == 3 && b->dim() == 3 && a->sizes()[0] != b->sizes()[0]) {
    if (a->sizes()[0] == 1 && requires_grad(a)) return matmul(squeeze(a, 0), b);
    if (b->sizes()[0] == 1 && requires_grad(b)) return matmul(a, squeeze(b, 0));
  }
  return expanded_product(a, b);
}

}  // namespace gradlife::ops
