#include "engine_py/types/deferred_traverse.hpp"

#include "engine/graph/autograd.hpp"
#include "engine/policy/traits.hpp"
#include "engine_py/functions/function.hpp"
#include "engine_py/hooks/hooks.hpp"
#include "engine_py/interpreter/state.hpp"
#include "engine_py/types/node_type.hpp"
#include "engine_py/wrappers/closure.hpp"

namespace gradlife {
namespace {

using Visit = void (*)(void* state, void* object, const HeapLatent& latent);

class Latents {
 public:
  Latents(Visit visit, void* state) : visit_(visit), state_(state) {}

  // Like visit_sole_owned_node (tensor_type.cpp).
  void of_node_behind(const TensorImpl& impl) {
    const AutogradMeta* meta = impl.meta();
    if (!has(impl.policy(), traits::collector_sees_sole_owned_node) || meta == nullptr || !meta->grad_fn) return;
    const Node& node = *meta->grad_fn;
    const bool is_coupled = node.identity() == Identity::coupled;
    const PyNode* custom = dynamic_cast<const PyNode*>(&node);
    if (custom == nullptr && !is_coupled) return;
    Object* shown = custom != nullptr ? custom->context() : node.wrapper();
    tell(shown, {{&impl, &node}, {impl.use_count() - 1, meta->grad_fn.use_count() - (is_coupled ? 2 : 1)}});
  }
  void of_hooks(const Managed& owned, const Node& node) {
    const HeapLatent latent{{&owned, nullptr}, {owned.use_count() - 1, 0}};
    for (const auto& entry : node.tensor_hooks) tell(entry.hook->traversable(), latent);
    for (const auto& hook : node.pre_hooks) tell(hook->traversable(), latent);
    for (const auto& hook : node.post_hooks) tell(hook->traversable(), latent);
  }

 private:
  void tell(Object* object, const HeapLatent& latent) {
    if (object != nullptr && (latent.owners[0] != 0 || latent.owners[1] != 0)) visit_(state_, object, latent);
  }
  Visit visit_;
  void* state_;
};

bool shows_hooks_of_its_node(PyObject* wrapper) {
  if (PyObject_TypeCheck(wrapper, state().function_base) == 0) return true;
  const Policy& policy = *function_object(wrapper)->policy;
  return policy.function_ownership == FunctionOwnership::coupled && !policy.is_oneflow;
}

}  // namespace

void visit_latent(const void* address, Visit visit, void* state) {
  PyObject* wrapper = static_cast<PyObject*>(const_cast<void*>(address));
  const WrapperObject* head = head_of(wrapper);
  if (head->impl == nullptr || !(head->owns_impl || head->impl->kind() == Kind::node)) return;
  Latents latents(visit, state);
  if (head->impl->kind() == Kind::tensor) {
    const TensorImpl& impl = *static_cast<const TensorImpl*>(head->impl);
    latents.of_node_behind(impl);
    if (impl.meta() != nullptr && may_show_node_hooks(impl)) latents.of_hooks(impl, *impl.meta()->grad_fn);
  } else if (head->impl->kind() == Kind::node && shows_hooks_of_its_node(wrapper)) {
    latents.of_hooks(*head->impl, *static_cast<const Node*>(head->impl));
  }
}

}  // namespace gradlife
