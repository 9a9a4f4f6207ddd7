#include "heap_py/providers/torch/classes.hpp"
#include "base/labels.hpp"

namespace gradlife::heap {
namespace {

// "torch::autograd::CppNode<my::Function>" -> "CppNode<my::Function>": the last part of a qualified name.
std::string last_part(const std::string& name) {
  const size_t colon = name.rfind("::", name.find('<'));
  return colon == std::string::npos ? name : name.substr(colon + 2);
}

}  // namespace

KnownClass TorchClasses::classify(const std::vector<std::string>& lineage) const {
  for (size_t i = 0; i < lineage.size(); ++i)
    for (size_t what = 1; what < torch_class_count; ++what)
      if (lineage[i] == table_[what]) return {static_cast<TorchClass>(what), last_part(lineage[0]), i == 0};
  return {};
}

const KnownClass& TorchClasses::of_vtable(uint64_t vtable) {
  const auto found = known_.find(vtable);
  if (found != known_.end()) return found->second;
  const std::vector<std::string> lineage = names_.lineage(vtable);
  return lineage.empty() ? unknown_ : known_.emplace(vtable, classify(lineage)).first->second;
}

const char* hooks_label(TorchClass what) {
  switch (what) {
    case TorchClass::tensor_hook:
      return labels::tensor_hooks;
    case TorchClass::prehook:
      return labels::prehooks;
    case TorchClass::hook:
      return labels::hooks;
    case TorchClass::post_accumulate_hook:
      return labels::post_accumulate_hooks;
    default:
      return nullptr;
  }
}

}  // namespace gradlife::heap
