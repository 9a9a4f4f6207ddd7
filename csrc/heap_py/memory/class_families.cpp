#include "heap_py/memory/class_families.hpp"

#include <cstring>
#include <memory>

namespace gradlife::heap {
namespace {

struct Root {
  const char* mangled;
  Family family;
};
constexpr Root roots[] = {{"N3c1010TensorImplE", Family::tensor},
                          {"N3c1011StorageImplE", Family::storage},
                          {"N5torch8autograd4NodeE", Family::grad_node},
                          {"N3c1021AutogradMetaInterfaceE", Family::autograd_meta},
                          {"N5torch8autograd18SavedVariableHooksE", Family::hook},
                          {"N5torch8autograd15FunctionPreHookE", Family::hook},
                          {"N5torch8autograd16FunctionPostHookE", Family::hook},
                          {"N5torch8autograd22PostAccumulateGradHookE", Family::hook},
                          {"N8gradlife10TensorImplE", Family::tensor},
                          {"N8gradlife7StorageE", Family::storage},
                          {"N8gradlife4NodeE", Family::grad_node}};
constexpr const char* torch_counted = "N3c1020intrusive_ptr_targetE";
constexpr const char* engine_counted = "N8gradlife10RefCountedE";
constexpr const char* in_place_prefix = "St23_Sp_counted_ptr_inplaceI";
constexpr const char* script_namespace = "5torch3jit";  // the mangled form

bool starts_with(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }

// The first argument of a template: "torch::jit::Graph" of "std::_Sp_counted_ptr_inplace<torch::jit::Graph, ...>".
std::string first_argument(const std::string& readable) {
  const size_t start = readable.find('<') + 1;
  int depth = 0;
  for (size_t i = start; start != 0 && i < readable.size(); ++i) {
    const char c = readable[i];
    if (depth == 0 && (c == ',' || c == '>')) return readable.substr(start, i - start);
    depth += c == '<' || c == '(' ? 1 : 0;
    depth -= c == '>' || c == ')' ? 1 : 0;
  }
  return readable;
}

}  // namespace

const char* family_name(Family family) {
  static constexpr const char* names[] = {"", "tensor", "storage", "grad_node", "autograd_meta", "hook", "script"};
  return names[static_cast<size_t>(family)];
}

std::string readable_class(const std::string& mangled) {
  const std::string name = ClassNames::readable(mangled);
  return starts_with(mangled, in_place_prefix) ? first_argument(name) : name;
}

std::string ClassRecord::readable() const { return readable_class(*mangled); }

ClassTable& ClassTable::current() {
  static std::unique_ptr<ClassTable>* table = new std::unique_ptr<ClassTable>;
  static uint64_t seen = 0;
  const uint64_t now = LibraryList::current().changes();
  if (*table == nullptr || seen != now) *table = std::make_unique<ClassTable>();
  seen = now;
  return **table;
}

uint32_t ClassTable::find(uint64_t vtable) {
  const auto known = places_.find(vtable);
  if (known != places_.end()) return known->second;
  const std::string* mangled = names_.of_vtable(vtable);
  if (mangled == nullptr) return none;
  const auto place = static_cast<uint32_t>(records_.size());
  records_.push_back(describe(vtable, *mangled));
  places_.emplace(vtable, place);
  return place;
}

ClassRecord ClassTable::describe(uint64_t vtable, const std::string& mangled) {
  ClassRecord record;
  record.mangled = &mangled;
  record.is_in_place = starts_with(mangled, in_place_prefix);
  const bool is_script = mangled.find(script_namespace) != std::string::npos;
  if (record.is_in_place) {
    if (is_script && starts_with(record.readable(), "torch::jit::")) record.family = Family::script;
    return record;
  }
  for (const std::string& base : names_.ancestors(vtable)) {
    if (base == torch_counted) record.count = ClassRecord::Count::torch;
    if (base == engine_counted) record.count = ClassRecord::Count::engine;
    for (const Root& root : roots)
      if (base == root.mangled) record.family = root.family;
  }
  if (record.family == Family::other && mangled.compare(1, std::strlen(script_namespace), script_namespace) == 0)
    record.family = Family::script;
  return record;
}

}  // namespace gradlife::heap
