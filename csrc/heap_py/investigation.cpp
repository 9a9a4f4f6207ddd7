#include "heap_py/investigation.hpp"

#include "heap_py/border.hpp"
#include "heap_py/description.hpp"
#include "heap_py/measure.hpp"
#include "heap_py/native_scan.hpp"
#include "heap_py/providers.hpp"
#include "heapgraph/collector.hpp"

namespace gradlife::heap {
namespace {

constexpr size_t most_referrers = 1000;

Ref text(const std::string& value) {
  return checked(PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "replace"));
}

struct Step {
  NodeId node;
  std::string description;
  Label to_next;
};

std::vector<Step> describe_steps(const Describer& describer, const std::vector<NodeId>& nodes, NodeId last) {
  std::vector<Step> steps;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodeId next = i + 1 < nodes.size() ? nodes[i + 1] : last;
    steps.push_back(
        {nodes[i], describer.describe(nodes[i]), next != no_node ? describer.describe_edge(nodes[i], next) : Label{}});
  }
  return steps;
}

struct Findings {
  int64_t references = 0;  // to the target, the caller's own left out
  std::vector<Step> path;
  std::vector<Step> referrers;
  std::vector<Step> cycle;
  Fate fate;
  std::vector<NativeHolder> holders;
};

std::vector<Step> describe_referrers(const Graph& graph, const Describer& describer, NodeId node) {
  std::vector<Step> steps;
  for (NodeId referrer : graph.referrers.of(node)) {
    if (steps.size() == most_referrers) break;
    steps.push_back({referrer, describer.describe(referrer), describer.describe_edge(referrer, node)});
  }
  return steps;
}

int64_t count_of(const Graph& graph, NodeId node, NodeId target, int64_t own_references) {
  const auto* object = reinterpret_cast<PyObject*>(static_cast<uintptr_t>(graph.addresses[node]));
  return static_cast<int64_t>(Py_REFCNT(object)) - (node == target ? own_references : 0);
}

Findings find(FrozenGraph& frozen, NodeId target, int64_t own_references, const std::vector<Provider*>& providers) {
  Graph& graph = frozen.graph;
  const Describer describer(graph, providers);
  graph.build_referrers();
  frozen.paths = std::make_unique<PathTree>(graph);
  Findings findings;
  findings.references = count_of(graph, target, target, own_references);
  findings.path = describe_steps(describer, frozen.paths->path_to(target), no_node);
  findings.referrers = describe_referrers(graph, describer, target);
  if (findings.path.empty()) findings.cycle = describe_steps(describer, shortest_cycle(graph, target), target);
  findings.fate = decide_fate(graph, *frozen.paths, target,
                              [&](NodeId node) { return count_of(graph, node, target, own_references); });
  return findings;
}

Ref step_tuple(const Graph& graph, const Step& step) {
  const TypeRow& row = graph.type_of(step.node);
  const Ref type = text(row.name), description = text(step.description), label = text(step.to_next.text);
  return checked(Py_BuildValue("ksOKOsOL", static_cast<unsigned long>(step.node), kind_name(row.kind), type.get(),
                               static_cast<unsigned long long>(graph.addresses[step.node]), description.get(),
                               relation_name(step.to_next.relation), label.get(),
                               static_cast<long long>(step.to_next.index)));
}

Ref step_list(const Graph& graph, const std::vector<Step>& steps) {
  Ref list = checked(PyList_New(0));
  for (const Step& step : steps) checked_status(PyList_Append(list.get(), step_tuple(graph, step).get()));
  return list;
}

// (end, description, library, symbol, sureness), as `gradlife.heap.scan` reads them.
Ref holder_list(const std::vector<NativeHolder>& holders, uint32_t target) {
  Ref list = checked(PyList_New(0));
  for (const NativeHolder& holder : holders) {
    if (holder.target != target) continue;
    const Ref description = text(holder.description), library = text(holder.library), symbol = text(holder.symbol);
    const Ref item = checked(Py_BuildValue("sOOOs", end_name(holder.end), description.get(), library.get(),
                                           symbol.get(), sureness_name(holder.sureness)));
    checked_status(PyList_Append(list.get(), item.get()));
  }
  return list;
}

Ref leg_list(const Graph& graph, const Fate& fate) {
  Ref list = checked(PyList_New(0));
  for (const Leg& leg : fate.legs) {
    const Ref type = text(graph.type_of(leg.node).name);
    Ref referrers = checked(PyList_New(0));
    for (NodeId referrer : leg.referrers)
      checked_status(PyList_Append(referrers.get(), checked(PyLong_FromUnsignedLong(referrer)).get()));
    const Ref item = checked(Py_BuildValue("kOLO", static_cast<unsigned long>(leg.node), type.get(),
                                           static_cast<long long>(leg.unseen), referrers.get()));
    checked_status(PyList_Append(list.get(), item.get()));
  }
  return list;
}

Ref as_dict(const Graph& graph, NodeId target, const Findings& findings) {
  const Ref path = step_list(graph, findings.path), referrers = step_list(graph, findings.referrers);
  const Ref cycle = step_list(graph, findings.cycle), legs = leg_list(graph, findings.fate);
  const Ref holders = holder_list(findings.holders, 0);
  return checked(Py_BuildValue("{sksLsksssOsOsOsOsO}", "node", static_cast<unsigned long>(target), "references",
                               static_cast<long long>(findings.references), "referrer_count",
                               static_cast<unsigned long>(graph.referrers.of(target).size()), "lifetime",
                               lifetime_name(findings.fate.lifetime), "path", path.get(), "referrers", referrers.get(),
                               "cycle", cycle.get(), "legs", legs.get(), "native", holders.get()));
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
    if (node != no_node) findings = find(*frozen, node, own_references, providers.all());
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
