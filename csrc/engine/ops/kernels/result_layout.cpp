// The dtype and the memory order of an operation's result.
#include <algorithm>

#include "engine/graph/autograd.hpp"
#include "engine/ops/kernels/strided_loops.hpp"

namespace gradlife::kernels {
namespace {

int rank(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return 0;
    case DType::int32:
      return 1;
    case DType::int64:
      return 2;
    case DType::float32:
      return 3;
    case DType::float64:
      return 4;
    case DType::complex64:
      return 5;
    case DType::complex128:
      return 6;
  }
  return 0;
}

// The dtypes of one operation's inputs, by priority.
class Votes {
 public:
  void add(const TensorImpl& tensor) {
    if (tensor.is_wrapped_number()) {
      add_number(tensor.dtype());
    } else {
      vote(tensor.dim() > 0 ? with_dims_ : without_dims_, tensor.dtype());
    }
  }
  void add_number(DType dtype) {
    vote(numbers_, is_floating(dtype) ? DType::float32 : is_complex(dtype) ? DType::complex64 : dtype);
  }
  DType result() const { return combine(combine(with_dims_, without_dims_), numbers_).dtype; }

 private:
  struct Vote {
    bool was_cast = false;
    DType dtype = DType::boolean;
  };
  static void vote(Vote& group, DType dtype) {
    group.dtype = group.was_cast ? promote(group.dtype, dtype) : dtype;
    group.was_cast = true;
  }
  // The weaker group decides only if it is of a higher kind: floating over integer over bool.
  static Vote combine(const Vote& strong, const Vote& weak) {
    if (!strong.was_cast) return weak;
    if (!weak.was_cast || is_complex(strong.dtype)) return strong;
    if (is_complex(weak.dtype)) return {true, promote(strong.dtype, weak.dtype)};
    if (is_floating(strong.dtype)) return strong;
    if (strong.dtype == DType::boolean || is_floating(weak.dtype)) return {true, promote(strong.dtype, weak.dtype)};
    return strong;
  }
  Vote with_dims_, without_dims_, numbers_;
};

// Compares two dimensions by stride: `a` is outer (1), inner (-1), or undecided (0).
int compare_dims(const Dims* strides, size_t inputs, const Dims& sizes, size_t a, size_t b) {
  for (size_t i = 0; i < inputs; ++i) {
    const int64_t stride_a = strides[i][a];
    const int64_t stride_b = strides[i][b];
    if (stride_a == 0 || stride_b == 0) continue;
    if (stride_a != stride_b) return stride_a < stride_b ? -1 : 1;
    if (sizes[a] > sizes[b]) return 1;
  }
  return 0;
}

// If all inputs have the result's shape and the same dense memory layout, the result has this layout, too.
bool find_common_strides(const Dims& sizes, std::initializer_list<const TensorImpl*> inputs, Dims* common) {
  bool contiguous = true;
  bool alike = true;
  const TensorImpl* first = *inputs.begin();
  for (const TensorImpl* input : inputs) {
    if (input->sizes() != sizes) return false;
    contiguous = contiguous && input->is_contiguous();
    alike = alike && input->strides() == first->strides() && is_non_overlapping_and_dense(*input);
  }
  if (contiguous) *common = contiguous_strides(sizes);
  if (!contiguous && alike) *common = first->strides();
  return contiguous || alike;
}

// Whether it is contiguous, ignoring the order of dimensions of size 1.
bool is_plainly_contiguous(const Dims& sizes, const TensorImpl& input) {
  return input.dim() == 0 ||
         (input.is_contiguous() && input.sizes() == sizes && input.strides() == contiguous_strides(sizes));
}

}  // namespace

DType promote(DType a, DType b) {
  if (is_complex(a) != is_complex(b) && (a == DType::float64 || b == DType::float64)) return DType::complex128;
  return rank(a) >= rank(b) ? a : b;
}

DType result_dtype(std::initializer_list<const TensorImpl*> inputs) {
  Votes votes;
  for (const TensorImpl* input : inputs) votes.add(*input);
  return votes.result();
}

DType result_dtype(const TensorImpl& tensor, const Scalar& number) {
  Votes votes;
  votes.add(tensor);
  votes.add_number(number.natural_dtype());
  return votes.result();
}

const char* scalar_type_name(DType dtype) {
  static constexpr const char* names[] = {"Float", "Double", "Long", "Bool", "Int", "ComplexFloat", "ComplexDouble"};
  return names[static_cast<size_t>(dtype)];
}

Dims propagated_strides(const Dims& sizes, std::initializer_list<const TensorImpl*> inputs, bool takes_number) {
  Dims common;
  if (!takes_number && find_common_strides(sizes, inputs, &common)) return common;
  std::array<Dims, max_operands> strides;
  size_t count = 0;
  for (const TensorImpl* input : inputs) strides[count++] = broadcast_strides(input->sizes(), input->strides(), sizes);
  return strides_in_order(sizes, strides.data(), count);
}

Dims strides_in_order(const Dims& sizes, const Dims* strides, size_t count) {
  size_t order[max_dims];  // innermost first
  for (size_t i = 0; i < sizes.size(); ++i) order[i] = sizes.size() - 1 - i;
  for (size_t i = 1; i < sizes.size(); ++i) {
    size_t moving = i;
    for (size_t before = i; before-- > 0;) {
      const int comparison = compare_dims(strides, count, sizes, order[before], order[moving]);
      if (comparison < 0) break;
      if (comparison == 0) continue;
      std::swap(order[before], order[moving]);
      moving = before;
    }
  }
  Dims result(sizes.size());
  int64_t step = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    result[order[i]] = step;
    step *= sizes[order[i]];
  }
  return result;
}

Tensor allocate(const Dims& sizes, const Dims& strides, DType dtype) {
  StoragePtr storage = make<Storage>(bytes_of(sizes, dtype));
  Tensor tensor = make<TensorImpl>(std::move(storage), dtype, sizes, strides, 0);
  tensor->set_inference(inference_mode());
  return tensor;
}

Tensor allocate_like(const TensorImpl& tensor, DType dtype) {
  if (is_non_overlapping_and_dense(tensor)) return allocate(tensor.sizes(), tensor.strides(), dtype);
  return allocate(tensor.sizes(), propagated_strides(tensor.sizes(), {&tensor}), dtype);
}

Tensor allocate_result(const Dims& sizes, DType dtype, std::initializer_list<const TensorImpl*> inputs,
                       bool takes_number) {
  bool is_plain = sizes.size() < 2 || sizes.product() == 0;
  if (!is_plain)
    is_plain = std::all_of(inputs.begin(), inputs.end(),
                           [&](const TensorImpl* input) { return is_plainly_contiguous(sizes, *input); });
  if (is_plain) return empty(sizes, dtype);
  const Dims strides = propagated_strides(sizes, inputs, takes_number);
  if (strides == contiguous_strides(sizes)) return empty(sizes, dtype);
  return allocate(sizes, strides, dtype);
}

}  // namespace gradlife::kernels
