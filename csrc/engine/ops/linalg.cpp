// Products of vectors, matrices and batches, and the product that matmul uses for each pair of shapes.
#include <algorithm>

#include "engine/backward/op_node.hpp"
#include "engine/ops/kernels/matrix_products.hpp"
#include "engine/ops/kernels/overlap.hpp"
#include "engine/ops/kernels/strided_loops.hpp"
#include "engine/ops/ops.hpp"

namespace gradlife::ops {
namespace {

using G = const Tensor&;

const NodeSpec& mm_spec =
    node_spec("MmBackward0", {saved_tensor("mat2"), saved_number("mat2_sym_sizes"), saved_number("mat2_sym_strides"),
                              saved_tensor("self"), saved_number("self_sym_sizes"), saved_number("self_sym_strides")});

// Slots: mat2, self. The strides of an input determine its gradient's layout.
class MmNode final : public OpNode<2> {
 public:
  MmNode(const TensorImpl& a, const TensorImpl& b) : OpNode<2>(mm_spec), a_(a), b_(b) {}
  SavedValue saved_value(size_t field) const override {
    switch (field) {
      case 1:
        return saved(b_.sizes);
      case 2:
        return saved(needs(1) ? b_.strides : Dims());
      case 4:
        return saved(a_.sizes);
      default:
        return saved(needs(0) ? a_.strides : Dims());
    }
  }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const auto [b, a] = unpack_two();
    if (needs(1)) results[1] = product_gradient_second(gradient, a, b_);
    if (needs(0)) results[0] = product_gradient_first(gradient, b, a_);
  }

 private:
  MatrixLayout a_, b_;
};

// Hooks may unpack a tensor of another shape.
Tensor outer(const Tensor& a, const Tensor& b) {
  require(a->dim() == 1, "outer: Expected 1-D argument self, but got ", a->dim(), "-D");
  require(b->dim() == 1, "outer: Expected 1-D argument vec2, but got ", b->dim(), "-D");
  return mul(reshape(a, {a->numel(), 1}), b);
}

struct MatrixVector {
  inline static const NodeSpec& spec = node_spec("MvBackward0", {saved_tensor("self"), saved_tensor("vec")});
  static constexpr size_t first_input = 0;
  static Tensor first(G gradient, G, G vec) { return outer(gradient, vec); }
  static Tensor second(G gradient, G self, G) { return mv(t(self), gradient); }
};

struct InnerProduct {
  inline static const NodeSpec& spec = node_spec("DotBackward0", {saved_tensor("self"), saved_tensor("tensor")});
  static constexpr size_t first_input = 0;
  static Tensor first(G gradient, G, G other) { return mul(gradient, other); }
  static Tensor second(G gradient, G self, G) { return mul(gradient, self); }
};

struct BatchedProduct {
  inline static const NodeSpec& spec = node_spec("BmmBackward0", {saved_tensor("mat2"), saved_tensor("self")});
  static constexpr size_t first_input = 0;
  static Tensor first(G gradient, G mat2, G) { return bmm(gradient, transpose(mat2, 1, 2)); }
  static Tensor second(G gradient, G, G self) { return bmm(transpose(self, 1, 2), gradient); }
};

}  // namespace

Tensor product_gradient_first(const Tensor& gradient, const Tensor& second, const MatrixLayout& first) {
  return first.is_column_major() ? t(mm(second, t(gradient))) : mm(gradient, t(second));
}

Tensor product_gradient_second(const Tensor& gradient, const Tensor& first, const MatrixLayout& second) {
  return second.is_column_major() ? t(mm(t(gradient), first)) : mm(t(first), gradient);
}

// Each saves its operands before it looks at them, as PyTorch does: hooks that pack them run for a product that fails,
// too.
Tensor mm(const Tensor& a, const Tensor& b) {
  refuse_forbidden_views({&a, &b});
  const auto node = start_recording<MmNode>({&a, &b}, *a, *b);
  save_two(node, b, 0, a, 1);
  require(a->dim() == 2, "self must be a matrix");
  require(b->dim() == 2, "mat2 must be a matrix");
  require(a->sizes()[1] == b->sizes()[0], "mat1 and mat2 shapes cannot be multiplied (", a->sizes()[0], "x",
          a->sizes()[1], " and ", b->sizes()[0], "x", b->sizes()[1], ")");
  require(a->dtype() == b->dtype(), "expected m1 and m2 to have the same dtype, but got: ", ctype_name(a->dtype()),
          " != ", ctype_name(b->dtype()));
  return with_history(lowered("mm.default", [&] { return kernels::matrix_product(*a, *b); }, a, b), node.owner);
}

Tensor mv(const Tensor& a, const Tensor& b) {
  refuse_forbidden_views({&a, &b});
  const auto node = start_recording<PairNode<MatrixVector>>({&a, &b});
  save_two(node, a, 1, b, 0);
  require(a->dim() == 2 && b->dim() == 1, "vector + matrix @ vector expected, got 1, ", a->dim(), ", ", b->dim());
  require(a->sizes()[1] == b->sizes()[0], "size mismatch, got input (", a->sizes()[0], "), mat (", a->sizes()[0], "x",
          a->sizes()[1], "), vec (", b->sizes()[0], ")");
  const char* a_type = kernels::scalar_type_name(a->dtype());
  const char* b_type = kernels::scalar_type_name(b->dtype());
  const bool names_all = has(*current_policy(), traits::product_names_all_types);
  require(a->dtype() == b->dtype() || names_all, "expected scalar type ", a_type, " but found ", b_type);
  require(a->dtype() == b->dtype(), "addmv input tensors must have the same dtype, but got ", b_type, ", ", a_type,
          ", and ", b_type);
  return with_history(lowered("mv.default", [&] { return kernels::matrix_vector_product(*a, *b); }, a, b), node.owner);
}

Tensor dot(const Tensor& a, const Tensor& b) {
  refuse_forbidden_views({&a, &b});
  const auto node = start_recording<PairNode<InnerProduct>>({&a, &b});
  save_two(node, a, 1, b, 0);
  require(a->dim() == 1 && b->dim() == 1, "1D tensors expected, but got ", a->dim(), "D and ", b->dim(), "D tensors");
  require(a->dtype() == b->dtype(), "dot : expected both vectors to have same dtype, but found ",
          kernels::scalar_type_name(a->dtype()), " and ", kernels::scalar_type_name(b->dtype()));
  require(a->numel() == b->numel(), "inconsistent tensor size, expected tensor ", a->sizes(), " and src ", b->sizes(),
          " to have the same number of elements, but got ", a->numel(), " and ", b->numel(), " elements respectively");
  return with_history(lowered("dot.default", [&] { return kernels::inner_product(*a, *b); }, a, b), node.owner);
}

Tensor bmm(const Tensor& a, const Tensor& b) {
  refuse_forbidden_views({&a, &b});
  const auto node = start_recording<PairNode<BatchedProduct>>({&a, &b});
  save_two(node, b, 0, a, 1);
  require(a->dim() == 3, "batch1 must be a 3D tensor");
  require(b->dim() == 3, "batch2 must be a 3D tensor");
  require(a->sizes()[0] == b->sizes()[0] && a->sizes()[2] == b->sizes()[1],
          "Expected size for first two dimensions of batch2 tensor to be: [", a->sizes()[0], ", ", a->sizes()[2],
          "] but got: [", b->sizes()[0], ", ", b->sizes()[1], "].");
  require(a->dtype() == b->dtype(), "expected scalar type ", kernels::scalar_type_name(a->dtype()), " but found ",
          kernels::scalar_type_name(b->dtype()));
  return with_history(lowered("bmm.default", [&] { return kernels::batched_product(*a, *b); }, a, b), node.owner);
}

}  // namespace gradlife::ops
