#include "engine_py/wrappers/closure.hpp"

#include <unordered_set>
#include <vector>

#include "engine/graph/autograd.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"
#include "engine_py/wrappers/node_hooks.hpp"
#include "engine_py/wrappers/objects.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

// Returns the inputs of a node; for an input that is gone already (an operation's own), the inputs of that.
TensorList inputs_of(const Node& node) {
  TensorList inputs;
  std::vector<const Node*> walk{&node};
  std::unordered_set<const Node*> seen;
  while (!walk.empty()) {
    const Node* next = walk.back();
    walk.pop_back();
    for (const Edge& edge : next->next_edges()) {
      if (Tensor input = edge.tensor.lock()) {
        inputs.push_back(std::move(input));
      } else if (edge && seen.insert(edge.node.get()).second) {
        walk.push_back(edge.node.get());
      }
    }
  }
  return inputs;
}

Ref plain_wrapper(const Tensor& tensor) {
  if (Ref known = find_wrapper(*tensor)) return known;
  return wrap_as(Tensor(tensor), reinterpret_cast<PyTypeObject*>(state().tensor_class));
}

// (result, inputs..., the closure from before an in-place change)
Ref make_closure(const Tensor& result, const TensorList& inputs) {
  Object* before = result->meta()->closure.get();
  const size_t count = 1 + inputs.size() + (before != nullptr ? 1 : 0);
  Ref closure = checked(PyTuple_New(static_cast<Py_ssize_t>(count)));
  PyTuple_SET_ITEM(closure.get(), 0, plain_wrapper(result).release());
  for (size_t i = 0; i < inputs.size(); ++i)
    PyTuple_SET_ITEM(closure.get(), static_cast<Py_ssize_t>(i) + 1, plain_wrapper(inputs[i]).release());
  if (before != nullptr)
    PyTuple_SET_ITEM(closure.get(), static_cast<Py_ssize_t>(count) - 1, Py_NewRef(static_cast<PyObject*>(before)));
  return closure;
}

// Under `rewrap` no wrapper can show the impl's only reference.
bool has_one_wrapper(const TensorImpl& impl) { return impl.wrapper() != nullptr; }

bool shows_node_hooks(const TensorImpl& impl) { return may_show_node_hooks(impl) && impl.use_count() == 1; }

}  // namespace

bool may_show_node_hooks(const TensorImpl& impl) {
  const NodePtr& node = impl.meta()->grad_fn;
  return has_one_wrapper(impl) && node && node->policy().saved_slot == SavedSlotPolicy::closure &&
         node->num_inputs() == 1;
}

bool awaits_closure(const TensorImpl& tensor) { return tensor.meta() != nullptr && tensor.meta()->awaits_closure; }

void close_over(const Tensor& result) {
  TensorList pending{result};
  while (!pending.empty()) {
    const Tensor tensor = std::move(pending.back());
    pending.pop_back();
    if (!awaits_closure(*tensor)) continue;
    AutogradMeta& meta = *tensor->meta();
    meta.awaits_closure = false;
    TensorList inputs = inputs_of(*meta.grad_fn);
    meta.closure = Handle::steal(make_closure(tensor, inputs).release(), meta.grad_fn->policy().interpreter_exit);
    for (Tensor& input : inputs) pending.push_back(std::move(input));
  }
}

void hold_closure(const TensorImpl& result, PyObject* node) {
  if (result.meta() == nullptr || !result.meta()->closure || !is_node_wrapper(node)) return;
  PyObject*& held = reinterpret_cast<NodeObject*>(node)->closure;
  Py_XSETREF(held, Py_NewRef(static_cast<PyObject*>(result.meta()->closure.get())));
}

const TensorImpl* gradient_to_leave(const TensorImpl& impl) {
  if (impl.policy().saved_slot != SavedSlotPolicy::closure || impl.meta() == nullptr) return nullptr;
  const Tensor& gradient = impl.meta()->grad;
  return gradient && !is_leaf(*gradient) ? gradient.get() : nullptr;
}

void leave_gradient(TensorImpl& impl) {
  if (gradient_to_leave(impl) == nullptr) return;
  const Tensor left = std::move(impl.meta()->grad);
}

int visit_closure(const TensorImpl& impl, visitproc visit, void* arg) {
  if (!has_one_wrapper(impl)) return 0;
  Py_VISIT(static_cast<PyObject*>(impl.meta()->closure.get()));
  return shows_node_hooks(impl) ? visit_node_hooks(*impl.meta()->grad_fn, visit, arg) : 0;
}

void clear_closure(TensorImpl& impl) {
  if (impl.meta() == nullptr || !has_one_wrapper(impl)) return;
  if (shows_node_hooks(impl)) clear_node_hooks(*impl.meta()->grad_fn);
  const Handle closure = std::move(impl.meta()->closure);
}

}  // namespace gradlife
