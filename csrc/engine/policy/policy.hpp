// Ownership policies: one value per axis, bundled into named profiles. Every object stores its policy at birth.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/host.hpp"

namespace gradlife {

enum class FunctionOwnership : uint8_t { ctx_owns_node, node_owns_ctx, coupled, weak_at_construction, refcount_check };
enum class LegacyFunctions : uint8_t { instance_is_ctx, refused, consumed };
enum class Identity : uint8_t { rewrap, cached, resurrect, coupled, mutual };
enum class SavedSlotPolicy : uint8_t { detached_data, owning, closure };
enum class HookReferences : uint8_t { owned, borrowed, extra };
enum class UnpackSchedule : uint8_t { progressive, upfront };

// `release` selects texts and minor behavior: major * 100 + minor, so 1.10 is 110 and 2.13 is 213.
struct Policy {
  std::string profile;
  bool is_oneflow = false;
  int release = 213;
  FunctionOwnership function_ownership = FunctionOwnership::coupled;
  LegacyFunctions legacy_functions = LegacyFunctions::refused;
  Identity tensor_identity = Identity::coupled;
  Identity storage_identity = Identity::coupled;
  Identity node_identity = Identity::coupled;
  SavedSlotPolicy saved_slot = SavedSlotPolicy::detached_data;
  HookReferences hook_references = HookReferences::owned;
  ExitPolicy interpreter_exit = ExitPolicy::leak;
  UnpackSchedule unpack_schedule = UnpackSchedule::progressive;
};

struct Axis {
  const char* name;
  std::vector<const char*> values;
};

const std::vector<Axis>& policy_axes();
const char* axis_value(const Policy& policy, const std::string& axis);             // nullptr: no such axis
bool set_axis(Policy& policy, const std::string& axis, const std::string& value);  // false: no such axis or value

const std::vector<Policy>& profiles();
const Policy* find_profile(const std::string& name);
// Return the one immortal copy of a policy, for objects to point at.
const Policy* intern_policy(const Policy& policy);

// Return this thread's policy, or the process's default.
const Policy* current_policy();
const Policy* set_thread_policy(const Policy* policy);  // returns the previous one (nullptr: the default)
const Policy* default_policy();
void set_default_policy(const Policy* policy);

}  // namespace gradlife
