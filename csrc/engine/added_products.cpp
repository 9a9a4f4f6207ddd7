// Products of matrices and vectors added to a tensor: beta * input + alpha * product.
#include "engine/added_product_checks.hpp"
#include "engine/kernels.hpp"
#include "engine/op_node.hpp"
#include "engine/overlap.hpp"
#include "engine/product_ops.hpp"
#include "engine/products.hpp"

namespace gradlife::ops {
namespace {

Tensor times(const Tensor& tensor, const Scalar& factor) { return factor.is(1) ? tensor : mul_scalar(tensor, factor); }

bool is_column_major(const Dims& sizes, const Dims& strides) { return strides[0] == 1 && strides[1] == sizes[0]; }

std::vector<SavedField> fields_of(const char* first, const char* second) {
  return {saved_number("alpha"), saved_number("beta"), saved_tensor(first), saved_tensor(second)};
}

const NodeSpec& addmm_spec =
    node_spec("AddmmBackward0", {saved_number("alpha"), saved_number("beta"), saved_tensor("mat1"),
                                 saved_number("mat1_sym_sizes"), saved_number("mat1_sym_strides"), saved_tensor("mat2"),
                                 saved_number("mat2_sym_sizes"), saved_number("mat2_sym_strides")});
const NodeSpec& addmv_spec = node_spec("AddmvBackward0", fields_of("mat", "vec"));
const NodeSpec& addr_spec = node_spec("AddrBackward0", fields_of("vec1", "vec2"));
const NodeSpec& baddbmm_spec = node_spec(
    "BaddbmmBackward0", {saved_number("alpha"), saved_tensor("batch1"), saved_tensor("batch2"), saved_number("beta")});
const NodeSpec& addbmm_spec =
    node_spec("AddbmmBackward0", {saved_number("alpha"), saved_tensor("batch1"), saved_number("batch1_sym_argsize_0"),
                                  saved_number("batch1_sym_argsize_1"), saved_tensor("batch2"),
                                  saved_number("batch2_sym_argsize_2"), saved_number("beta")});

// Inputs: the tensor added to, and the two factors. Slots: the factors, each where the other one needs it.
class AddedProductNode : public OpNode<2> {
 public:
  AddedProductNode(const NodeSpec& spec, const Factors& factors) : OpNode<2>(spec), factors_(factors) {}
  SavedValue saved_value(size_t field) const override { return saved(field == 0 ? factors_.alpha : factors_.beta); }
  void save_factors(const Tensor& first, const Tensor& second) {
    if (should_compute_output(2)) save_input(0, first);
    if (should_compute_output(1)) save_input(1, second);
  }

 protected:
  virtual Tensor by_first(const Tensor& gradient, const Tensor& second) const = 0;
  virtual Tensor by_second(const Tensor& gradient, const Tensor& first) const = 0;
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor first = unpack(0);
    const Tensor second = unpack(1);
    if (needs(0)) results[0] = times(gradient, factors_.beta);
    if (needs(1)) results[1] = times(by_first(gradient, second), factors_.alpha);
    if (needs(2)) results[2] = times(by_second(gradient, first), factors_.alpha);
  }

 private:
  Factors factors_;
};

// The strides that a matrix had decide how its gradient is laid out.
class AddmmNode final : public AddedProductNode {
 public:
  AddmmNode(const Factors& factors, const Tensor& first, const Tensor& second)
      : AddedProductNode(addmm_spec, factors), first_(layout_of(*first)), second_(layout_of(*second)) {}
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
        return AddedProductNode::saved_value(field);
    }
  }

 protected:
  Tensor by_first(const Tensor& gradient, const Tensor& second) const override {
    return is_column_major(first_.sizes, first_.strides) ? t(mm(second, t(gradient))) : mm(gradient, t(second));
  }
  Tensor by_second(const Tensor& gradient, const Tensor& first) const override {
    return is_column_major(second_.sizes, second_.strides) ? t(mm(t(gradient), first)) : mm(t(first), gradient);
  }

 private:
  struct Layout {
    Dims sizes;
    Dims strides;
  };
  static Layout layout_of(const TensorImpl& tensor) { return {tensor.sizes(), tensor.strides()}; }
  Layout first_, second_;
};

class AddmvNode final : public AddedProductNode {
 public:
  AddmvNode(const Factors& factors, const Tensor&, const Tensor&) : AddedProductNode(addmv_spec, factors) {}

 protected:
  Tensor by_first(const Tensor& gradient, const Tensor& second) const override { return outer(gradient, second); }
  Tensor by_second(const Tensor& gradient, const Tensor& first) const override { return mv(t(first), gradient); }
};

class AddrNode final : public AddedProductNode {
 public:
  AddrNode(const Factors& factors, const Tensor&, const Tensor&) : AddedProductNode(addr_spec, factors) {}

 protected:
  Tensor by_first(const Tensor& gradient, const Tensor& second) const override { return mv(gradient, second); }
  Tensor by_second(const Tensor& gradient, const Tensor& first) const override { return mv(t(gradient), first); }
};

class BaddbmmNode : public AddedProductNode {
 public:
  BaddbmmNode(const Factors& factors, const Tensor&, const Tensor&) : BaddbmmNode(baddbmm_spec, factors) {}
  SavedValue saved_value(size_t field) const override { return AddedProductNode::saved_value(field == 0 ? 0 : 1); }

 protected:
  BaddbmmNode(const NodeSpec& spec, const Factors& factors) : AddedProductNode(spec, factors) {}
  Tensor by_first(const Tensor& gradient, const Tensor& second) const override {
    return bmm(gradient, transpose(second, 1, 2));
  }
  Tensor by_second(const Tensor& gradient, const Tensor& first) const override {
    return bmm(transpose(first, 1, 2), gradient);
  }
};

class AddbmmNode final : public BaddbmmNode {
 public:
  AddbmmNode(const Factors& factors, const Tensor& first, const Tensor& second)
      : BaddbmmNode(addbmm_spec, factors), sizes_{first->sizes()[0], first->sizes()[1], second->sizes()[2]} {}
  SavedValue saved_value(size_t field) const override {
    if (field == 2 || field == 3) return saved(sizes_[field - 2]);
    return field == 5 ? saved(sizes_[2]) : BaddbmmNode::saved_value(field);
  }

 protected:
  Tensor by_first(const Tensor& gradient, const Tensor& second) const override {
    return BaddbmmNode::by_first(repeated(gradient), second);
  }
  Tensor by_second(const Tensor& gradient, const Tensor& first) const override {
    return BaddbmmNode::by_second(repeated(gradient), first);
  }

 private:
  Tensor repeated(const Tensor& gradient) const { return expand(unsqueeze(gradient, 0), sizes_); }
  Dims sizes_;
};

// out = beta * input + alpha * product, in the product's dtype; `input` is not looked at where beta is 0.
void blend(const TensorImpl& out, const TensorImpl& input, const TensorImpl& product, const Factors& factors) {
  kernels::dispatch_numbers(out.dtype(), "addmm_impl_cpu_", [&](auto zero) {
    using T = decltype(zero);
    const T alpha = factors.alpha.to<T>();
    const T beta = factors.beta.to<T>();
    const kernels::Operand<T> added(product);
    if (beta == T(0)) return kernels::map<T>(out, added, [=](T y) { return static_cast<T>(alpha * y); });
    kernels::map<T>(out, kernels::Operand<T>(input), added,
                    [=](T x, T y) { return static_cast<T>(beta * x + alpha * y); });
  });
}

using Product = Tensor (*)(const Tensor& first, const Tensor& second);

template <class NodeType>
Recording<NodeType> record(const Tensor& input, const Tensor& first, const Tensor& second, const Factors& factors) {
  const auto node = start_recording<NodeType>({&input, &first, &second}, factors, first, second);
  if (node) node->save_factors(first, second);
  return node;
}

// The product of vectors is computed element by element, and so laid out in memory like what it is computed from.
Tensor laid_out_like(const Tensor& input, const Tensor& a, const Tensor& b, const TensorImpl& product, DType dtype) {
  const GradMode mode(false);
  const Tensor wide = expand(input, product.sizes());
  const Tensor column = reshape(a, {a->numel(), 1});
  return kernels::allocate_result(product.sizes(), dtype, {wide.get(), column.get(), b.get()});
}

template <class NodeType>
Tensor added(const Tensor& input, const Tensor& first, const Tensor& second, const Factors& factors, Product product) {
  const auto node = record<NodeType>(input, first, second, factors);
  const Tensor plain = product(first, second);
  require_expandable(input, plain->sizes());
  const DType dtype = kernels::result_dtype({input.get(), plain.get()});
  const Tensor result = std::is_same_v<NodeType, AddrNode> ? laid_out_like(input, first, second, *plain, dtype)
                                                           : empty(plain->sizes(), dtype);
  blend(*result, *input, *plain, factors);
  if (node) set_history(result, node.owner);
  return result;
}

template <class NodeType>
Tensor added_in_place(const Tensor& target, const Tensor& first, const Tensor& second, const Factors& factors,
                      Product product) {
  check_inplace(target, needs_graph({&target, &first, &second}));
  const auto node = record<NodeType>(target, first, second, factors);
  const Tensor plain = product(first, second);
  require(target->sizes() == plain->sizes(), "Bad in-place call: input tensor size ", target->sizes(),
          " and output tensor size ", plain->sizes(), " should match");
  refuse_overlap(*target);
  refuse_cast(kernels::result_dtype({target.get(), plain.get()}), *target);
  blend(*target, *target, *plain, factors);
  finish_in_place(target, node);
  return target;
}

Tensor matrices(const Tensor& a, const Tensor& b) { return kernels::matrix_product(*a, *b); }
Tensor matrix_and_vector(const Tensor& a, const Tensor& b) { return kernels::matrix_vector_product(*a, *b); }
Tensor batches(const Tensor& a, const Tensor& b) { return kernels::batched_product(*a, *b); }
Tensor summed_batches(const Tensor& a, const Tensor& b) {
  const GradMode mode(false);
  const DType dtype = a->dtype();
  return sum(kernels::batched_product(*a, *b), {0}, false, &dtype);
}
Tensor vectors(const Tensor& a, const Tensor& b) {
  const GradMode mode(false);
  return mul(reshape(a, {a->numel(), 1}), b);
}

}  // namespace

Tensor addmm(const Tensor& input, const Tensor& a, const Tensor& b, const Factors& factors) {
  check_addmm(*input, *a, *b);
  return added<AddmmNode>(input, a, b, factors, matrices);
}
Tensor addmm_in_place(const Tensor& target, const Tensor& a, const Tensor& b, const Factors& factors) {
  check_addmm(*target, *a, *b);
  return added_in_place<AddmmNode>(target, a, b, factors, matrices);
}
Tensor addmv(const Tensor& input, const Tensor& a, const Tensor& b, const Factors& factors) {
  check_addmv(*input, *a, *b);
  return added<AddmvNode>(input, a, b, factors, matrix_and_vector);
}
Tensor addmv_in_place(const Tensor& target, const Tensor& a, const Tensor& b, const Factors& factors) {
  check_addmv(*target, *a, *b);
  return added_in_place<AddmvNode>(target, a, b, factors, matrix_and_vector);
}
Tensor addr(const Tensor& input, const Tensor& a, const Tensor& b, const Factors& factors) {
  check_addr(*input, *a, *b, factors);
  return added<AddrNode>(input, a, b, factors, vectors);
}
Tensor addr_in_place(const Tensor& target, const Tensor& a, const Tensor& b, const Factors& factors) {
  check_addr(*target, *a, *b, factors);
  require(target->dim() == 2, "2D tensor expected, got ", target->dim(), "D tensor for input");
  const Dims sizes{a->numel(), b->numel()};
  require(target->sizes() == sizes, "size mismatch, input: ", target->sizes(), ", v1: ", a->sizes(),
          ", v2: ", b->sizes());
  refuse_overlap(*target);
  for (const Tensor* vector : {&a, &b}) refuse_partial_overlap(*target, **vector);
  return added_in_place<AddrNode>(target, a, b, factors, vectors);
}
Tensor baddbmm(const Tensor& input, const Tensor& a, const Tensor& b, const Factors& factors) {
  check_baddbmm(input, *a, *b);
  return added<BaddbmmNode>(input, a, b, factors, batches);
}
Tensor baddbmm_in_place(const Tensor& target, const Tensor& a, const Tensor& b, const Factors& factors) {
  check_baddbmm(target, *a, *b);
  return added_in_place<BaddbmmNode>(target, a, b, factors, batches);
}
Tensor addbmm(const Tensor& input, const Tensor& a, const Tensor& b, const Factors& factors) {
  check_addbmm(input, *a, *b);
  return added<AddbmmNode>(input, a, b, factors, summed_batches);
}
Tensor addbmm_in_place(const Tensor& target, const Tensor& a, const Tensor& b, const Factors& factors) {
  check_addbmm(target, *a, *b);
  return added_in_place<AddbmmNode>(target, a, b, factors, summed_batches);
}

Tensor outer(const Tensor& a, const Tensor& b) {
  check_vector(*a, "outer", "self");
  check_vector(*b, "outer", "vec2");
  return mul(reshape(a, {a->numel(), 1}), b);
}

}  // namespace gradlife::ops
