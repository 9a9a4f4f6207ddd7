// The engine's side of the heap walk.
#include "base/heap_interface.hpp"

#include <cstdio>
#include <sstream>

#include "base/labels.hpp"
#include "engine/graph/autograd.hpp"
#include "engine_py/api/api.hpp"
#include "engine_py/api/heap_interface.hpp"
#include "engine_py/functions/function.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"
#include "engine_py/types/deferred_traverse.hpp"
#include "engine_py/types/node_type.hpp"
#include "engine_py/types/storage_type.hpp"
#include "engine_py/types/tensor_type.hpp"
#include "engine_py/wrappers/closure.hpp"
#include "engine_py/wrappers/objects.hpp"

namespace gradlife {
namespace {

const Managed& managed_at(const void* address) { return *static_cast<const Managed*>(address); }

PyTypeObject* as_type(const void* type) { return static_cast<PyTypeObject*>(const_cast<void*>(type)); }
PyObject* as_object(const void* object) { return static_cast<PyObject*>(const_cast<void*>(object)); }

bool is_context_type(PyTypeObject* type) { return PyType_IsSubtype(type, state().function_base) != 0; }

bool knows_type(const void* address) {
  PyTypeObject* type = as_type(address);
  const ModuleState& own = state();
  if (is_context_type(type) || PyType_IsSubtype(type, own.storage_base) != 0) return true;
  return PyType_IsSubtype(type, own.tensor_base) != 0 || wraps_nodes(type);
}

const void* object_behind(const void* wrapper) {
  PyObject* object = as_object(wrapper);
  if (head_of(object)->impl != nullptr || !is_context_type(Py_TYPE(object))) return head_of(object)->impl;
  return function_object(object)->node.peek();
}

bool wrapper_owns(const void* wrapper) {
  const WrapperObject* head = head_of(as_object(wrapper));
  return head->impl != nullptr && (is_context_type(Py_TYPE(as_object(wrapper))) || head->owns_impl);
}

bool outlives_references(const void* wrapper) {
  const WrapperObject* head = head_of(as_object(wrapper));
  return head->impl != nullptr && head->owns_impl && head->impl->identity() == Identity::resurrect;
}

void visit_kept(const void* wrapper, void (*visit)(void* state, void* object, bool is_taken), void* state) {
  PyObject* object = as_object(wrapper);
  if (!is_kept_by_impl(object)) return;
  const bool is_tensor = head_of(object)->impl->kind() == Kind::tensor;
  struct Call {
    void (*visit)(void* state, void* object, bool is_taken);
    void* state;
    const PyObject* taken;
  } call{visit, state, is_tensor ? taken_from_kept(object) : nullptr};
  const visitproc forward = [](PyObject* target, void* arg) {
    const Call& call = *static_cast<Call*>(arg);
    call.visit(call.state, target, target != nullptr && target == call.taken);
    return 0;
  };
  if (is_tensor)
    visit_tensor_references(object, forward, &call);
  else
    visit_storage_references(object, forward, &call);
}

const TensorImpl* tensor_of(const void* wrapper) {
  const WrapperObject* head = head_of(as_object(wrapper));
  const bool is_tensor = head->impl != nullptr && head->impl->kind() == Kind::tensor;
  return is_tensor && head->owns_impl ? static_cast<const TensorImpl*>(head->impl) : nullptr;
}

const void* goes_with(const void* wrapper, const char** label) {
  const TensorImpl* tensor = tensor_of(wrapper);
  *label = "grad";
  return tensor != nullptr && tensor->wrapper() == wrapper ? gradient_to_leave(*tensor) : nullptr;
}

// Whether the impl is an owner of its wrapper.
bool owns_its_wrapper(const Managed& managed) {
  if (managed.wrapper() == nullptr) return false;
  if (managed.identity() == Identity::coupled) return managed.use_count() > 1;
  return managed.identity() == Identity::mutual || managed.owns_wrapper();
}

// Coupled references count only while the impl has other owners than its wrapper.
class Forwarding final : public OwnedVisitor {
 public:
  Forwarding(const HeapVisitor& visitor, bool counts_coupled, const void* left_out)
      : visitor_(visitor), counts_coupled_(counts_coupled), left_out_(left_out) {}
  void managed(const char* label, Managed* target, Ownership ownership, int64_t index) override {
    if (target != left_out_) visitor_.managed(visitor_.state, label, target, static_cast<uint8_t>(ownership), index);
  }
  void object(const char* label, Object* target, Ownership ownership) override {
    if (ownership == Ownership::coupled && !counts_coupled_) return;
    visitor_.object(visitor_.state, label, target, static_cast<uint8_t>(ownership));
  }

 private:
  const HeapVisitor& visitor_;
  bool counts_coupled_;
  const void* left_out_;  // named with the wrapper
};

void visit(const void* address, const HeapVisitor& visitor) {
  const Managed& managed = managed_at(address);
  const bool owns_wrapper = owns_its_wrapper(managed);
  const char* label;
  const void* of_wrapper = managed.wrapper() != nullptr ? goes_with(managed.wrapper(), &label) : nullptr;
  Forwarding forwarding(visitor, owns_wrapper, of_wrapper);
  const bool tells_of_context = dynamic_cast<const PyNode*>(&managed) != nullptr;
  const Ownership ownership = managed.identity() == Identity::coupled ? Ownership::coupled : Ownership::strong;
  if (owns_wrapper && !tells_of_context) forwarding.object(labels::its_wrapper, managed.wrapper(), ownership);
  managed.visit_owned(forwarding);
}

uint32_t owners(const void* address) { return managed_at(address).use_count(); }

void each_live(void (*visit)(void* state, const void* managed), void* state) {
  for (const Managed* managed = Managed::first_live(); managed != nullptr; managed = managed->next_live())
    if (managed->use_count() != 0) visit(state, managed);
}

uint8_t kind(const void* address) { return static_cast<uint8_t>(managed_at(address).kind()); }
const char* name(const void* address) { return managed_at(address).name(); }

uint64_t bytes(const void* address) {
  const Managed& managed = managed_at(address);
  return managed.kind() == Kind::storage ? static_cast<const Storage&>(managed).bytes() : 0;
}

size_t describe(const void* address, char* text, size_t size) {
  const Managed& managed = managed_at(address);
  std::ostringstream words;
  if (managed.kind() == Kind::tensor) {
    const auto& tensor = static_cast<const TensorImpl&>(managed);
    words << dtype_name(tensor.dtype()) + sizeof("torch.") - 1 << ' ' << tensor.sizes();
  } else if (managed.kind() == Kind::storage) {
    words << static_cast<const Storage&>(managed).bytes() << " bytes";
  }
  return static_cast<size_t>(std::snprintf(text, size, "%s", words.str().c_str()));
}

const HeapInterface interface = {HeapInterface::current_version,
                                 knows_type,
                                 object_behind,
                                 wrapper_owns,
                                 outlives_references,
                                 visit_kept,
                                 visit_latent,
                                 goes_with,
                                 visit,
                                 owners,
                                 each_live,
                                 kind,
                                 name,
                                 bytes,
                                 describe};

}  // namespace

Ref make_heap_interface() {
  return checked(PyCapsule_New(const_cast<HeapInterface*>(&interface), HeapInterface::capsule_name, nullptr));
}

}  // namespace gradlife
