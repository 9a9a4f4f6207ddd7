#include "engine_py/wrappers/node_hooks.hpp"

#include "engine/policy/traits.hpp"

namespace gradlife {

int visit_node_hooks(const Node& node, visitproc visit, void* arg) {
  for (const auto& entry : node.tensor_hooks) Py_VISIT(static_cast<PyObject*>(entry.hook->traversable()));
  if (has(node.policy(), traits::collector_sees_prehooks))
    for (const auto& hook : node.pre_hooks) Py_VISIT(static_cast<PyObject*>(hook->traversable()));
  for (const auto& hook : node.post_hooks) Py_VISIT(static_cast<PyObject*>(hook->traversable()));
  return 0;
}

void clear_node_hooks(Node& node) {
  // Moved out first: dropping one may run code that reads the node.
  const auto tensor_hooks = std::move(node.tensor_hooks);
  const auto pre_hooks = std::move(node.pre_hooks);
  const auto post_hooks = std::move(node.post_hooks);
  node.tensor_hooks.clear();
  node.pre_hooks.clear();
  node.post_hooks.clear();
}

}  // namespace gradlife
