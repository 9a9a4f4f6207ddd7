// Elements by truth values: filling, selecting and replacing those that a mask names; finding those that are not 0.
#include "engine/index_plan.hpp"
#include "engine/indexing.hpp"

namespace gradlife::ops {
namespace {

const NodeSpec& fill_spec = node_spec("MaskedFillBackward0", {saved_tensor("mask")});
const NodeSpec& fill_tensor_spec = node_spec("MaskedFillBackward1", {saved_tensor("mask")});
const NodeSpec& select_spec = node_spec("MaskedSelectBackward0", {saved_tensor("mask"), saved_tensor("self")});
const NodeSpec& scatter_spec =
    node_spec("MaskedScatterBackward0", {saved_tensor("mask"), saved_number("source_sym_sizes")});
const NodeSpec& source_gradient_spec = node_spec("MaskedScatterBackwardBackward0", {saved_tensor("mask")});

// What a mask of more dimensions makes of the tensor.
Tensor broadcast_to_mask(const Tensor& a, const TensorImpl& mask) {
  const Dims sizes = kernels::broadcast_sizes(mask.sizes(), a->sizes());
  if (sizes == a->sizes()) return a;
  return alias(a, sizes, kernels::broadcast_strides(a->sizes(), a->strides(), sizes), a->offset());
}

// Inputs: the tensor filled, and the value where that is a tensor.
class FillNode final : public OpNode<1> {
 public:
  explicit FillNode(const NodeSpec& spec) : OpNode<1>(spec) {}

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor mask = unpack(0);
    if (needs(0)) results[0] = masked_fill(gradient, mask, Scalar(0), Form::like_copy);
    if (needs(1)) results[1] = sum(masked_select(gradient, mask));
  }
};

// Slots: mask, self.
class SelectNode final : public OpNode<2> {
 public:
  SelectNode() : OpNode<2>(select_spec) {}

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor mask = unpack(0);
    const Tensor self = unpack(1);
    results[0] = masked_scatter(zeros_like(broadcast_to_mask(self, *mask)), mask, gradient, Form::in_place);
  }
};

Tensor gradient_of_source(const Tensor& gradient, const Tensor& mask, const Dims& sizes);

// Of `gradient_of_source`: puts the gradient back where the mask is true.
class SourceGradientNode final : public OpNode<1> {
 public:
  SourceGradientNode() : OpNode<1>(source_gradient_spec) {}

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor mask = unpack(0);
    const Tensor zeros = full(input_sizes, 0, gradient->dtype());
    results[0] = masked_scatter(zeros, mask, gradient, Form::plain_copy);
  }

 public:
  Dims input_sizes;
};

// Inputs: the tensor written to, the source. Slot: mask.
class ScatterNode final : public OpNode<1> {
 public:
  explicit ScatterNode(const Dims& source_sizes) : OpNode<1>(scatter_spec), source_sizes_(source_sizes) {}
  SavedValue saved_value(size_t) const override { return saved(source_sizes_); }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor mask = unpack(0);
    if (needs(0)) results[0] = masked_fill(gradient, mask, Scalar(0), Form::like_copy);
    if (needs(1)) results[1] = gradient_of_source(gradient, mask, source_sizes_);
  }

 private:
  Dims source_sizes_;
};

// Elements of the source that nobody took have no gradient.
Tensor gradient_of_source(const Tensor& gradient, const Tensor& mask, const Dims& sizes) {
  const auto node = start_recording<SourceGradientNode>({&gradient});
  if (node) node->save_input(0, mask);
  if (node) node->input_sizes = gradient->sizes();
  const GradMode no_grad(false);
  const Tensor selected = masked_select(gradient, mask);
  Tensor result = full(sizes, 0, gradient->dtype());
  kernels::copy(*alias(result, selected->sizes(), {1}, 0), *selected);
  if (node) set_history(result, node.owner);
  return result;
}

// How C++ calls a dtype, in one error text.
const char* cpp_name(DType dtype) {
  static constexpr const char* names[] = {
      "float", "double", "long int", "bool", "int", "c10::complex<float>", "c10::complex<double>"};
  return names[static_cast<size_t>(dtype)];
}

// Calls f(place, is_masked) over the target in order of its dimensions.
template <class T, class F>
void with_mask(const TensorImpl& target, const TensorImpl& mask, F f) {
  const Dims order = contiguous_strides(target.sizes());
  const Dims mask_strides = kernels::broadcast_strides(mask.sizes(), mask.strides(), target.sizes());
  const kernels::Loops loops = kernels::plan(target.sizes(), {&order, &target.strides(), &mask_strides});
  T* to = target.data<T>();
  const bool* masked = mask.data<bool>();
  kernels::run<3>(loops, [&](int64_t length, const int64_t* at) {
    for (int64_t i = 0; i < length; ++i)
      f(to[at[1] + i * row_stride(loops, 1)], masked[at[2] + i * row_stride(loops, 2)]);
  });
}

void check_fill(const Tensor& a, const Tensor& mask, Form form) {
  require(mask->dtype() == DType::boolean, "masked_fill_ only supports boolean masks, but got mask with dtype ",
          cpp_name(mask->dtype()));
  const Dims sizes = kernels::broadcast_sizes(mask->sizes(), a->sizes());
  if (form != Form::in_place) return;
  refuse_resize(*a, sizes);
  refuse_partial_overlap(*a, *mask);
}

Tensor fill(const Tensor& a, const Tensor& mask, const Scalar& value, Form form, const Recording<FillNode>& node) {
  check_fill(a, mask, form);
  return changed(form == Form::in_place ? a : broadcast_to_mask(a, *mask), form, node, [&](const Tensor& target) {
    kernels::dispatch(target->dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T constant = value.to<T>();
      with_mask<T>(*target, *mask, [constant](T& place, bool masked) { place = masked ? constant : place; });
    });
  });
}

Recording<FillNode> fill_node(std::initializer_list<const Tensor*> inputs, const Tensor& mask, const NodeSpec& spec) {
  if (!is_floating((**inputs.begin())->dtype())) return {};
  auto node = start_recording<FillNode>(inputs, spec);
  if (node) node->save_input(0, mask);
  return node;
}

int64_t count_true(const TensorImpl& mask, const Dims& sizes) {
  int64_t count = 0;
  const Dims strides = kernels::broadcast_strides(mask.sizes(), mask.strides(), sizes);
  const kernels::Loops loops = kernels::plan(sizes, {&strides});
  kernels::run<1>(loops, [&](int64_t length, const int64_t* at) {
    for (int64_t i = 0; i < length; ++i) count += mask.data<bool>()[at[0] + i * row_stride(loops, 0)] ? 1 : 0;
  });
  return count;
}

}  // namespace

Tensor masked_fill(const Tensor& a, const Tensor& mask, const Scalar& value, Form form) {
  check_form(form, {&a, &mask});
  return fill(a, mask, value, form, fill_node({&a}, mask, fill_spec));
}

Tensor masked_fill(const Tensor& a, const Tensor& mask, const Tensor& value, Form form) {
  require(value->dim() == 0, "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
          value->dim(), " dimension(s).");
  check_form(form, {&a, &value, &mask});
  return fill(a, mask, item(value), form, fill_node({&a, &value}, mask, fill_tensor_spec));
}

Tensor masked_select(const Tensor& a, const Tensor& mask) {
  const auto node = start_recording<SelectNode>({&a});
  if (node) node->save_input(0, mask);
  if (node) node->save_input(1, a);
  require(mask->dtype() == DType::boolean, "masked_select: expected BoolTensor for mask");
  const Dims sizes = kernels::broadcast_sizes(mask->sizes(), a->sizes());
  const Tensor from = broadcast_to_mask(a, *mask);
  Tensor result = empty({count_true(*mask, sizes)}, a->dtype());
  kernels::dispatch(a->dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* to = result->data<T>();
    with_mask<T>(*from, *mask, [&to](T& place, bool masked) {
      if (masked) *to++ = place;
    });
  });
  if (node) set_history(result, node.owner);
  return result;
}

Tensor masked_scatter(const Tensor& a, const Tensor& mask, const Tensor& source, Form form) {
  check_form(form, {&a, &source, &mask});
  Recording<ScatterNode> node;
  if (is_floating(a->dtype())) node = start_recording<ScatterNode>({&a, &source}, source->sizes());
  if (node) node->save_input(0, mask);
  const Dims sizes = kernels::broadcast_sizes(mask->sizes(), a->sizes());
  if (form == Form::in_place) {
    refuse_overlap(*a);
    refuse_resize(*a, sizes);
  }
  require(a->dtype() == source->dtype(), "masked_scatter: expected self and source to have same dtypes but got",
          kernels::scalar_type_name(a->dtype()), " and ", kernels::scalar_type_name(source->dtype()));
  require(mask->dtype() == DType::boolean, "masked_scatter_ only supports boolean masks, but got mask with dtype ",
          kernels::scalar_type_name(mask->dtype()));
  require(count_true(*mask, sizes) <= source->numel(), "Number of elements of source < number of ones in mask");
  const Tensor values = copy_raw(source);
  return changed(form == Form::in_place ? a : broadcast_to_mask(a, *mask), form, node, [&](const Tensor& target) {
    kernels::dispatch(target->dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* from = values->data<T>();
      with_mask<T>(*target, *mask, [&from](T& place, bool masked) {
        if (masked) place = *from++;
      });
    });
  });
}

Tensor nonzero(const Tensor& a) {
  const Tensor columns = kernels::nonzero_columns(*a);
  const int64_t dims = columns->sizes()[0];
  const int64_t count = columns->sizes()[1];
  return alias(columns, {count, dims}, {1, count}, 0);
}

TensorList nonzero_tuple(const Tensor& a) { return unbind(nonzero(a->dim() == 0 ? unsqueeze(detach(a), 0) : a), 1); }

}  // namespace gradlife::ops
