// Products with the weights of a layer.
#include "engine/layers.hpp"
#include "engine/ops.hpp"
#include "engine/product_ops.hpp"

namespace gradlife::ops {
namespace {

// One matrix product for inputs of any number of dimensions.
Tensor flat_linear(const Tensor& a, const Tensor& transposed, const Tensor& bias) {
  Dims sizes = a->sizes();
  const Tensor flat = view(a, {-1, sizes[sizes.size() - 1]});
  const Tensor product = addmm(bias, flat, transposed, {});
  sizes[sizes.size() - 1] = transposed->sizes()[1];
  return view(product, sizes);
}

}  // namespace

Tensor linear(const Tensor& a, const Tensor& weight, const Tensor& bias) {
  const Tensor transposed = t(weight);
  if (!bias) return matmul(a, transposed);
  if (a->dim() == 2 && transposed->dim() == 2) return addmm(bias, a, transposed, {});
  if (a->is_contiguous() && a->dim() > 0 && a->numel() > 0 && transposed->dim() == 2)
    return flat_linear(a, transposed, bias);
  return add_in_place(matmul(a, transposed), bias);
}

}  // namespace gradlife::ops
