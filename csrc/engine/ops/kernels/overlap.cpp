#include "engine/ops/kernels/overlap.hpp"

#include "engine/ops/kernels/strided_loops.hpp"

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

enum class Overlap : uint8_t { none, partial, full };

// Only dense tensors are distinguished, as in PyTorch, which considers the check too expensive for others.
Overlap overlap_of(const TensorImpl& target, const TensorImpl& source) {
  if (&target == &source) return Overlap::full;
  if (target.storage() != source.storage() || target.numel() == 0 || source.numel() == 0) return Overlap::none;
  if (!is_non_overlapping_and_dense(target) || !is_non_overlapping_and_dense(source)) return Overlap::none;
  const Range a = range_of(target);
  const Range b = range_of(source);
  if (a.begin == b.begin && a.end == b.end && target.strides() == source.strides()) return Overlap::full;
  return a.end <= b.begin || b.end <= a.begin ? Overlap::none : Overlap::partial;
}

constexpr const char* shared_text =
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
    "location. Please clone() the tensor before performing the operation.";

}  // namespace

void refuse_overlap(const TensorImpl& target) {
  if (target.numel() == 0) return;
  for (size_t i = 0; i < target.dim(); ++i)
    require(target.sizes()[i] <= 1 || target.strides()[i] != 0,
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation.");
}

void refuse_partial_overlap(const TensorImpl& target, const TensorImpl& source) {
  if (&target == &source) return;
  const Overlap overlap = overlap_of(target, source);
  require(overlap != Overlap::partial, shared_text);
}

void refuse_shared_memory(const TensorImpl& target, const TensorImpl& source) {
  require(overlap_of(target, source) == Overlap::none, shared_text);
}

bool can_cast(DType from, DType to) {
  if (is_complex(to)) return true;
  if (is_complex(from)) return false;
  if (is_floating(from)) return is_floating(to);
  return to != DType::boolean || from == DType::boolean;
}

const char* ctype_name(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "float";
    case DType::float64:
      return "double";
    case DType::int32:
      return "int";
    case DType::int64:
      return "long int";
    case DType::complex64:
      return "c10::complex<float>";
    case DType::complex128:
      return "c10::complex<double>";
    case DType::boolean:
      break;
  }
  return "bool";
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
