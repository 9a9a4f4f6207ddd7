#include "heap_py/findings.hpp"

#include "heap_py/border.hpp"

namespace gradlife::heap {
namespace {

constexpr size_t most_referrers = 1000;

std::vector<Step> describe_referrers(const Graph& graph, const Telling& telling, NodeId node) {
  std::vector<Step> steps;
  for (NodeId referrer : graph.referrers.of(node)) {
    if (steps.size() == most_referrers) break;
    steps.push_back({referrer, telling.node(referrer), telling.reference(referrer, node)});
  }
  return steps;
}

}  // namespace

std::vector<Step> describe_steps(const Telling& telling, const std::vector<NodeId>& nodes, NodeId last) {
  std::vector<Step> steps;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodeId next = i + 1 < nodes.size() ? nodes[i + 1] : last;
    steps.push_back({nodes[i], telling.node(nodes[i]), next != no_node ? telling.reference(nodes[i], next) : Label{}});
  }
  return steps;
}

Findings find_out(FrozenGraph& frozen, NodeId target, const Telling& telling) {
  Graph& graph = frozen.graph;
  graph.build_referrers();
  const PathTree& paths = frozen.need_paths();
  Findings findings;
  findings.references = telling.count(target);
  findings.path = describe_steps(telling, paths.path_to(target), no_node);
  findings.referrers = describe_referrers(graph, telling, target);
  if (findings.path.empty()) findings.cycle = describe_steps(telling, shortest_cycle(graph, target), target);
  findings.fate = decide_fate(graph, paths, target, telling.count);
  return findings;
}

namespace {

Ref step_tuple(const Graph& graph, const Step& step) {
  const TypeRow& row = graph.type_of(step.node);
  const Ref type = text(row.name), description = text(step.description), label = text(step.to_next.text);
  return checked(Py_BuildValue("ksOKOsOL", static_cast<unsigned long>(step.node), kind_name(row.kind), type.get(),
                               static_cast<unsigned long long>(graph.addresses[step.node]), description.get(),
                               relation_name(step.to_next.relation), label.get(),
                               static_cast<long long>(step.to_next.index)));
}

}  // namespace

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

Ref step_list(const Graph& graph, const std::vector<Step>& steps) {
  Ref list = checked(PyList_New(0));
  for (const Step& step : steps) checked_status(PyList_Append(list.get(), step_tuple(graph, step).get()));
  return list;
}

namespace {

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

}  // namespace

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

}  // namespace gradlife::heap
