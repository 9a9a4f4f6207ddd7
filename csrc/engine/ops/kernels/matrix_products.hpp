// The arithmetic of matrix products, without history.
#pragma once

#include "engine/tensor/tensor.hpp"

namespace gradlife::kernels {

// [rows, inner] x [inner, columns] and batches of them. Shapes and dtypes are checked by the caller.
Tensor matrix_product(const TensorImpl& a, const TensorImpl& b);
Tensor batched_product(const TensorImpl& a, const TensorImpl& b);
Tensor matrix_vector_product(const TensorImpl& matrix, const TensorImpl& vector);
Tensor inner_product(const TensorImpl& a, const TensorImpl& b);

}  // namespace gradlife::kernels
