// Copies, conversions, filling, and conversion to plain numbers.
#include "engine/backward/op_node.hpp"
#include "engine/ops/kernels/overlap.hpp"
#include "engine/ops/kernels/strided_loops.hpp"
#include "engine/ops/ops.hpp"

namespace gradlife::ops {
namespace {

struct Cloned {
  inline static const NodeSpec& spec = node_spec("CloneBackward0");
  SavedValue value(size_t) const { return {}; }
  Tensor gradient(const Tensor& gradient) const { return gradient; }
};

struct Converted {
  DType from;
  inline static const NodeSpec& spec = node_spec("ToCopyBackward0");
  SavedValue value(size_t) const { return {}; }
  Tensor gradient(const Tensor& gradient) const { return to_dtype(gradient, from); }
};

// Nodes of operations that overwrite their target: nothing remains of the old value's gradient.
class OverwriteNode final : public OpNode<0> {
 public:
  explicit OverwriteNode(const NodeSpec& spec) : OpNode<0>(spec) {}

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    if (needs(0)) results[0] = zeros_like(gradient);
    if (needs(1)) results[1] = is_fill() ? sum(gradient) : gradient;
  }

 private:
  bool is_fill() const;
};

const NodeSpec& copy_spec = node_spec("CopyBackwards");
const NodeSpec& zero_spec = node_spec("ZeroBackward0");
const NodeSpec& fill_number_spec = node_spec("FillBackward2");
const NodeSpec& fill_tensor_spec = node_spec("FillBackward3");

bool OverwriteNode::is_fill() const { return &spec() == &fill_tensor_spec; }

Tensor copied(const Tensor& source, Tensor target) {
  kernels::copy(*target, *source);
  return written(std::move(target), source);
}

// Whether both are the same window: then there is nothing to copy, and nothing to refuse.
bool is_same_window(const TensorImpl& a, const TensorImpl& b) {
  return a.storage() == b.storage() && a.offset() == b.offset() && a.dtype() == b.dtype() && a.sizes() == b.sizes() &&
         a.strides() == b.strides();
}

Tensor overwrite_with_number(const Tensor& target, const Scalar& value, const NodeSpec& spec) {
  check_inplace(target, needs_graph({&target}));
  const auto node = start_recording<OverwriteNode>({&target}, spec);
  const auto compute = [&] { kernels::fill(*target, value); };
  if (&spec == &zero_spec) {
    lowered_change("zero_.default", compute, target);
  } else {
    lowered_change("fill_.Scalar", compute, target, value);
  }
  finish_in_place(target, node);
  return target;
}

}  // namespace

Tensor clone(const Tensor& tensor) {
  const auto compute = [&] { return copied(tensor, kernels::allocate_like(*tensor, tensor->dtype())); };
  return recorded(lowered("clone.default", compute, tensor), tensor, Cloned());
}

Tensor clone_contiguous(const Tensor& tensor) {
  return recorded(copied(tensor, empty(tensor->sizes(), tensor->dtype())), tensor, Cloned());
}

Tensor contiguous(const Tensor& tensor) { return tensor->is_contiguous() ? tensor : clone_contiguous(tensor); }

Tensor to_dtype(const Tensor& tensor, DType dtype, bool copy) {
  if (tensor->dtype() == dtype && !copy) return tensor;
  if (is_complex(tensor->dtype()) && !is_complex(dtype)) return to_dtype(real(tensor), dtype, copy);
  Tensor target = copied(tensor, kernels::allocate_like(*tensor, dtype));
  return is_differentiable(dtype) ? recorded(std::move(target), tensor, Converted{tensor->dtype()}) : target;
}

Tensor copy_in_place(const Tensor& target, const Tensor& source) {
  check_inplace(target, needs_graph({&target, &source}));
  Recording<OverwriteNode> node;
  if (is_differentiable(target->dtype())) node = start_recording<OverwriteNode>({&target, &source}, copy_spec);
  if (!is_same_window(*target, *source)) {
    refuse_overlap(*target);
    refuse_partial_overlap(*target, *source);
    refuse_resize(*target, kernels::broadcast_sizes(target->sizes(), source->sizes()));
    lowered_change("copy_.default", [&] { kernels::copy(*target, *source); }, target, source);
  }
  finish_in_place(target, node);
  return target;
}

Tensor zero_in_place(const Tensor& target) { return overwrite_with_number(target, 0, zero_spec); }

Tensor fill_in_place(const Tensor& target, const Scalar& value) {
  return overwrite_with_number(target, value, fill_number_spec);
}

Tensor fill_in_place(const Tensor& target, const Tensor& value) {
  check_inplace(target, needs_graph({&target, &value}));
  require(value->dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ", value->dim(),
          " dimensions.");
  const auto node = start_recording<OverwriteNode>({&target, &value}, fill_tensor_spec);
  if (has(*current_policy(), traits::fill_refuses_overlap)) refuse_overlap(*target);
  kernels::fill(*target, item(value));
  finish_in_place(target, node);
  return target;
}

Scalar element(const TensorImpl& tensor, int64_t index) {
  Scalar result;
  if (is_complex(tensor.dtype())) {
    kernels::dispatch_complex(tensor.dtype(), [&](auto zero) {
      const auto value = tensor.data<decltype(zero)>()[index];
      result = Scalar::complex(value.real(), tensor.is_conjugate() ? -value.imag() : value.imag());
    });
    return result;
  }
  kernels::dispatch(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T value = tensor.data<T>()[index];
    if constexpr (std::is_same_v<T, bool>) {
      result = Scalar::boolean(value);
    } else if constexpr (std::is_integral_v<T>) {
      result = Scalar(static_cast<int64_t>(value));
    } else {
      result = Scalar(static_cast<double>(value));
    }
  });
  return result;
}

Scalar item(const Tensor& tensor) {
  require(tensor->numel() == 1, "a Tensor with ", tensor->numel(), " elements cannot be converted to Scalar");
  return element(*tensor, 0);
}

}  // namespace gradlife::ops
