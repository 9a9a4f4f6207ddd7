// The product with a layer's weights, plus the bias.
#include "engine/backward/op_node.hpp"
#include "engine/ops/kernels/matrix_products.hpp"
#include "engine/ops/kernels/overlap.hpp"
#include "engine/ops/kernels/strided_loops.hpp"
#include "engine/ops/layers.hpp"
#include "engine/ops/ops.hpp"

namespace gradlife::ops {
namespace {

const NodeSpec& addmm_spec =
    node_spec("AddmmBackward0", {saved_number("alpha"), saved_number("beta"), saved_tensor("mat1"),
                                 saved_number("mat1_sym_sizes"), saved_number("mat1_sym_strides"), saved_tensor("mat2"),
                                 saved_number("mat2_sym_sizes"), saved_number("mat2_sym_strides")});

// Inputs: bias, mat1, mat2. Slots: the factors, each if the other one needs it. The strides of a matrix determine its
// gradient's layout.
class AddmmNode final : public OpNode<2> {
 public:
  AddmmNode(const Tensor& first, const Tensor& second) : OpNode<2>(addmm_spec), first_(*first), second_(*second) {}
  SavedValue saved_value(size_t field) const override {
    switch (field) {
      case 3:
        return saved(first_.sizes);
      case 4:
        return saved(should_compute_output(1) ? first_.strides : Dims());
      case 6:
        return saved(second_.sizes);
      case 7:
        return saved(should_compute_output(2) ? second_.strides : Dims());
      default:
        return saved(Scalar(1));  // alpha and beta
    }
  }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const auto [first, second] = unpack_two();
    if (needs(0)) results[0] = gradient;
    if (needs(1)) results[1] = product_gradient_first(gradient, second, first_);
    if (needs(2)) results[2] = product_gradient_second(gradient, first, second_);
  }

 private:
  MatrixLayout first_, second_;
};

void check_addmm(const TensorImpl& input, const TensorImpl& a, const TensorImpl& b) {
  require(a.sizes()[1] == b.sizes()[0], "mat1 and mat2 shapes cannot be multiplied (", a.sizes()[0], "x", a.sizes()[1],
          " and ", b.sizes()[0], "x", b.sizes()[1], ")");
  const char* b_type = kernels::scalar_type_name(b.dtype());
  require(input.dtype() == b.dtype(), "self and mat2 must have the same dtype, but got ",
          kernels::scalar_type_name(input.dtype()), " and ", b_type);
  require(a.dtype() == b.dtype(), "mat1 and mat2 must have the same dtype, but got ",
          kernels::scalar_type_name(a.dtype()), " and ", b_type);
}

// bias + a b for matrices.
Tensor addmm(const Tensor& bias, const Tensor& a, const Tensor& b) {
  const auto node = start_recording<AddmmNode>({&bias, &a, &b}, a, b);
  save_two(node, a, 2, b, 1);
  check_addmm(*bias, *a, *b);
  Tensor result;
  {
    const GradMode off(false);
    const Tensor product = kernels::matrix_product(*a, *b);
    expand(bias, product->sizes());  // error if it does not fit
    result = add(product, bias);
  }
  if (node) set_history(result, node.owner);
  return result;
}

// Computes one matrix product for inputs with any number of dimensions.
Tensor flat_linear(const Tensor& a, const Tensor& transposed, const Tensor& bias) {
  Dims sizes = a->sizes();
  const Tensor flat = view(a, {-1, sizes[sizes.size() - 1]});
  const Tensor product = addmm(bias, flat, transposed);
  sizes[sizes.size() - 1] = transposed->sizes()[1];
  return view(product, sizes);
}

}  // namespace

Tensor linear(const Tensor& a, const Tensor& weight, const Tensor& bias) {
  const Tensor transposed = t(weight);
  if (!bias) return matmul(a, transposed);
  if (a->dim() == 2 && transposed->dim() == 2) return addmm(bias, a, transposed);
  if (a->is_contiguous() && a->dim() > 0 && a->numel() > 0 && transposed->dim() == 2)
    return flat_linear(a, transposed, bias);
  return add_in_place(matmul(a, transposed), bias);
}

}  // namespace gradlife::ops
