#include "heap_py/providers/provider_list.hpp"

#include <structmember.h>

#include "heap_py/interpreter/interpreter.h"
#include "heap_py/providers/engine/provider.hpp"
#include "heap_py/providers/numpy/provider.hpp"
#include "heap_py/providers/torch/provider.hpp"

namespace gradlife::heap {

namespace {

// What the __slots__ of its classes hold.
void expand_slots(PyObject* object, ReferenceSink& sink) {
  for (const PyTypeObject* type = Py_TYPE(object); type != nullptr; type = type->tp_base) {
    if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 || type->tp_members == nullptr) continue;
    for (const PyMemberDef* member = type->tp_members; member->name != nullptr; ++member)
      if (member->type == T_OBJECT_EX)
        sink.python(*reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + member->offset), Relation::slot,
                    member->name);
  }
}

}  // namespace

void Provider::expand_silent(PyObject* object, ReferenceSink& sink) {
  expand_slots(object, sink);
  if (PyObject* dict = gl_existing_dict(object)) sink.python(dict, Relation::internal, "__dict__");
  gl_visit_inline_attributes(
      object,
      [](PyObject*, PyObject* value, void* state) {
        static_cast<ReferenceSink*>(state)->python(value, Relation::unknown, "");
      },
      &sink);
}

Providers::Providers() : layout_(shared_torch_layout()) {
  if (const HeapInterface* engine = EngineProvider::find_interface())
    owned_.push_back(std::make_unique<EngineProvider>(*engine));
  if (layout_ != nullptr) owned_.push_back(std::make_unique<TorchProvider>(*layout_));
  if (PyTypeObject* arrays = NumpyProvider::find_array_type())
    owned_.push_back(std::make_unique<NumpyProvider>(arrays));
  for (const auto& provider : owned_) all_.push_back(provider.get());
}

int64_t owners_of(const Graph& graph, const std::vector<Provider*>& providers, NodeId node) {
  const uint32_t type = graph.types[node];
  for (Provider* provider : providers)
    if (provider->owns_type(type))
      return provider->native_owners(reinterpret_cast<void*>(static_cast<uintptr_t>(graph.addresses[node])), type);
  return -1;
}

std::vector<std::string> Providers::limits() const {
  std::vector<std::string> found;
  for (const Provider* provider : all_) found.insert(found.end(), provider->limits().begin(), provider->limits().end());
  return found;
}

}  // namespace gradlife::heap
