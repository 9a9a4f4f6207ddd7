#include "engine/ops/ops.hpp"

#include "engine/backward/op_node.hpp"

#include <algorithm>

namespace gradlife::ops {
namespace {

const NodeSpec& not_implemented_spec = node_spec("NotImplemented");

class NotImplemented final : public OpNode<0> {
 public:
  explicit NotImplemented(const char* operation) : OpNode<0>(not_implemented_spec), operation_(operation) {}

 protected:
  void differentiate(const Tensor&, TensorList&) override {
    fail(ErrorKind::runtime, "derivative for aten::", operation_, " is not implemented");
  }

 private:
  const char* operation_;
};

NodePtr undifferentiable_node(std::initializer_list<const Tensor*> inputs, const char* operation) {
  return start_recording<NotImplemented>(inputs, operation).owner;
}

void make_room(Storage& storage, const Dims& sizes, const Dims& strides, int64_t offset, DType dtype) {
  if (sizes.product() == 0) return;
  storage.grow(static_cast<size_t>(window_end(sizes, strides, offset)) * item_size(dtype));
}

void check_window(const Dims& sizes, const Dims& strides, int64_t offset) {
  require(sizes.size() == strides.size(), "unequal size length (", sizes.size(), ") and stride length (",
          strides.size(), ")");
  require(offset >= 0, "Tensor: invalid storage offset ", offset);
  for (int64_t stride : strides)
    require(stride >= 0, "Storage size calculation overflowed with sizes=", sizes, " and strides=", strides);
}

}  // namespace

Tensor set_in_place(const Tensor& target, const StoragePtr& storage, int64_t offset, const Dims& sizes,
                    const Dims* given, const Tensor& source) {
  require_count(sizes);
  const Dims strides = given != nullptr ? *given : contiguous_strides(sizes);
  check_window(sizes, strides, offset);
  check_inplace(target, needs_graph({&target, &source}));
  Recording<Node> node{undifferentiable_node({&target, &source}, "set_")};
  make_room(*storage, sizes, strides, offset, target->dtype());
  target->set_storage(storage);
  target->set_window(sizes, strides, offset);
  finish_in_place(target, node);
  if (target->meta() != nullptr)
    target->meta()->grad_accumulator = WeakNodePtr();  // from now on a leaf of other graphs
  return target;
}

}  // namespace gradlife::ops
