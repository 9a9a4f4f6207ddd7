#include "engine/overlap.hpp"

#include "engine/kernels.hpp"

namespace gradlife::ops {
namespace {

struct Range {
  int64_t begin;
  int64_t end;
};

Range range_of(const TensorImpl& dense) {
  const int64_t size = static_cast<int64_t>(item_size(dense.dtype()));
  return {dense.offset() * size, (dense.offset() + dense.numel()) * size};
}

}  // namespace

void refuse_overlap(const TensorImpl& target) {
  for (size_t i = 0; i < target.dim(); ++i)
    require(target.sizes()[i] <= 1 || target.strides()[i] != 0,
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation.");
}

void refuse_partial_overlap(const TensorImpl& target, const TensorImpl& source) {
  if (&target == &source || target.storage() != source.storage() || target.numel() == 0 || source.numel() == 0) return;
  if (!kernels::is_non_overlapping_and_dense(target) || !kernels::is_non_overlapping_and_dense(source)) return;
  const Range a = range_of(target);
  const Range b = range_of(source);
  const bool is_same = a.begin == b.begin && a.end == b.end && target.strides() == source.strides();
  require(is_same || a.end <= b.begin || b.end <= a.begin,
          "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
          "location. Please clone() the tensor before performing the operation.");
}

bool can_cast(DType from, DType to) {
  if (is_floating(from)) return is_floating(to);
  return to != DType::boolean || from == DType::boolean;
}

void refuse_cast(DType result, const TensorImpl& target) {
  require(can_cast(result, target.dtype()), "result type ", kernels::scalar_type_name(result),
          " can't be cast to the desired output type ", kernels::scalar_type_name(target.dtype()));
}

void refuse_resize(const TensorImpl& target, const Dims& result) {
  require(target.sizes() == result, "output with shape ", target.sizes(), " doesn't match the broadcast shape ",
          result);
}

}  // namespace gradlife::ops
