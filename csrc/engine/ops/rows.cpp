#include "engine/ops/rows.hpp"

#include "engine/ops/ops.hpp"

namespace gradlife::kernels {
namespace {

// Whether the elements are contiguous in the order of these sizes. Strides of dimensions of size 1 are ignored.
bool is_packed(const Dims& sizes, const Dims& strides) {
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1 && strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

}  // namespace

Reduction plan_reduction(const TensorImpl& input, const Dims& dims, bool keepdim) {
  Reduction plan;
  for (int64_t dim : dims) {
    const size_t at = static_cast<size_t>(wrap_dim(dim, input.dim()));
    require(!plan.is_reduced[at], "dim ", at, " appears multiple times in the list of dims");
    plan.is_reduced[at] = true;
  }
  if (dims.empty()) plan.is_reduced.fill(true);
  plan.kept_strides = Dims(input.dim());
  int64_t step = 1;
  for (size_t i = input.dim(); i-- > 0;) {
    if (plan.is_reduced[i]) continue;
    plan.kept_strides[i] = step;
    step *= input.sizes()[i];
  }
  for (size_t i = 0; i < input.dim(); ++i) {
    if (!plan.is_reduced[i]) plan.sizes.push_back(input.sizes()[i]);
    if (plan.is_reduced[i] && keepdim) plan.sizes.push_back(1);
  }
  return plan;
}

void require_dims(const TensorImpl& input, const Dims& dims) {
  for (int64_t dim : dims) wrap_dim(dim, input.dim());
}

int64_t reduced_count(const TensorImpl& input, const Reduction& plan) {
  int64_t count = 1;
  for (size_t i = 0; i < input.dim(); ++i) count *= plan.is_reduced[i] ? input.sizes()[i] : 1;
  return count;
}

Rows rows_of(const Tensor& input, const Reduction& plan) {
  Rows rows;
  rows.length = reduced_count(*input, plan);
  rows.count = plan.sizes.product();
  Dims sizes, strides;
  for (const bool reduced : {false, true})
    for (size_t i = 0; i < input->dim(); ++i) {
      if (plan.is_reduced[i] != reduced) continue;
      sizes.push_back(input->sizes()[i]);
      strides.push_back(input->strides()[i]);
    }
  if (is_packed(sizes, strides)) {
    rows.source = input;
    return rows;
  }
  rows.source = empty(sizes, input->dtype());
  copy(*rows.source, *alias(input, sizes, strides, input->offset()));
  return rows;
}

Tensor packed(const Tensor& tensor) {
  if (tensor->is_contiguous()) return tensor;
  Tensor copied = empty(tensor->sizes(), tensor->dtype());
  copy(*copied, *tensor);
  return copied;
}

}  // namespace gradlife::kernels

namespace gradlife::ops {

Tensor restored(const Tensor& gradient, const Dims& sizes, const Dims& dims) {
  if (dims.size() == 1) return unsqueeze(gradient, dims[0]);
  std::array<bool, max_dims> is_reduced{};
  for (int64_t dim : dims) is_reduced[static_cast<size_t>(wrap_dim(dim, sizes.size()))] = true;
  Tensor result = gradient;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (is_reduced[i]) result = unsqueeze(result, static_cast<int64_t>(i));
  return result;
}

}  // namespace gradlife::ops
