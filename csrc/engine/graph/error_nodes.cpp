#include "engine/graph/error_nodes.hpp"

#include "engine/graph/autograd.hpp"
#include "engine/policy/error.hpp"

namespace gradlife {
namespace {

const NodeSpec &error_spec = *new NodeSpec{"Error", {}}, &undefined_spec = *new NodeSpec{"UndefinedGradBackward", {}};

class ErrorNode final : public Node {
 public:
  explicit ErrorNode(std::string text) : text_(std::move(text)) {}
  TensorList apply(TensorList&&) override { fail(ErrorKind::runtime, text_); }
  const NodeSpec& spec() const override { return error_spec; }

 private:
  std::string text_;
};

class UndefinedGradNode final : public Node {
 public:
  TensorList apply(TensorList&&) override { return TensorList(next_edges().size()); }
  const NodeSpec& spec() const override { return undefined_spec; }
};

template <class MakeNode>
TensorList behind(const TensorList& inputs, const TensorList& results, MakeNode&& make) {
  NodePtr node;
  if (needs_graph(inputs)) {
    node = make();
    node->set_next_edges(gradient_edges(inputs));
  }
  TensorList outputs;
  for (const Tensor& result : results) {
    outputs.push_back(result ? variable_data(result) : Tensor());
    if (!node) continue;
    if (result) {
      set_history(outputs.back(), node);
    } else {
      node->add_placeholder_input();
    }
  }
  return outputs;
}

}  // namespace

TensorList with_delayed_error(const TensorList& inputs, const std::string& text) {
  return with_delayed_error(inputs, inputs, text);
}

TensorList with_delayed_error(const TensorList& inputs, const TensorList& results, const std::string& text) {
  return behind(inputs, results, [&] { return make_node<ErrorNode>(text); });
}

TensorList without_gradient(const TensorList& inputs) {
  return behind(inputs, inputs, [] { return make_node<UndefinedGradNode>(); });
}

}  // namespace gradlife
