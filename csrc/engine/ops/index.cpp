// Reading and writing through index tensors.
#include "engine/ops/index.hpp"

#include "engine/backward/op_node.hpp"
#include "engine/ops/kernels/index_plan.hpp"
#include "engine/ops/kernels/overlap.hpp"
#include "engine/ops/ops.hpp"

namespace gradlife::ops {
namespace {

constexpr SavedField saved_list(const char* name) { return {name, SavedField::Type::tensor_list}; }

const NodeSpec& index_spec = node_spec("IndexBackward0", {saved_list("indices"), saved_number("self_sym_sizes")});
const NodeSpec& put_spec = node_spec("IndexPutBackward0", {saved_list("indices"), saved_number("accumulate")});
const NodeSpec& put_impl_spec = node_spec("IndexPutImplBackward0", {saved_list("indices"), saved_number("accumulate")});

Tensor put_back(const Tensor& gradient, const TensorList& indices, const Dims& sizes);

class IndexNode final : public ListNode {
 public:
  IndexNode(const TensorList& indices, const Dims& sizes) : ListNode(index_spec, indices), sizes_(sizes) {}
  SavedValue saved_value(size_t) const override { return saved(sizes_); }
  TensorList apply(TensorList&& gradients) override {
    const Tensor gradient = std::move(gradients[0]);
    const TensorList indices = unpack_list();  // freed slots are refused even without a gradient
    return {gradient ? put_back(gradient, indices, sizes_) : Tensor()};
  }

 private:
  Dims sizes_;
};

// Inputs: the changed tensor, and the values.
class PutNode final : public ListNode {
 public:
  PutNode(const NodeSpec& spec, const TensorList& indices, bool accumulate)
      : ListNode(spec, indices), accumulate_(accumulate) {}
  SavedValue saved_value(size_t) const override { return saved(accumulate_); }
  TensorList apply(TensorList&& gradients) override {
    const Tensor gradient = std::move(gradients[0]);
    TensorList results(next_edges().size());
    const TensorList indices = unpack_list();
    if (!gradient) return results;
    if (should_compute_output(0))
      results[0] = accumulate_ ? gradient : index_put(gradient, indices, full({}, 0, gradient->dtype()));
    if (should_compute_output(1)) results[1] = index(gradient, indices);
    return results;
  }

 private:
  bool accumulate_;
};

NodePtr put_node(const NodeSpec& spec, const Tensor& a, const TensorList& indices, const Tensor& values,
                 bool accumulate) {
  if (!is_floating(a->dtype()) || !needs_graph({&a, &values})) return {};
  NodePtr node = make_node<PutNode>(spec, indices, accumulate);
  node->set_next_edges(gradient_edges({&a, &values}));
  return node;
}

// Whether all indices are masks: a single value for a masked part may have any dtype.
bool is_masked_fill(const TensorList& indices, const Tensor& values) {
  size_t masks = 0;
  for (const Tensor& index : indices) {
    if (!index) continue;
    if (index->dtype() != DType::boolean) return false;
    ++masks;
  }
  return masks == 1 && values->numel() == 1;
}

Dims strides_of_values(const TensorImpl& values, const Dims& sizes) {
  bool fits = values.dim() <= sizes.size();
  for (size_t i = 0; fits && i < values.dim(); ++i) {
    const int64_t size = values.sizes()[values.dim() - 1 - i];
    fits = size == 1 || size == sizes[sizes.size() - 1 - i];
  }
  require(fits, "shape mismatch: value tensor of shape ", values.sizes(),
          " cannot be broadcast to indexing result of shape ", sizes);
  return kernels::broadcast_strides(values.sizes(), values.strides(), sizes);
}

// Assigns values to the elements that the plan selects, or adds them with `accumulate`.
void write(const TensorImpl& target, const kernels::IndexPlan& plan, const TensorImpl& values, bool accumulate) {
  const Dims value_strides = strides_of_values(values, plan.sizes);
  const kernels::Loops loops = kernels::plan(plan.sizes, {&plan.strides, &plan.offset_strides, &value_strides});
  const int64_t* offsets = plan.offsets->data<int64_t>();
  kernels::dispatch(target.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* to = target.data<T>();
    const T* from = values.data<T>();
    kernels::run<3>(loops, [&](int64_t length, const int64_t* at) {
      for (int64_t i = 0; i < length; ++i) {
        T& place = to[at[0] + i * row_stride(loops, 0) + offsets[at[1] + i * row_stride(loops, 1)]];
        const T value = from[at[2] + i * row_stride(loops, 2)];
        place = accumulate ? static_cast<T>(place + value) : value;
      }
    });
  });
}

Tensor converted(const Tensor& values, DType dtype) {
  if (values->dtype() == dtype) return values;
  Tensor result = empty(values->sizes(), dtype);
  kernels::copy(*result, *values);
  return result;
}

void put(const Tensor& target, const TensorList& indices, const Tensor& values, bool accumulate) {
  refuse_shared_memory(*target, *values);
  for (const Tensor& index : indices)
    if (index) refuse_shared_memory(*target, *index);
  kernels::IndexPlan plan = kernels::plan_index(*target, indices);
  strides_of_values(*values, plan.sizes);
  const bool is_any_dtype = !accumulate && is_masked_fill(indices, values);
  require(is_any_dtype || target->dtype() == values->dtype(),
          "Index put requires the source and destination dtypes match, got ",
          kernels::scalar_type_name(target->dtype()), " for the destination and ",
          kernels::scalar_type_name(values->dtype()), " for the source.");
  kernels::locate(plan, *target);
  write(*target, plan, *converted(values, target->dtype()), accumulate);
}

Tensor put_into_copy(const NodeSpec& spec, const Tensor& a, const TensorList& indices, const Tensor& values,
                     bool accumulate) {
  const NodePtr node = put_node(spec, a, indices, values, accumulate);
  Tensor result = kernels::allocate_like(*a, a->dtype());
  kernels::copy(*result, *a);
  put(result, indices, values, accumulate);
  if (node) set_history(result, node);
  return result;
}

Tensor put_back(const Tensor& gradient, const TensorList& indices, const Dims& sizes) {
  const Tensor zeros = full(sizes, 0, gradient->dtype());
  const NodePtr node = put_node(put_impl_spec, zeros, indices, gradient, true);
  put(zeros, indices, gradient, true);
  zeros->bump_version();
  if (node) set_history(zeros, node);
  return zeros;
}

}  // namespace

Tensor index(const Tensor& a, const TensorList& indices) {
  NodePtr node;
  if (needs_graph({&a})) {
    node = make_node<IndexNode>(indices, a->sizes());
    node->set_next_edges(gradient_edges({&a}));
  }
  kernels::IndexPlan plan = kernels::plan_index(*a, indices);
  kernels::locate(plan, *a);
  Tensor result = kernels::allocate(plan.sizes, plan.memory_order, a->dtype());
  const kernels::Loops loops = kernels::plan(plan.sizes, {&result->strides(), &plan.strides, &plan.offset_strides});
  const int64_t* offsets = plan.offsets->data<int64_t>();
  kernels::dispatch(a->dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* to = result->data<T>();
    const T* from = a->data<T>();
    kernels::run<3>(loops, [&](int64_t length, const int64_t* at) {
      for (int64_t i = 0; i < length; ++i)
        to[at[0] + i * row_stride(loops, 0)] =
            from[at[1] + i * row_stride(loops, 1) + offsets[at[2] + i * row_stride(loops, 2)]];
    });
  });
  if (node) set_history(result, node);
  return result;
}

Tensor index_put(const Tensor& a, const TensorList& indices, const Tensor& values, bool accumulate) {
  return put_into_copy(put_spec, a, indices, values, accumulate);
}

Tensor index_put_in_place(const Tensor& target, const TensorList& indices, const Tensor& values, bool accumulate) {
  check_inplace(target, needs_graph({&target, &values}));
  const NodePtr node = put_node(put_spec, target, indices, values, accumulate);
  put(target, indices, values, accumulate);
  target->bump_version();
  if (node) rebase_history(target, node);
  return target;
}

namespace {

const NodeSpec& fill_spec = node_spec("MaskedFillBackward0", {saved_tensor("mask")});
const NodeSpec& fill_tensor_spec = node_spec("MaskedFillBackward1", {saved_tensor("mask")});
// Broadcasts the tensor to a mask with more dimensions.
Tensor broadcast_to_mask(const Tensor& a, const TensorImpl& mask) {
  const Dims sizes = kernels::broadcast_sizes(mask.sizes(), a->sizes());
  if (sizes == a->sizes()) return a;
  return alias(a, sizes, kernels::broadcast_strides(a->sizes(), a->strides(), sizes), a->offset());
}

// Inputs: the filled tensor, and the value if that is a tensor.
class FillNode final : public OpNode<1> {
 public:
  explicit FillNode(const NodeSpec& spec) : OpNode<1>(spec) {}

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor mask = unpack(0);
    if (needs(0)) results[0] = masked_fill(gradient, mask, Scalar(0), Form::like_copy);
    if (needs(1)) results[1] = sum(mul(gradient, mask));
  }
};

// The C++ name of a dtype, for one error text.
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

}  // namespace gradlife::ops
