// Several views of one tensor from one node: unbind, split, chunk.
#include <algorithm>

#include "engine/backward/op_node.hpp"
#include "engine/ops/ops.hpp"

namespace gradlife::ops {
namespace {

const NodeSpec& unbind_spec = node_spec("UnbindBackward0", {saved_number("dim")});
const NodeSpec& split_spec =
    node_spec("SplitBackward0", {saved_number("dim"), saved_number("self_sym_sizes"), saved_number("split_size")});
const NodeSpec& split_sizes_spec = node_spec(
    "SplitWithSizesBackward0", {saved_number("dim"), saved_number("self_sym_sizes"), saved_number("split_sizes")});

const NodeSpec& unsafe_split_spec = node_spec(
    "UnsafeSplitBackward0", {saved_number("dim"), saved_number("self_sym_sizes"), saved_number("split_size")});
const NodeSpec& unsafe_split_sizes_spec =
    node_spec("UnsafeSplitWithSizesBackward0",
              {saved_number("dim"), saved_number("self_sym_sizes"), saved_number("split_sizes")});

// Views, or tensors on the same memory that are independent and may each be changed.
enum class Kind : uint8_t { views, unsafe };

// Joins the gradients of the parts, with zeros for unused parts.
class PartsNode final : public Node {
 public:
  PartsNode(const NodeSpec& spec, int64_t dim, const Dims& sizes, SavedValue how)
      : spec_(spec), dim_(dim), sizes_(sizes), how_(std::move(how)) {}
  const NodeSpec& spec() const override { return spec_; }
  SavedValue saved_value(size_t field) const override {
    return field == 0 ? saved(dim_) : field == 1 ? saved(sizes_) : how_;
  }
  TensorList apply(TensorList&& gradients) override {
    const auto known = std::find_if(gradients.begin(), gradients.end(), [](const Tensor& each) { return bool(each); });
    if (known == gradients.end()) return TensorList(1);
    const DType dtype = (*known)->dtype();
    for (size_t i = 0; i < gradients.size(); ++i)
      if (!gradients[i]) gradients[i] = full(input_metadata()[i].sizes, 0, dtype);
    return {&spec_ == &unbind_spec ? stack(gradients, dim_) : cat(gradients, dim_)};
  }

 private:
  const NodeSpec& spec_;
  int64_t dim_;
  Dims sizes_;
  SavedValue how_;
};

// Creates the views from a loop that gives each one's sizes, strides and offset.
template <class Window>
TensorList take_apart(size_t count, const NodePtr& node, Window window) {
  TensorList parts;
  parts.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    Tensor part = window(i);
    if (node) set_history(part, node);
    parts.push_back(std::move(part));
  }
  return parts;
}

NodePtr node_for(const Tensor& a, const NodeSpec& spec, int64_t dim, SavedValue how) {
  if (!needs_graph({&a})) return {};
  NodePtr node = make_node<PartsNode>(spec, dim, a->sizes(), std::move(how));
  node->set_next_edges(gradient_edges({&a}));
  return node;
}

Tensor part(const Tensor& a, const Dims& sizes, const Dims& strides, int64_t offset) {
  return make_view(a, sizes, strides, offset, CreationMeta::multi_output);
}

TensorList split_at(const Tensor& a, const std::vector<int64_t>& lengths, size_t dim, const NodePtr& node, Kind kind) {
  int64_t start = 0;
  return take_apart(lengths.size(), node, [&](size_t i) {
    Dims sizes = a->sizes();
    sizes[dim] = lengths[i];
    const int64_t offset = a->offset() + start * a->strides()[dim];
    start += lengths[i];
    return kind == Kind::views ? part(a, sizes, a->strides(), offset) : alias(a, sizes, a->strides(), offset);
  });
}

TensorList split_evenly(const Tensor& a, int64_t size, int64_t given_dim, Kind kind) {
  refuse_forbidden_view_of(a);
  require(a->dim() != 0, "split expects at least a 1-dimensional tensor");
  require(size >= 0, "split expects split_size be non-negative, but got split_size=", size);
  const size_t dim = static_cast<size_t>(wrap_dim(given_dim, a->dim()));
  const int64_t length = a->sizes()[dim];
  require(size > 0 || length == 0, "split_size can only be 0 if dimension size is 0, but got dimension size of ",
          length);
  std::vector<int64_t> lengths;
  for (int64_t start = 0; start < length; start += size) lengths.push_back(std::min(size, length - start));
  if (lengths.empty()) lengths.push_back(0);
  const NodeSpec& spec = kind == Kind::views ? split_spec : unsafe_split_spec;
  return split_at(a, lengths, dim, node_for(a, spec, given_dim, saved(size)), kind);
}

TensorList split_by(const Tensor& a, const Dims& wanted, int64_t given_dim, Kind kind) {
  refuse_forbidden_view_of(a);
  require(a->dim() != 0, "split expects at least a 1-dimensional tensor");
  const size_t dim = static_cast<size_t>(wrap_dim(given_dim, a->dim()));
  int64_t total = 0;
  for (int64_t size : wanted) {
    require(size >= 0,
            "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=", wanted);
    total += size;
  }
  require(total == a->sizes()[dim], "split_with_sizes expects split_sizes to sum exactly to ", a->sizes()[dim],
          " (input tensor's size at dimension ", dim, "), but got split_sizes=", wanted);
  const NodeSpec& spec = kind == Kind::views ? split_sizes_spec : unsafe_split_sizes_spec;
  return split_at(a, {wanted.begin(), wanted.end()}, dim, node_for(a, spec, given_dim, saved(wanted)), kind);
}

TensorList chunk_of(const Tensor& a, int64_t chunks, int64_t dim, Kind kind) {
  require(a->dim() > 0, "chunk expects at least a 1-dimensional tensor");
  require(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  const int64_t length = a->sizes()[static_cast<size_t>(wrap_dim(dim, a->dim()))];
  if (length == 0) return split_by(a, Dims(static_cast<size_t>(chunks), 0), dim, kind);  // as many as requested
  return split_evenly(a, (length + chunks - 1) / chunks, dim, kind);
}

}  // namespace

TensorList unbind(const Tensor& a, int64_t given_dim) {
  refuse_forbidden_view_of(a);
  if (a->dim() == 0) fail(ErrorKind::index, "Dimension specified as ", given_dim, " but tensor has no dimensions");
  const size_t dim = static_cast<size_t>(wrap_dim(given_dim, a->dim()));
  Dims sizes = a->sizes();
  Dims strides = a->strides();
  sizes.erase(dim);
  strides.erase(dim);
  const NodePtr node = node_for(a, unbind_spec, given_dim, {});
  return take_apart(static_cast<size_t>(a->sizes()[dim]), node, [&](size_t i) {
    return part(a, sizes, strides, a->offset() + static_cast<int64_t>(i) * a->strides()[dim]);
  });
}

TensorList split(const Tensor& a, int64_t size, int64_t dim) { return split_evenly(a, size, dim, Kind::views); }

TensorList split_sizes(const Tensor& a, const Dims& sizes, int64_t dim) { return split_by(a, sizes, dim, Kind::views); }

TensorList chunk(const Tensor& a, int64_t chunks, int64_t dim) { return chunk_of(a, chunks, dim, Kind::views); }

}  // namespace gradlife::ops
