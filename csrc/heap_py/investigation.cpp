#include "heap_py/investigation.hpp"

#include "heap_py/border.hpp"
#include "heap_py/description.hpp"
#include "heap_py/findings.hpp"
#include "heap_py/measure.hpp"
#include "heap_py/native_scan.hpp"
#include "heap_py/providers.hpp"

namespace gradlife::heap {
namespace {

int64_t count_of(const Graph& graph, NodeId node, NodeId target, int64_t own_references) {
  const auto* object = reinterpret_cast<PyObject*>(static_cast<uintptr_t>(graph.addresses[node]));
  return static_cast<int64_t>(Py_REFCNT(object)) - (node == target ? own_references : 0);
}

Telling tell_live(const Graph& graph, const std::vector<Provider*>& providers, NodeId target, int64_t own_references) {
  const Describer describer(graph, providers);
  return {[describer](NodeId node) { return describer.describe(node); },
          [describer](NodeId from, NodeId to) { return describer.describe_edge(from, to); },
          [&graph, target, own_references](NodeId node) { return count_of(graph, node, target, own_references); }};
}

Address address_of(const PyObject* object) { return static_cast<Address>(reinterpret_cast<uintptr_t>(object)); }

}  // namespace

Investigation investigate(PyObject* target, const WalkOptions& options, bool with_sizes, bool with_scan) {
  const int64_t own_references = count_own_references(target, options);
  auto frozen = std::make_unique<FrozenGraph>();
  NodeId node = no_node;
  Findings findings;
  {
    const CollectorPaused paused;
    const Providers providers;
    Walker(frozen->graph, options, providers.all()).run();
    if (with_sizes) measure_sizes(frozen->graph, providers.all());
    node = frozen->graph.find(address_of(target));
    if (node != no_node)
      findings = find_out(*frozen, node, tell_live(frozen->graph, providers.all(), node, own_references));
    frozen->limits = providers.limits();
    if (with_scan && node != no_node &&
        findings.references > static_cast<int64_t>(frozen->graph.referrers.of(node).size())) {
      NativeScan scan(frozen->graph);
      scan.add_target(address_of(target));
      findings.holders = scan.run();
    }
  }
  Ref told = node != no_node ? as_dict(frozen->graph, node, findings) : Ref::borrow(Py_None);
  return {std::move(frozen), std::move(told)};
}

Ref scan(PyObject* objects, const WalkOptions& options) {
  const auto count = static_cast<uint32_t>(PyList_GET_SIZE(objects));
  Graph graph;
  std::vector<NativeHolder> holders;
  {
    const CollectorPaused paused;
    const Providers providers;
    Walker(graph, options, providers.all()).run();
    graph.build_referrers();
    NativeScan scan(graph);
    for (uint32_t i = 0; i < count; ++i) scan.add_target(address_of(PyList_GET_ITEM(objects, i)));
    holders = scan.run();
  }
  Ref list = checked(PyList_New(0));
  for (uint32_t i = 0; i < count; ++i) {
    const PyObject* object = PyList_GET_ITEM(objects, i);
    const NodeId node = graph.find(address_of(object));
    const int64_t references = Py_REFCNT(object) - count_own_references(object, options, false);
    const size_t known = node != no_node ? graph.referrers.of(node).size() : 0;
    const Ref found = holder_list(holders, i);
    const Ref item = checked(
        Py_BuildValue("LkO", static_cast<long long>(references), static_cast<unsigned long>(known), found.get()));
    checked_status(PyList_Append(list.get(), item.get()));
  }
  return list;
}

}  // namespace gradlife::heap
