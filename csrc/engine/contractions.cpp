// Products over chosen dimensions, each a permutation and one product of matrices, as PyTorch takes them apart.
#include "engine/op_node.hpp"
#include "engine/product_ops.hpp"

namespace gradlife::ops {
namespace {

const NodeSpec& vdot_spec = node_spec("VdotBackward0", {saved_tensor("other"), saved_tensor("self")});

// Slots: other, self.
class VdotNode final : public OpNode<2> {
 public:
  VdotNode() : OpNode<2>(vdot_spec) {}

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor other = unpack(0);
    const Tensor self = unpack(1);
    if (needs(0)) results[0] = mul(gradient, other);
    if (needs(1)) results[1] = mul(gradient, self);
  }
};

// One operand as a matrix (a vector where all of it is summed over): the dimensions that stay, and those that go.
struct Side {
  Dims kept;   // sizes
  Dims order;  // of the permutation, the dimensions to sum over last (or first)
  int64_t summed = 1;
};

Side side_of(const TensorImpl& tensor, const Dims& dims, bool summed_last) {
  std::array<bool, max_dims> is_summed{};
  Side side;
  for (int64_t dim : dims) {
    const size_t at = static_cast<size_t>(wrap_dim(dim, tensor.dim()));
    require(!is_summed[at], "dim ", at, " appears multiple times in the list of dims");
    is_summed[at] = true;
    side.summed *= tensor.sizes()[at];
  }
  if (!summed_last) side.order = dims;
  for (size_t i = 0; i < tensor.dim(); ++i) {
    if (is_summed[i]) continue;
    side.kept.push_back(tensor.sizes()[i]);
    side.order.push_back(static_cast<int64_t>(i));
  }
  if (summed_last)
    for (int64_t dim : dims) side.order.push_back(dim);
  return side;
}

int64_t size_at(const TensorImpl& tensor, int64_t dim) {
  if (tensor.dim() == 0) fail(ErrorKind::index, "Dimension specified as ", dim, " but tensor has no dimensions");
  return tensor.sizes()[static_cast<size_t>(wrap_dim(dim, tensor.dim()))];
}

}  // namespace

Tensor vdot(const Tensor& a, const Tensor& b) {
  require(a->dim() == 1 && b->dim() == 1, "1D tensors expected, but got ", a->dim(), "D and ", b->dim(), "D tensors");
  const auto node = start_recording<VdotNode>({&a, &b});
  if (node && node->should_compute_output(0)) node->save_input(0, b);
  if (node && node->should_compute_output(1)) node->save_input(1, a);
  const GradMode mode(false);
  Tensor result = dot(a, b);
  if (node) set_history(result, node.owner);
  return result;
}

Tensor tensordot(const Tensor& given_a, const Tensor& given_b, const Dims& a_dims, const Dims& b_dims) {
  require(a_dims.size() == b_dims.size(), "both dimension lists should have same length");
  require(given_a->dtype() == given_b->dtype(), "both inputs should have same dtype");
  Tensor a = given_a;
  Tensor b = given_b;
  for (size_t i = 0; i < a_dims.size(); ++i) {
    const int64_t of_a = size_at(*a, a_dims[i]);
    const int64_t of_b = size_at(*b, b_dims[i]);
    if (of_b == 1 && of_a != 1) {
      a = sum(a, {a_dims[i]}, true);
    } else if (of_a == 1 && of_b != 1) {
      b = sum(b, {b_dims[i]}, true);
    } else {
      require(of_a == of_b, "contracted dimensions need to match, but first has size ", of_a, " in dim ", a_dims[i],
              " and second has size ", of_b, " in dim ", b_dims[i]);
    }
  }
  const Side left = side_of(*a, a_dims, true);
  const Side right = side_of(*b, b_dims, false);
  Dims sizes = left.kept;
  for (int64_t size : right.kept) sizes.push_back(size);
  const Tensor first = permute(a, left.order);
  const Tensor second = permute(b, right.order);
  if (sizes.empty()) return view(dot(flatten(first, 0, -1), flatten(second, 0, -1)), sizes);
  return reshape(
      mm(reshape(first, {left.kept.product(), left.summed}), reshape(second, {right.summed, right.kept.product()})),
      sizes);
}

Tensor inner(const Tensor& a, const Tensor& b) {
  if (a->dim() == 0 || b->dim() == 0) return mul(a, b);
  require(size_at(*a, -1) == size_at(*b, -1),
          "inner() the last dimension must match on both input tensors but got shapes ", a->sizes(), " and ",
          b->sizes());
  return tensordot(a, b, {-1}, {-1});
}

}  // namespace gradlife::ops
