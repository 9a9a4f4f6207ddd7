// Joining tensors.
#include <algorithm>

#include "engine/backward/op_node.hpp"
#include "engine/ops/kernels/strided_loops.hpp"
#include "engine/ops/ops.hpp"

namespace gradlife::ops {
namespace {

const NodeSpec& cat_spec = node_spec("CatBackward0", {saved_number("dim")});
const NodeSpec& stack_spec = node_spec("StackBackward0", {saved_number("dim")});

class CatNode final : public OpNode<0> {
 public:
  CatNode(const TensorList& tensors, int64_t given_dim, int64_t dim)
      : OpNode<0>(cat_spec), given_dim_(given_dim), dim_(dim) {
    for (const Tensor& tensor : tensors) lengths_.push_back(is_skipped(*tensor) ? skipped : size_of(*tensor));
  }
  SavedValue saved_value(size_t) const override { return saved(given_dim_); }
  bool computes_outputs_together() const override { return true; }
  // Before PyTorch checked dimensions, `torch.empty(0)` could be joined with anything.
  static bool is_skipped(const TensorImpl& tensor) { return tensor.dim() == 1 && tensor.numel() == 0; }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    int64_t start = 0;
    for (size_t i = 0; i < lengths_.size(); ++i) {
      const bool is_part = lengths_[i] != skipped;
      results[i] = is_part ? narrow(gradient, dim_, start, lengths_[i]) : full(Dims{0}, 0, gradient->dtype());
      if (is_part) start += lengths_[i];
    }
  }

 private:
  int64_t size_of(const TensorImpl& tensor) const { return tensor.sizes()[static_cast<size_t>(dim_)]; }
  static constexpr int64_t skipped = -1;
  int64_t given_dim_;
  int64_t dim_;
  std::vector<int64_t> lengths_;
};

class StackNode final : public ListNode {
 public:
  StackNode(const TensorList& tensors, int64_t dim)
      : ListNode(stack_spec, has(*current_policy(), traits::stack_saves_tensors) ? tensors : TensorList()), dim_(dim) {}
  SavedValue saved_value(size_t) const override { return saved(dim_); }
  bool computes_outputs_together() const override { return true; }
  TensorList apply(TensorList&& gradients) override {
    const Tensor gradient = std::move(gradients[0]);
    TensorList results(next_edges().size());
    unpack_list();
    for (size_t i = 0; gradient && i < results.size(); ++i)
      results[i] = select(gradient, dim_, static_cast<int64_t>(i));
    return results;
  }

 private:
  int64_t dim_;
};

DType common_dtype(const TensorList& tensors) {
  DType dtype = tensors[0]->dtype();
  for (const Tensor& tensor : tensors) dtype = kernels::promote(dtype, tensor->dtype());
  return dtype;
}

const Tensor& first_that_counts(const TensorList& tensors) {
  for (const Tensor& tensor : tensors)
    if (!CatNode::is_skipped(*tensor)) return tensor;
  return tensors[0];
}

// Returns the shape of the joined tensor. Errors: no dimensions; different numbers of them; sizes that differ.
Dims joined_sizes(const TensorList& tensors, const Tensor& like, size_t dim) {
  Dims sizes = like->sizes();
  sizes[dim] = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorImpl& tensor = *tensors[i];
    if (CatNode::is_skipped(tensor)) continue;
    require(tensor.dim() == like->dim(), "Tensors must have same number of dimensions: got ", like->dim(), " and ",
            tensor.dim());
    for (size_t at = 0; at < sizes.size(); ++at)
      require(at == dim || tensor.sizes()[at] == sizes[at], "Sizes of tensors must match except in dimension ", dim,
              ". Expected size ", sizes[at], " but got size ", tensor.sizes()[at], " for tensor number ", i,
              " in the list.");
    sizes[dim] += tensor.sizes()[dim];
  }
  return sizes;
}

void place(const Tensor& target, const TensorImpl& part, size_t dim, int64_t start) {
  kernels::copy(*alias(target, part.sizes(), target->strides(), start * target->strides()[dim]), part);
}

// Operations on inference tensors alone are not differentiated: outside inference mode, PyTorch's decomposition shows.
bool shows_parts(const TensorList& tensors) {
  const bool all_inference =
      std::all_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) { return tensor->is_inference(); });
  return all_inference && !inference_mode();
}

}  // namespace

Tensor cat(const TensorList& tensors, int64_t given_dim) {
  if (tensors.empty()) fail(ErrorKind::value, "torch.cat(): expected a non-empty list of Tensors");
  refuse_forbidden_views(tensors);
  for (size_t i = 0; i < tensors.size(); ++i)
    require(tensors[i]->dim() > 0, "zero-dimensional tensor (at position ", i, ") cannot be concatenated");
  const Tensor& like = first_that_counts(tensors);
  const size_t dim = static_cast<size_t>(wrap_dim(given_dim, like->dim()));
  const Dims sizes = joined_sizes(tensors, like, dim);
  NodePtr node;
  if (needs_graph(tensors)) {
    node = make_node<CatNode>(tensors, given_dim, static_cast<int64_t>(dim));
    node->set_next_edges(gradient_edges(tensors));
  }
  const auto compute = [&] {
    Tensor joined = empty(sizes, common_dtype(tensors));
    int64_t start = 0;
    for (const Tensor& tensor : tensors) {
      if (CatNode::is_skipped(*tensor)) continue;
      place(joined, *tensor, dim, start);
      start += tensor->sizes()[dim];
    }
    return joined;
  };
  Tensor result = lowered("cat.default", compute, tensors, given_dim);
  if (node) set_history(result, node);
  return result;
}

Tensor stack(const TensorList& tensors, int64_t given_dim) {
  require(!tensors.empty(), "stack expects a non-empty TensorList");
  refuse_forbidden_views(tensors);
  const Dims& each = tensors[0]->sizes();
  for (size_t i = 1; i < tensors.size(); ++i)
    require(tensors[i]->sizes() == each, "stack expects each tensor to be equal size, but got ", each,
            " at entry 0 and ", tensors[i]->sizes(), " at entry ", i);
  const size_t dim = static_cast<size_t>(wrap_dim(given_dim, each.size() + 1));
  Dims sizes = each;
  sizes.insert(dim, static_cast<int64_t>(tensors.size()));
  if (dim < each.size() && shows_parts(tensors)) return view(cat(tensors, given_dim), sizes);
  NodePtr node;
  if (needs_graph(tensors)) {
    node = make_node<StackNode>(tensors, given_dim);
    node->set_next_edges(gradient_edges(tensors));
  }
  const auto compute = [&] {
    Tensor joined = empty(sizes, common_dtype(tensors));
    Dims strides = joined->strides();
    strides.erase(dim);
    for (size_t i = 0; i < tensors.size(); ++i)
      kernels::copy(*alias(joined, each, strides, static_cast<int64_t>(i) * joined->strides()[dim]), *tensors[i]);
    return joined;
  };
  Tensor result = lowered("stack.default", compute, tensors, given_dim);
  if (node) set_history(result, node);
  return result;
}

}  // namespace gradlife::ops
