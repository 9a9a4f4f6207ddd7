#include "engine/undifferentiable.hpp"

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

}  // namespace

NodePtr undifferentiable_node(std::initializer_list<const Tensor*> inputs, const char* operation) {
  return start_recording<NotImplemented>(inputs, operation).owner;
}

Tensor undifferentiable(Tensor result, std::initializer_list<const Tensor*> inputs, const char* operation) {
  if (!is_floating(result->dtype())) return result;
  if (const NodePtr node = undifferentiable_node(inputs, operation)) set_history(result, node);
  return result;
}

}  // namespace gradlife::ops
