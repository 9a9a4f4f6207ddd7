// gather and scatter: elements by their position along one dimension.
#include <functional>

#include "engine/along.hpp"
#include "engine/indexing.hpp"
#include "engine/undifferentiable.hpp"

namespace gradlife::ops {
namespace {

const NodeSpec& gather_spec = node_spec(
    "GatherBackward0", {saved_number("dim"), saved_tensor("index"), saved_tensor("self"), saved_number("sparse_grad")});
const NodeSpec& scatter_spec = node_spec("ScatterBackward0", {saved_number("dim"), saved_tensor("index")});
const NodeSpec& scatter_number_spec = node_spec("ScatterBackward1", {saved_number("dim"), saved_tensor("index")});
const NodeSpec& scatter_add_spec = node_spec("ScatterAddBackward0", {saved_number("dim"), saved_tensor("index")});

// Slots: index, self.
class GatherNode final : public OpNode<2> {
 public:
  explicit GatherNode(int64_t dim) : OpNode<2>(gather_spec), dim_(dim) {}
  SavedValue saved_value(size_t field) const override { return field == 0 ? saved(dim_) : saved(false); }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor index = unpack(0);
    const Tensor self = unpack(1);
    results[0] = scatter_add(full(self->sizes(), 0, gradient->dtype()), dim_, index, gradient, Form::in_place);
  }

 private:
  int64_t dim_;
};

// Inputs: the tensor scattered into, and what is scattered where that is a tensor. Slot: index.
class ScatterNode final : public OpNode<1> {
 public:
  ScatterNode(const NodeSpec& spec, int64_t dim) : OpNode<1>(spec), dim_(dim) {}
  SavedValue saved_value(size_t) const override { return saved(dim_); }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor index = unpack(0);
    const bool adds = &spec() == &scatter_add_spec;
    if (needs(0)) results[0] = adds ? gradient : scatter_number(gradient, dim_, index, 0, Form::plain_copy);
    if (needs(1)) results[1] = gather(gradient, dim_, index);
  }

 private:
  int64_t dim_;
};

void check_index_dtype(const TensorImpl& index, const char* operation) {
  require(index.numel() == 0 || index.dtype() == DType::int64 || index.dtype() == DType::int32, operation,
          "(): Expected dtype int32/int64 for index");
}

bool fits_beside(const TensorImpl& index, const TensorImpl& other, size_t dim) {
  for (size_t i = 0; i < index.dim() && i < other.dim(); ++i)
    if (i != dim && index.sizes()[i] > other.sizes()[i]) return false;
  return true;
}

void refuse_larger(const TensorImpl& index, const TensorImpl& a, size_t dim) {
  for (size_t i = 0; i < index.dim() && i < a.dim(); ++i)
    require(i == dim || index.sizes()[i] <= a.sizes()[i], "Size does not match at dimension ", i, " expected index ",
            index.sizes(), " to be no larger than self ", a.sizes(), " apart from dimension ", dim);
}

bool fits(const TensorImpl& index, const TensorImpl& other) {
  for (size_t i = 0; i < index.dim() && i < other.dim(); ++i)
    if (index.sizes()[i] > other.sizes()[i]) return false;
  return true;
}

void check_dims(const TensorImpl& a, const TensorImpl& index, const char* what) {
  require(kernels::shared_dims(a.dim()) == kernels::shared_dims(index.dim()),
          "Index tensor must have the same number of dimensions as ", what, " tensor");
}

void refuse_outside(const TensorImpl& index, size_t dim, int64_t size) {
  kernels::check_positions(index, 0, size, [&](int64_t position) {
    fail(ErrorKind::runtime, "index ", position, " is out of bounds for dimension ", dim, " with size ", size);
  });
}

void refuse_memory(const TensorImpl& target, const TensorImpl& index, const TensorImpl* source) {
  refuse_overlap(target);
  refuse_shared_memory(target, index);
  if (source != nullptr) refuse_shared_memory(target, *source);
}

// Everything that a scatter refuses before it writes. `source` may be missing: a number takes its place.
void check_scatter(const TensorImpl& a, size_t dim, const TensorImpl& index, const TensorImpl* source, Form form) {
  check_index_dtype(index, "scatter");
  require(source == nullptr || source->dtype() == a.dtype(), "scatter(): Expected self.dtype to be equal to src.dtype");
  if (form == Form::in_place) refuse_memory(a, index, source);
  if (index.numel() == 0) return;
  check_dims(a, index, "self");
  if (source == nullptr) {
    require(fits_beside(index, a, dim), "Expected index ", index.sizes(), " to be no larger than self ", a.sizes(),
            " apart from dimension ", dim);
    return;
  }
  require(kernels::shared_dims(source->dim()) == kernels::shared_dims(index.dim()),
          "Index tensor must have the same number of dimensions as src tensor");
  require(fits_beside(index, a, dim) && fits(index, *source), "Expected index ", index.sizes(),
          " to be no larger than self ", a.sizes(), " apart from dimension ", dim,
          " and to be no larger size than src ", source->sizes());
}

template <class F>
void combine(const Tensor& target, size_t dim, const Tensor& index, const Tensor& source, F f) {
  if (index->numel() == 0) return;
  const kernels::Positions positions = kernels::positions_in(index, dim);
  refuse_outside(*positions.index, dim, kernels::size_along(*target, dim));
  kernels::dispatch(target->dtype(), [&](auto zero) {
    using T = decltype(zero);
    Dims strides = source->strides();
    while (strides.size() < index->dim()) strides.push_back(0);
    kernels::walk<T>(index->sizes(), source->data<T>(), strides, *target, positions,
                     [&](T value, T& place) { place = f(place, value); });
  });
}

struct Second {
  template <class T>
  T operator()(T, T value) const {
    return value;
  }
};
struct Plus {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};
struct Times {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a * b);
  }
};

// A number where a tensor of the index's shape is expected.
Tensor as_source(const Tensor& a, const Tensor& index, const Scalar& value) {
  const Tensor number = full({}, value, a->dtype());
  return alias(number, index->sizes(), Dims(index->dim()), 0);
}

Recording<ScatterNode> scatter_node(const NodeSpec& spec, std::initializer_list<const Tensor*> inputs, int64_t dim,
                                    const Tensor& index) {
  if (!is_floating((**inputs.begin())->dtype())) return {};
  auto node = start_recording<ScatterNode>(inputs, spec, dim);
  if (node) node->save_input(0, index);
  return node;
}

}  // namespace

Tensor gather(const Tensor& a, int64_t given_dim, const Tensor& index) {
  const auto node = start_recording<GatherNode>({&a}, given_dim);
  if (node) node->save_input(0, index);
  if (node) node->save_input(1, a);
  const size_t dim = static_cast<size_t>(wrap_dim(given_dim, a->dim()));
  check_index_dtype(*index, "gather");
  Tensor result = empty(index->sizes(), a->dtype());
  if (index->numel() != 0) {
    check_dims(*a, *index, "input");
    refuse_larger(*index, *a, dim);
    const kernels::Positions positions = kernels::positions_in(index, dim);
    refuse_outside(*positions.index, dim, kernels::size_along(*a, dim));
    kernels::dispatch(a->dtype(), [&](auto zero) {
      using T = decltype(zero);
      kernels::walk<T>(index->sizes(), result->data<T>(), result->strides(), *a, positions,
                       [](T& to, T from) { to = from; });
    });
  }
  if (node) set_history(result, node.owner);
  return result;
}

Tensor scatter(const Tensor& a, int64_t given_dim, const Tensor& index, const Tensor& source, Form form) {
  check_form(form, {&a, &source, &index});
  const auto node = scatter_node(scatter_spec, {&a, &source}, given_dim, index);
  const size_t dim = static_cast<size_t>(wrap_dim(given_dim, a->dim()));
  check_scatter(*a, dim, *index, source.get(), form);
  return changed(a, form, node, [&](const Tensor& target) { combine(target, dim, index, source, Second()); });
}

Tensor scatter_number(const Tensor& a, int64_t given_dim, const Tensor& index, const Scalar& value, Form form) {
  check_form(form, {&a, &index});
  const auto node = scatter_node(scatter_number_spec, {&a}, given_dim, index);
  const size_t dim = static_cast<size_t>(wrap_dim(given_dim, a->dim()));
  check_scatter(*a, dim, *index, nullptr, form);
  return changed(a, form, node,
                 [&](const Tensor& target) { combine(target, dim, index, as_source(a, index, value), Second()); });
}

Tensor scatter_add(const Tensor& a, int64_t given_dim, const Tensor& index, const Tensor& source, Form form) {
  check_form(form, {&a, &source, &index});
  const auto node = scatter_node(scatter_add_spec, {&a, &source}, given_dim, index);
  const size_t dim = static_cast<size_t>(wrap_dim(given_dim, a->dim()));
  check_scatter(*a, dim, *index, source.get(), form);
  return changed(a, form, node, [&](const Tensor& target) { combine(target, dim, index, source, Plus()); });
}

Tensor scatter_combine(const Tensor& a, int64_t given_dim, const Tensor& index, const Tensor& source, Combine how,
                       Form form) {
  check_form(form, {&a, &source, &index});
  const char* name = form == Form::in_place ? "scatter_" : "scatter";
  const Recording<Node> node{source->is_wrapped_number() ? undifferentiable_node({&a}, name)
                                                         : undifferentiable_node({&a, &source}, name)};
  const size_t dim = static_cast<size_t>(wrap_dim(given_dim, a->dim()));
  const Tensor values = source->is_wrapped_number() ? as_source(a, index, item(source)) : source;
  check_scatter(*a, dim, *index, values.get(), form);
  return changed(a, form, node, [&](const Tensor& target) {
    if (how == Combine::add) combine(target, dim, index, values, Plus());
    if (how == Combine::multiply) combine(target, dim, index, values, Times());
  });
}

Tensor take_along_dim(const Tensor& a, const Tensor& indices, int64_t given_dim) {
  require(indices->dtype() == DType::int64, "torch.take_along_dim(): dtype of indices should be Long but got ",
          kernels::scalar_type_name(indices->dtype()));
  require(a->dim() == indices->dim(),
          "torch.take_along_dim(): input and indices should have the same number of dimensions, but got ", a->dim(),
          " dimensions for input, and ", indices->dim(), " dimensions for indices");
  const size_t dim = static_cast<size_t>(wrap_dim(given_dim, a->dim()));
  // Broadcast against each other but along `dim`.
  Dims sizes = a->sizes();
  Dims index_sizes = indices->sizes();
  if (a->dim() > 0) sizes[dim] = index_sizes[dim] = 1;
  Dims common = kernels::broadcast_sizes(sizes, index_sizes);
  sizes = index_sizes = common;
  if (a->dim() > 0) {
    sizes[dim] = a->sizes()[dim];
    index_sizes[dim] = indices->sizes()[dim];
  }
  return gather(expand(a, sizes), static_cast<int64_t>(dim), expand(indices, index_sizes));
}

Tensor take_along_dim(const Tensor& a, const Tensor& indices) {
  require(indices->dtype() == DType::int64, "torch.take_along_dim(): dtype of indices should be Long but got ",
          kernels::scalar_type_name(indices->dtype()));
  return gather(view(contiguous(a), {-1}), 0, view(contiguous(indices), {-1}));
}

}  // namespace gradlife::ops
