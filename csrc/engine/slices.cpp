// Slices along one dimension, chosen by a vector of positions.
#include "engine/along.hpp"
#include "engine/indexing.hpp"

namespace gradlife::ops {
namespace {

using kernels::sizes_with;
using kernels::walk_slices;

const NodeSpec& select_spec =
    node_spec("IndexSelectBackward0", {saved_number("dim"), saved_tensor("index"), saved_number("self_sym_sizes")});
const NodeSpec& add_spec =
    node_spec("IndexAddBackward0", {saved_number("alpha"), saved_number("dim"), saved_tensor("index"),
                                    saved_tensor("source"), saved_number("source_dim")});
const NodeSpec& copy_spec = node_spec("IndexCopyBackward0", {saved_number("dim"), saved_tensor("index"),
                                                             saved_tensor("source"), saved_number("source_dim")});
class SelectNode final : public OpNode<1> {
 public:
  SelectNode(int64_t dim, const Dims& sizes) : OpNode<1>(select_spec), dim_(dim), sizes_(sizes) {}
  SavedValue saved_value(size_t field) const override { return field == 0 ? saved(dim_) : saved(sizes_); }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor index = unpack(0);
    results[0] = index_add(full(sizes_, 0, gradient->dtype()), dim_, index, gradient, 1, Form::in_place);
  }

 private:
  int64_t dim_;
  Dims sizes_;
};

// Inputs: the tensor written to, the source. Slots: index, source.
class SourceNode : public OpNode<2> {
 public:
  SourceNode(const NodeSpec& spec, int64_t dim, const Scalar& alpha, size_t source_dim)
      : OpNode<2>(spec), dim_(dim), alpha_(alpha), source_dim_(static_cast<int64_t>(source_dim)) {}
  SavedValue saved_value(size_t field) const override {
    const size_t number = adds() ? field : field + 1;
    return number == 0 ? saved(alpha_) : number == 1 ? saved(dim_) : saved(source_dim_);
  }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor index = unpack(0);
    const Tensor source = unpack(1);
    if (needs(0)) results[0] = adds() ? gradient : index_fill(gradient, dim_, index, Scalar(0), Form::like_copy);
    if (needs(1)) results[1] = of_source(gradient, index, source);
  }

 private:
  bool adds() const { return &spec() == &add_spec; }
  Tensor of_source(const Tensor& gradient, const Tensor& index, const Tensor& source) const {
    const Tensor part = source_dim_ > 0 ? expand(index_select(gradient, dim_, index), source->sizes())
                                        : index_select(gradient, dim_, index->dim() > 0 ? squeeze(index, 0) : index);
    return adds() && !alpha_.is(1) ? mul_scalar(part, alpha_) : part;
  }
  int64_t dim_;
  Scalar alpha_;
  int64_t source_dim_;
};

void refuse_far(const TensorImpl& index, int64_t size, ErrorKind kind, const char* prefix) {
  kernels::check_positions(index, 0, size, [&](int64_t position) {
    fail(kind, prefix, "index ", position, " is out of bounds for dimension 0 with size ", size);
  });
}

void refuse_memory(const TensorImpl& target, const TensorImpl& index, const TensorImpl& source) {
  refuse_overlap(target);
  refuse_shared_memory(target, index);
  refuse_shared_memory(target, source);
}

void check_add(const TensorImpl& a, size_t dim, const TensorImpl& index, const TensorImpl& source) {
  require(index.dtype() == DType::int64 || index.dtype() == DType::int32,
          "index_add_(): Expected dtype int32/int64 for index but got: ", kernels::scalar_type_name(index.dtype()));
  require(a.dtype() == source.dtype(), "index_add_(): self (", kernels::scalar_type_name(a.dtype()), ") and source (",
          kernels::scalar_type_name(source.dtype()), ") must have the same scalar type");
  if (index.dim() > 1)
    fail(ErrorKind::index, "index_add_(): Index is supposed to be a vector, but got dim: ", index.dim(),
         " with type: ", kernels::scalar_type_name(index.dtype()), " and size: ", index.sizes());
  const int64_t given = dim < source.dim() ? source.sizes()[dim] : 1;
  require(index.numel() == (source.dim() == 0 ? 1 : given), "index_add_(): Number of indices (", index.numel(),
          ") should be equal to source.size(dim): (", given, "), for dim: ", dim);
  bool matches = a.dim() == source.dim();
  for (size_t i = 0; matches && i < a.dim() && i < source.dim(); ++i)
    matches = i == dim || a.sizes()[i] == source.sizes()[i];
  require(matches,
          "source tensor shape must match self tensor shape, excluding the specified dimension. Got "
          "self.shape = ",
          a.sizes(), " source.shape = ", source.sizes());
}

Dims slice_of(const TensorImpl& tensor, size_t dim) {
  Dims sizes = tensor.sizes();
  if (!sizes.empty()) sizes.erase(dim);
  return sizes;
}

void check_copy(const TensorImpl& a, size_t dim, const TensorImpl& index, const TensorImpl& source) {
  if (index.dim() > 1)
    fail(ErrorKind::index, "index_copy_(): Index should have dimension 1 or 0 (got ", index.dim(), ")");
  if (source.dim() == 0 && index.numel() != 1)
    fail(ErrorKind::index, "index_copy_(): When source is scalar, index should have one element (got ", index.numel(),
         ")");
  if (source.dim() != a.dim() && source.dim() != 0 && a.dim() != 0)
    fail(ErrorKind::index,
         "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
         "dimensionality (",
         source.dim(), "), destination dimensionality (", a.dim(), ")");
  require(index.dtype() == DType::int64, "index_copy_(): Expected a long tensor for index, but got ",
          kernels::scalar_type_name(index.dtype()));
  require(a.dtype() == source.dtype(),
          "index_copy_(): self and source expected to have the same dtype, but got (self) ",
          kernels::scalar_type_name(a.dtype()), " and (source) ", kernels::scalar_type_name(source.dtype()));
  const Dims to = slice_of(a, dim);
  const Dims from = slice_of(source, dim);
  bool matches = to.size() == from.size();
  size_t at = 0;
  for (; matches && at < to.size(); ++at)
    if (to[at] != from[at]) break;
  const auto text = [](const Dims& sizes) {
    std::string joined;
    for (int64_t size : sizes) joined += concat(joined.empty() ? "" : " ", size);
    return joined;
  };
  require(matches && at == to.size(),
          "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: ", text(to),
          " at dimension ", dim, " and source slice shape: ", text(from), " at dimension 0.");
  const int64_t count = source.dim() == 0 ? 1 : source.sizes()[dim];
  if (count != index.numel())
    fail(ErrorKind::index, "index_copy_(): Number of indices (", index.numel(),
         ") should be equal to source.size(dim) (", count, ")");
}

Recording<SourceNode> source_node(const NodeSpec& spec, const Tensor& a, int64_t dim, const Tensor& index,
                                  const Tensor& source, const Scalar& alpha) {
  if (!is_floating(a->dtype())) return {};
  auto node = start_recording<SourceNode>({&a, &source}, spec, dim, alpha, source->dim());
  if (node && node->should_compute_output(1)) node->save_input(0, index);
  if (node && node->should_compute_output(1)) node->save_input(1, source);
  return node;
}

}  // namespace

Tensor index_select(const Tensor& a, int64_t given_dim, const Tensor& index) {
  const auto node = start_recording<SelectNode>({&a}, given_dim, a->sizes());
  if (node) node->save_input(0, index);
  const size_t dim = static_cast<size_t>(wrap_dim(given_dim, a->dim()));
  if (index->dim() > 1) fail(ErrorKind::index, "index_select(): Index is supposed to be a vector");
  require(a->dim() > 0 || index->numel() == 1, "index_select(): Index to scalar can have only 1 value, got ",
          index->numel(), " value(s)");
  require(index->dtype() == DType::int64 || index->dtype() == DType::int32,
          "index_select(): Expected dtype int32 or int64 for index");
  const Dims sizes = sizes_with(*a, dim, index->numel());
  const kernels::Positions positions = kernels::positions_along(index, dim, sizes);
  kernels::check_positions(*positions.index, 0, kernels::size_along(*a, dim),
                           [](int64_t) { fail(ErrorKind::index, "index out of range in self"); });
  Tensor result = empty(a->dim() == 0 ? Dims() : sizes, a->dtype());
  kernels::dispatch(a->dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::walk<T>(sizes, result->data<T>(), contiguous_strides(sizes), *a, positions,
                     [](T& to, T from) { to = from; });
  });
  if (node) set_history(result, node.owner);
  return result;
}

Tensor index_add(const Tensor& a, int64_t given_dim, const Tensor& index, const Tensor& source, const Scalar& alpha,
                 Form form) {
  check_form(form, {&a, &source, &index});
  const auto node = source_node(add_spec, a, given_dim, index, source, alpha);
  const size_t dim = static_cast<size_t>(wrap_dim(given_dim, a->dim()));
  check_add(*a, dim, *index, *source);
  const Tensor positions = to_dtype(index, DType::int64);
  const int64_t size = kernels::size_along(*a, dim);
  refuse_far(*positions, size, ErrorKind::runtime, "");
  if (form == Form::in_place) refuse_memory(*a, *index, *source);
  const Dims sizes = sizes_with(*a, dim, index->numel());
  return changed(a, form, node, [&](const Tensor& target) {
    kernels::dispatch(target->dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T factor = alpha.to<T>();
      walk_slices<T>(*target, dim, positions, *source, sizes,
                     [factor](T place, T value) { return static_cast<T>(place + factor * value); });
    });
  });
}

Tensor index_copy(const Tensor& a, int64_t given_dim, const Tensor& index, const Tensor& source, Form form) {
  check_form(form, {&a, &source, &index});
  const auto node = source_node(copy_spec, a, given_dim, index, source, 1);
  const size_t dim = static_cast<size_t>(wrap_dim(given_dim, a->dim()));
  check_copy(*a, dim, *index, *source);
  refuse_far(*index, kernels::size_along(*a, dim), ErrorKind::index, "index_copy_(): ");
  if (form == Form::in_place) refuse_memory(*a, *index, *source);
  const Dims sizes = sizes_with(*a, dim, index->numel());
  return changed(a, form, node, [&](const Tensor& target) {
    kernels::dispatch(target->dtype(), [&](auto zero) {
      using T = decltype(zero);
      walk_slices<T>(*target, dim, index, *source, sizes, [](T, T value) { return value; });
    });
  });
}

}  // namespace gradlife::ops
