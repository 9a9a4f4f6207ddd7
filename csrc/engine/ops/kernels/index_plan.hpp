// The elements of a tensor that a list of index tensors selects: result shape, and address of each element.
#pragma once

#include "engine/ops/kernels/strided_loops.hpp"

namespace gradlife::kernels {

// Elements are addressed by the tensor's own strides along unindexed dimensions, plus an offset from all index tensors
// together along the dimensions that replace the indexed ones.
struct IndexPlan {
  Dims sizes;           // of the selection
  Dims strides;         // of the tensor; 0 along the dimensions of the indices
  Dims offset_strides;  // of `offsets`; 0 along the other dimensions
  Dims memory_order;    // strides of a result in PyTorch's layout
  Tensor offsets;       // int64, contiguous; after `locate`
  TensorList indices;   // int64, one for each indexed dimension of the tensor
};

// Undefined indices take a whole dimension; masks count for all their dimensions. Errors (IndexError): a dtype that
// cannot index, too many indices, a mask of another shape, indices that cannot be broadcast.
IndexPlan plan_index(const TensorImpl& tensor, const TensorList& indices);
// Error (IndexError): an index out of bounds.
void locate(IndexPlan& plan, const TensorImpl& tensor);

// int64, one row per dimension: the coordinates of the nonzero elements, in order.
Tensor nonzero_columns(const TensorImpl& tensor);

}  // namespace gradlife::kernels
