#include "heap_py/providers/provider_list.hpp"

#include "heap_py/interpreter/interpreter.h"
#include "heap_py/providers/engine/provider.hpp"
#include "heap_py/providers/numpy/provider.hpp"
#include "heap_py/providers/torch/provider.hpp"

namespace gradlife::heap {

void Provider::expand_silent(PyObject* object, ReferenceSink& sink) {
  if (PyObject* dict = gl_existing_dict(object)) sink.python(dict, Relation::internal, "__dict__");
  gl_visit_inline_attributes(
      object,
      [](PyObject*, PyObject* value, void* state) {
        static_cast<ReferenceSink*>(state)->python(value, Relation::unknown, "");
      },
      &sink);
}

Providers::Providers() {
  if (const HeapInterface* engine = EngineProvider::find_interface())
    owned_.push_back(std::make_unique<EngineProvider>(*engine));
  if (const TorchLayout* layout = torch_layout()) owned_.push_back(std::make_unique<TorchProvider>(*layout));
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
