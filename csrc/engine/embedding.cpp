// Rows of a table by number, and the table's gradient: the sum of what each of its rows got.
#include "engine/kernels.hpp"
#include "engine/layers.hpp"
#include "engine/op_node.hpp"

namespace gradlife::ops {
namespace {

using G = const Tensor&;

const NodeSpec& embedding_spec = node_spec(
    "EmbeddingBackward0", {saved_number("padding_idx"), saved_number("scale_grad_by_freq"), saved_number("sparse"),
                           saved_number("weight_sym_argsize_0"), saved_tensor("indices")});
const NodeSpec& dense_backward_spec =
    node_spec("EmbeddingDenseBackwardBackward0", {saved_number("padding_idx"), saved_tensor("indices")});

Dims sizes_with(G indices, int64_t width) {
  Dims sizes = indices->sizes();
  sizes.push_back(width);
  return sizes;
}

// body(row of the result, row of the table) for every index.
template <class Body>
void for_each_row(G indices, Body body) {
  const Tensor plain = contiguous(to_dtype(indices, DType::int64));
  const int64_t* rows = plain->data<int64_t>();
  for (int64_t i = 0; i < plain->numel(); ++i) body(i, rows[i]);
}

// The rows, with zeros for those of `padding`; -1 is none of them.
Tensor rows_of(G weight, G indices, int64_t padding) {
  const int64_t count = weight->sizes()[0];
  const int64_t width = weight->sizes()[1];
  const Tensor table = contiguous(weight);
  Tensor result = full(sizes_with(indices, width), 0, weight->dtype());
  kernels::dispatch(weight->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = table->data<T>();
    T* to = result->data<T>();
    for_each_row(indices, [&](int64_t at, int64_t row) {
      if (row < 0 || row >= count) fail(ErrorKind::index, "index out of range in self");
      if (row != padding) std::copy_n(from + row * width, width, to + at * width);
    });
  });
  return result;
}

Tensor dense_backward(G gradient, G indices, int64_t count, int64_t padding);

class DenseBackwardNode final : public OpNode<1> {
 public:
  explicit DenseBackwardNode(int64_t padding) : OpNode<1>(dense_backward_spec), padding_(padding) {}
  SavedValue saved_value(size_t) const override { return saved(padding_); }

 protected:
  void differentiate(G arriving, TensorList& results) override {
    const Tensor indices = unpack(0);
    const auto node = start_recording<RowsNode>({&arriving}, *this, arriving->sizes()[0], indices);
    results[0] = rows_of(arriving, indices, padding_);
    if (node) set_history(results[0], node.owner);
  }

 private:
  // The rows without padding, differentiable once more.
  class RowsNode final : public OpNode<1> {
   public:
    RowsNode(const DenseBackwardNode& made_by, int64_t count, G indices)
        : OpNode<1>(rows_spec()), padding_(made_by.padding_), count_(count) {
      save_input(0, indices);
    }

   protected:
    void differentiate(G gradient, TensorList& results) override {
      results[0] = dense_backward(gradient, unpack(0), count_, padding_);
    }

   private:
    static const NodeSpec& rows_spec() {
      static const NodeSpec& spec = node_spec("IndexSelectBackward0", {saved_tensor("index")});
      return spec;
    }
    int64_t padding_;
    int64_t count_;
  };
  int64_t padding_;
};

Tensor dense_backward(G gradient, G indices, int64_t count, int64_t padding) {
  const auto node = start_recording<DenseBackwardNode>({&gradient}, padding);
  if (node) node->save_input(0, indices);
  const int64_t width = gradient->sizes()[gradient->dim() - 1];
  const Tensor plain = contiguous(gradient);
  Tensor result = full({count, width}, 0, gradient->dtype());
  kernels::dispatch_floats(gradient->dtype(), "embedding_backward", [&](auto zero) {
    using T = decltype(zero);
    const T* from = plain->data<T>();
    T* to = result->data<T>();
    for_each_row(indices, [&](int64_t at, int64_t row) {
      if (row == padding) return;
      for (int64_t i = 0; i < width; ++i) to[row * width + i] += from[at * width + i];
    });
  });
  if (node) set_history(result, node.owner);
  return result;
}

class EmbeddingNode final : public OpNode<1> {
 public:
  EmbeddingNode(int64_t padding, int64_t count) : OpNode<1>(embedding_spec), padding_(padding), count_(count) {}
  SavedValue saved_value(size_t field) const override {
    if (field == 0) return saved(padding_);
    return field == 3 ? saved(count_) : saved(false);
  }

 protected:
  void differentiate(G gradient, TensorList& results) override {
    results[0] = dense_backward(gradient, unpack(0), count_, padding_);
  }

 private:
  int64_t padding_;
  int64_t count_;
};

}  // namespace

Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding) {
  require(weight->dim() == 2, "'weight' must be 2-D");
  require(indices->dtype() == DType::int64 || indices->dtype() == DType::int32,
          "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
          "torch.",
          kernels::scalar_type_name(indices->dtype()), "Tensor instead (while checking arguments for embedding)");
  const auto node = start_recording<EmbeddingNode>({&weight}, padding, weight->sizes()[0]);
  if (node) node->save_input(0, indices);
  const GradMode off(false);
  Tensor result = rows_of(weight, indices, -1);
  if (node) set_history(result, node.owner);
  return result;
}

}  // namespace gradlife::ops
