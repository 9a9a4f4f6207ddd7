#include "engine/along.hpp"

namespace gradlife::kernels {
namespace {

Tensor as_int64(const Tensor& index) {
  if (index->dtype() == DType::int64) return index;
  Tensor converted = allocate_like(*index, DType::int64);
  copy(*converted, *index);
  return converted;
}

}  // namespace

Positions positions_in(const Tensor& index, size_t dim) {
  Tensor converted = as_int64(index);
  const Dims strides = converted->strides();
  return {std::move(converted), strides, dim};
}

Positions positions_along(const Tensor& index, size_t dim, const Dims& sizes) {
  Tensor converted = as_int64(index);
  Dims strides(sizes.size());
  if (!strides.empty()) strides[dim] = converted->dim() == 0 ? 1 : converted->strides()[0];
  return {std::move(converted), strides, dim};
}

}  // namespace gradlife::kernels
