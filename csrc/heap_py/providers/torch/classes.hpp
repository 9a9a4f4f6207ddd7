// The class of a C++ object of torch, from its run-time type information and that of its bases.
#pragma once

#include <array>
#include <string>
#include <unordered_map>

#include "heap_py/memory/class_names.hpp"

namespace gradlife::heap {

// The kind of a class for the walk: its own, or that of the first known base.
enum class TorchClass : uint8_t {
  none,
  undefined,
  tensor,
  storage,
  meta,
  node,
  accumulator,
  context_node,
  tensor_hook,
  prehook,
  hook,
  post_accumulate_hook,
  saved_hooks,
  metadata,
  mapping
};
constexpr size_t torch_class_count = 15;
constexpr const char* torch_class_names[torch_class_count] = {"",
                                                              "undefined_class",
                                                              "tensor_class",
                                                              "storage_class",
                                                              "meta_class",
                                                              "node_class",
                                                              "accumulator_class",
                                                              "context_node_class",
                                                              "tensor_hook_class",
                                                              "prehook_class",
                                                              "hook_class",
                                                              "post_accumulate_hook_class",
                                                              "saved_hooks_class",
                                                              "metadata_class",
                                                              "mapping_class"};
// The C++ class of each, "c10::TensorImpl"; empty if this torch has none.
using TorchClassTable = std::array<std::string, torch_class_count>;

struct KnownClass {
  TorchClass what = TorchClass::none;
  std::string name;      // "SinBackward0"
  bool is_base = false;  // the class itself, not a derived one
};

class TorchClasses {
 public:
  explicit TorchClasses(const TorchClassTable& table) : table_(table) {}
  const KnownClass& of_vtable(uint64_t vtable);  // for any word

 private:
  KnownClass classify(const std::vector<std::string>& lineage) const;

  const TorchClassTable& table_;
  ClassNames names_;
  std::unordered_map<uint64_t, KnownClass> known_;
  const KnownClass unknown_;
};

inline bool is_node(TorchClass what) {
  return what == TorchClass::node || what == TorchClass::accumulator || what == TorchClass::context_node;
}
inline bool is_tensor_or_none(TorchClass what) { return what == TorchClass::tensor || what == TorchClass::undefined; }
// The label of the dict behind a hook of this class; nullptr: the class is not a hook.
const char* hooks_label(TorchClass what);

}  // namespace gradlife::heap
