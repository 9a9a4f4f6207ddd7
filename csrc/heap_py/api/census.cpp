#include "heap_py/api/census.hpp"

#include "heap_py/interpreter/interpreter.h"
#include "heap_py/labels/description.hpp"
#include "heap_py/providers/provider_list.hpp"

namespace gradlife::heap {

void take_census(Graph& graph, const WalkOptions& options) {
  const std::vector<Provider*> no_providers;
  Builder builder(graph, 0);
  graph.addresses.reserve(gl_estimate_tracked() + 4096);
  graph.types.reserve(gl_estimate_tracked() + 4096);
  for (const PyObject* object : options.hidden_objects)
    builder.exclude(static_cast<Address>(reinterpret_cast<uintptr_t>(object)));
  const uint32_t process = builder.add_type({"process", NodeKind::root, 0, 1});
  TypeTable types(builder, no_providers);
  builder.add(8, process);  // has no address
  graph.tracked_begin = graph.size();
  struct Call {
    Graph& graph;
    Builder& builder;
    TypeTable& types;
    bool ran_out;  // no exception may pass through the collector's own code
  } call{graph, builder, types, false};
  gl_visit_tracked(
      [](PyObject* object, void* state) {
        Call& call = *static_cast<Call*>(state);
        const Address address = static_cast<Address>(reinterpret_cast<uintptr_t>(object));
        if (call.ran_out || call.builder.is_excluded(address)) return;
        try {
          call.graph.types.push_back(call.types.row_of(Py_TYPE(object)));
          call.graph.addresses.push_back(address);
        } catch (const std::bad_alloc&) {
          call.ran_out = true;
        }
      },
      &call);
  if (call.ran_out) throw std::bad_alloc();
  if (graph.size() >= no_node) throw std::length_error("more than four billion objects");
  graph.tracked_end = graph.size();
  graph.references.first.assign_zero(graph.size() + 1);
}

Details describe_examples(const Graph& graph, const std::vector<TypeChange>& changes) {
  Details details;
  if (changes.empty()) return details;
  const Providers providers;
  const Describer describer(graph, providers.all());
  for (const TypeChange& change : changes)
    for (NodeId node : change.examples) details.emplace_back(node, describer.describe(node));
  return details;
}

Ref detail_dict(const Details& details) {
  Ref dict = checked(PyDict_New());
  for (const auto& [node, detail] : details)
    checked_status(PyDict_SetItem(dict.get(), checked(PyLong_FromUnsignedLong(node)).get(), text(detail).get()));
  return dict;
}

}  // namespace gradlife::heap
