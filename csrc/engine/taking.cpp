// take and put: elements by their number in the tensor.
#include "engine/indexing.hpp"

namespace gradlife::ops {
namespace {

const NodeSpec& take_spec = node_spec("TakeBackward0", {saved_tensor("index"), saved_tensor("self")});
const NodeSpec& put_spec =
    node_spec("PutBackward0", {saved_number("accumulate"), saved_tensor("index"), saved_tensor("source")});

// Slots: index, self.
class TakeNode final : public OpNode<2> {
 public:
  TakeNode() : OpNode<2>(take_spec) {}

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor index = unpack(0);
    const Tensor self = unpack(1);
    results[0] = put(zeros_like(self), index, gradient, true, Form::in_place);
  }
};

// Slots: index, source.
class PutNode final : public OpNode<2> {
 public:
  explicit PutNode(bool accumulate) : OpNode<2>(put_spec), accumulate_(accumulate) {}
  SavedValue saved_value(size_t) const override { return saved(accumulate_); }

 protected:
  void differentiate(const Tensor& gradient, TensorList& results) override {
    const Tensor index = unpack(0);
    const Tensor source = unpack(1);
    if (needs(0))
      results[0] = accumulate_ ? gradient : put(gradient, index, zeros_at(index, gradient), false, Form::like_copy);
    if (needs(1)) results[1] = reshape(take(gradient, index), source->sizes());
  }

 private:
  static Tensor zeros_at(const Tensor& index, const Tensor& gradient) {
    return full(index->sizes(), 0, gradient->dtype());
  }
  bool accumulate_;
};

// Where an element lies, by its number in order of the dimensions.
int64_t offset_of(const TensorImpl& tensor, int64_t number) {
  int64_t offset = 0;
  for (size_t dim = tensor.dim(); dim-- > 0;) {
    offset += number % tensor.sizes()[dim] * tensor.strides()[dim];
    number /= tensor.sizes()[dim];
  }
  return offset;
}

// Calls f(i, offset) for the i-th number, where that element lies.
template <class F>
void for_each(const TensorImpl& tensor, const Tensor& index, F f) {
  const Tensor numbers = contiguous(index);
  const int64_t* from = numbers->data<int64_t>();
  const int64_t count = tensor.numel();
  for (int64_t i = 0; i < numbers->numel(); ++i) {
    if (from[i] < -count || from[i] >= count)
      fail(ErrorKind::index, "out of range: tried to access index ", from[i], " on a tensor of ", count, " elements.");
    f(i, offset_of(tensor, from[i] < 0 ? from[i] + count : from[i]));
  }
}

void check_put(const TensorImpl& a, const TensorImpl& index, const TensorImpl& source) {
  require(index.dtype() == DType::int64, "put_(): Expected a long tensor for index, but got ",
          kernels::scalar_type_name(index.dtype()));
  require(a.dtype() == source.dtype(), "put_(): self and source expected to have the same dtype, but got self.dtype = ",
          kernels::scalar_type_name(a.dtype()), " and source.dtype = ", kernels::scalar_type_name(source.dtype()));
  if (index.numel() != source.numel())
    fail(ErrorKind::index,
         "put_(): Expected source and index to have the same number of elements, but got source.numel() = ",
         source.numel(), ", index.numel() = ", index.numel());
  if (a.numel() == 0 && index.numel() != 0)
    fail(ErrorKind::index, "put_(): Tried to put elements into an empty tensor");
}

}  // namespace

Tensor take(const Tensor& a, const Tensor& index) {
  const auto node = start_recording<TakeNode>({&a});
  if (node) node->save_input(0, index);
  if (node) node->save_input(1, a);
  require(index->dtype() == DType::int64, "take(): Expected a long tensor for index, but got ",
          kernels::scalar_type_name(index->dtype()));
  if (a->numel() == 0 && index->numel() != 0) fail(ErrorKind::index, "take(): tried to take from an empty tensor");
  Tensor result = empty(index->sizes(), a->dtype());
  kernels::dispatch(a->dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_each(*a, index, [&](int64_t i, int64_t offset) { result->data<T>()[i] = a->data<T>()[offset]; });
  });
  if (node) set_history(result, node.owner);
  return result;
}

Tensor put(const Tensor& a, const Tensor& index, const Tensor& source, bool accumulate, Form form) {
  check_form(form, {&a, &source, &index});
  Recording<PutNode> node;
  if (is_floating(a->dtype())) node = start_recording<PutNode>({&a, &source}, accumulate);
  if (node) node->save_input(0, index);
  if (node && node->should_compute_output(1)) node->save_input(1, source);
  check_put(*a, *index, *source);
  if (form == Form::in_place) {
    refuse_overlap(*a);
    refuse_shared_memory(*a, *index);
    refuse_shared_memory(*a, *source);
  }
  const Tensor values = copy_raw(source);
  return changed(a, form, node, [&](const Tensor& target) {
    kernels::dispatch(target->dtype(), [&](auto zero) {
      using T = decltype(zero);
      for_each(*target, index, [&](int64_t i, int64_t offset) {
        T& place = target->data<T>()[offset];
        place = accumulate ? static_cast<T>(place + values->data<T>()[i]) : values->data<T>()[i];
      });
    });
  });
}

}  // namespace gradlife::ops
