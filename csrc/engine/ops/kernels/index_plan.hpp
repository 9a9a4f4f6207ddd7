// The elements of a tensor that a list of index tensors selects: result shape, and address of each element.
#pragma once

#include "engine/ops/kernels/strided_loops.hpp"

namespace gradlife::kernels {

// Elements are found at the tensor's own strides along the dimensions that are not indexed, plus an offset that all
// index tensors give together, along the dimensions that they put in place of theirs.
struct IndexPlan {
  Dims sizes;           // of what is named
  Dims strides;         // of the tensor along these; 0 along the dimensions of the indices
  Dims offset_strides;  // of `offsets` along these; 0 along the others
  Dims memory_order;    // strides of a result, as PyTorch lays it out
  Tensor offsets;       // int64, contiguous; after `locate`
  TensorList indices;   // int64, one for each dimension of the tensor that is indexed
};

// Undefined indices take all of a dimension; masks count for as many dimensions as they have.
// Errors (IndexError): a dtype that is none for indices, too many of them, a mask of another shape, indices that can't
// be broadcast.
IndexPlan plan_index(const TensorImpl& tensor, const TensorList& indices);
// Error (IndexError): an index out of bounds.
void locate(IndexPlan& plan, const TensorImpl& tensor);

// int64, one row for each dimension: where the elements other than 0 are, in order.
Tensor nonzero_columns(const TensorImpl& tensor);

}  // namespace gradlife::kernels
