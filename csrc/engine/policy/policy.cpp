#include "engine/policy/policy.hpp"

#include <cstring>
#include <deque>

namespace gradlife {
namespace {

thread_local const Policy* thread_policy = nullptr;
const Policy* process_default = nullptr;

// Axis values are in the order of their enumerations.
uint8_t* axis_field(Policy& policy, size_t axis) {
  uint8_t* fields[] = {
      reinterpret_cast<uint8_t*>(&policy.function_ownership), reinterpret_cast<uint8_t*>(&policy.legacy_functions),
      reinterpret_cast<uint8_t*>(&policy.tensor_identity),    reinterpret_cast<uint8_t*>(&policy.storage_identity),
      reinterpret_cast<uint8_t*>(&policy.node_identity),      reinterpret_cast<uint8_t*>(&policy.saved_slot),
      reinterpret_cast<uint8_t*>(&policy.hook_references),    reinterpret_cast<uint8_t*>(&policy.interpreter_exit),
      reinterpret_cast<uint8_t*>(&policy.unpack_schedule)};
  return fields[axis];
}

int find_axis(const std::string& name) {
  const std::vector<Axis>& axes = policy_axes();
  for (size_t i = 0; i < axes.size(); ++i)
    if (name == axes[i].name) return static_cast<int>(i);
  return -1;
}

// The policy that a release begins with: that of the release before it.
Policy released(Policy policy, const char* profile, int release) {
  policy.profile = profile;
  policy.release = release;
  return policy;
}

Policy torch_1_1() {
  Policy policy = released({}, "torch-1.1", 101);
  policy.function_ownership = FunctionOwnership::ctx_owns_node;
  policy.legacy_functions = LegacyFunctions::instance_is_ctx;
  policy.tensor_identity = Identity::cached;
  policy.storage_identity = Identity::rewrap;
  policy.node_identity = Identity::cached;
  policy.interpreter_exit = ExitPolicy::release;
  return policy;
}

Policy torch_1_2() {
  Policy policy = released(torch_1_1(), "torch-1.2", 102);
  policy.function_ownership = FunctionOwnership::node_owns_ctx;
  return policy;
}

Policy torch_1_8() {
  Policy policy = released(torch_1_2(), "torch-1.8", 108);
  policy.legacy_functions = LegacyFunctions::refused;
  return policy;
}

Policy torch_1_9() {
  Policy policy = released(torch_1_8(), "torch-1.9", 109);
  policy.interpreter_exit = ExitPolicy::leak;
  return policy;
}

Policy torch_1_10() {
  Policy policy = released(torch_1_9(), "torch-1.10", 110);
  policy.tensor_identity = Identity::resurrect;
  return policy;
}

Policy torch_1_13() { return released(torch_1_10(), "torch-1.13", 113); }

Policy torch_2_9() {
  Policy policy = released(torch_1_13(), "torch-2.9", 209);
  policy.storage_identity = Identity::resurrect;
  return policy;
}

Policy torch_2_10() {
  Policy policy = released(torch_2_9(), "torch-2.10", 210);
  policy.tensor_identity = Identity::coupled;
  policy.storage_identity = Identity::coupled;
  return policy;
}

Policy torch_2_13() { return released({}, "torch-2.13", 213); }

// Releases what setup_context returns: a trait, as each axis is that of 2.13.
Policy torch_2_14() { return released(torch_2_13(), "torch-2.14", 214); }

Policy oneflow_0_8() {
  Policy policy = released({}, "oneflow-0.8", 8);
  policy.is_oneflow = true;
  policy.function_ownership = FunctionOwnership::node_owns_ctx;
  policy.tensor_identity = Identity::cached;
  policy.storage_identity = Identity::rewrap;
  policy.node_identity = Identity::cached;
  policy.saved_slot = SavedSlotPolicy::owning;
  return policy;
}

Policy oneflow_0_9() {
  Policy policy = released(oneflow_0_8(), "oneflow-0.9", 9);
  policy.interpreter_exit = ExitPolicy::release;
  policy.tensor_identity = Identity::resurrect;
  return policy;
}

// Karpathy's micrograd: everything is a Python object, and each result keeps a closure over itself and its inputs.
Policy micrograd() {
  Policy policy;
  policy.profile = "micrograd";
  policy.function_ownership = FunctionOwnership::node_owns_ctx;
  policy.tensor_identity = Identity::cached;
  policy.storage_identity = Identity::cached;
  policy.node_identity = Identity::cached;
  policy.saved_slot = SavedSlotPolicy::closure;
  return policy;
}

Policy broken(Policy base, const char* name, const char* axis, const char* value) {
  base.profile = name;
  set_axis(base, axis, value);
  return base;
}

// One teaching profile per axis: torch 2.13 with one mistake (the legacy ones build on 1.2, which still had them).
std::vector<Policy> make_profiles() {
  const Policy now = torch_2_13();
  return {torch_1_1(),
          torch_1_2(),
          torch_1_8(),
          torch_1_9(),
          torch_1_10(),
          torch_1_13(),
          torch_2_9(),
          torch_2_10(),
          now,
          torch_2_14(),
          oneflow_0_8(),
          oneflow_0_9(),
          micrograd(),
          broken(now, "broken-function-ownership", "function_ownership", "weak_at_construction"),
          broken(torch_1_1(), "rejected-refcount-check", "function_ownership", "refcount_check"),
          broken(torch_1_2(), "rejected-consumed", "legacy_functions", "consumed"),
          broken(now, "broken-tensor-identity", "tensor_identity", "mutual"),
          broken(now, "broken-storage-identity", "storage_identity", "mutual"),
          broken(now, "broken-node-identity", "node_identity", "mutual"),
          broken(now, "broken-saved-slot", "saved_slot", "owning"),
          broken(now, "broken-hook-borrowed", "hook_references", "borrowed"),
          broken(now, "broken-hook-extra", "hook_references", "extra"),
          broken(now, "broken-interpreter-exit", "interpreter_exit", "release"),
          broken(now, "broken-unpack-upfront", "unpack_schedule", "upfront")};
}

}  // namespace

const std::vector<Axis>& policy_axes() {
  static const std::vector<Axis>* axes = new std::vector<Axis>{
      {"function_ownership", {"ctx_owns_node", "node_owns_ctx", "coupled", "weak_at_construction", "refcount_check"}},
      {"legacy_functions", {"instance_is_ctx", "refused", "consumed"}},
      {"tensor_identity", {"rewrap", "cached", "resurrect", "coupled", "mutual"}},
      {"storage_identity", {"rewrap", "cached", "resurrect", "coupled", "mutual"}},
      {"node_identity", {"rewrap", "cached", "resurrect", "coupled", "mutual"}},
      {"saved_slot", {"detached_data", "owning", "closure"}},
      {"hook_references", {"owned", "borrowed", "extra"}},
      {"interpreter_exit", {"leak", "release"}},
      {"unpack_schedule", {"progressive", "upfront"}}};
  return *axes;
}

const char* axis_value(const Policy& policy, const std::string& axis) {
  const int index = find_axis(axis);
  if (index < 0) return nullptr;
  Policy copy = policy;
  return policy_axes()[static_cast<size_t>(index)].values[*axis_field(copy, static_cast<size_t>(index))];
}

bool set_axis(Policy& policy, const std::string& axis, const std::string& value) {
  const int index = find_axis(axis);
  if (index < 0) return false;
  const std::vector<const char*>& values = policy_axes()[static_cast<size_t>(index)].values;
  for (size_t i = 0; i < values.size(); ++i) {
    if (value != values[i]) continue;
    *axis_field(policy, static_cast<size_t>(index)) = static_cast<uint8_t>(i);
    return true;
  }
  return false;
}

const std::vector<Policy>& profiles() {
  static const std::vector<Policy>* all = new std::vector<Policy>(make_profiles());
  return *all;
}

const Policy* find_profile(const std::string& name) {
  for (const Policy& policy : profiles())
    if (policy.profile == name) return &policy;
  return nullptr;
}

const Policy* intern_policy(const Policy& policy) {
  static std::deque<Policy>* interned = new std::deque<Policy>;
  const auto is_same = [&](const Policy& other) {
    if (other.profile != policy.profile) return false;
    for (const Axis& axis : policy_axes())
      if (std::strcmp(axis_value(other, axis.name), axis_value(policy, axis.name)) != 0) return false;
    return true;
  };
  for (const Policy& known : *interned)
    if (is_same(known)) return &known;
  interned->push_back(policy);
  return &interned->back();
}

const Policy* default_policy() {
  if (process_default == nullptr) process_default = intern_policy(*find_profile("torch-2.13"));
  return process_default;
}

void set_default_policy(const Policy* policy) { process_default = policy; }

const Policy* current_policy() { return thread_policy != nullptr ? thread_policy : default_policy(); }

const Policy* set_thread_policy(const Policy* policy) {
  const Policy* previous = thread_policy;
  thread_policy = policy;
  return previous;
}

}  // namespace gradlife
