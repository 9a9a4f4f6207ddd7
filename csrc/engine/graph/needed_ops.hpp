// The few operations that the graph, backward and views call themselves. They are defined and documented in engine/ops;
// the graph includes no other header of ops.
#pragma once

#include <optional>

#include "engine/graph/node.hpp"
#include "engine/tensor/scalar.hpp"

namespace gradlife::ops {

Tensor add(const Tensor& a, const Tensor& b, const Scalar& alpha = 1);
Tensor add_in_place(const Tensor& target, const Tensor& other, const Scalar& alpha = 1);
Tensor clone(const Tensor& tensor);
Tensor clone_contiguous(const Tensor& tensor);
Tensor copy_in_place(const Tensor& target, const Tensor& source);
Tensor to_dtype(const Tensor& tensor, DType dtype, bool copy = false);  // the tensor itself if it has that dtype
Tensor sum_to_size(const Tensor& a, const Dims& sizes);                 // undoes broadcasting
Tensor as_strided(const Tensor& a, const Dims& sizes, const Dims& strides, std::optional<int64_t> offset);
NodePtr as_strided_node(const Tensor& a, const TensorImpl& window);  // for an existing window
Tensor view_as_real(const Tensor& a);
Tensor view_as_complex(const Tensor& a);
Tensor conj(const Tensor& a);

enum class Comparison : uint8_t { eq, ne, lt, le, gt, ge };
Tensor compare(Comparison comparison, const Tensor& a, const Tensor& b);
Tensor any(const Tensor& a);

}  // namespace gradlife::ops
