#include "heap_py/investigation.hpp"

#include "heap_py/border.hpp"
#include "heap_py/description.hpp"
#include "heap_py/findings.hpp"
#include "heap_py/interpreter.h"
#include "heap_py/measure.hpp"
#include "heap_py/native_scan.hpp"
#include "heap_py/providers.hpp"

namespace gradlife::heap {
namespace {

// What never dies does not count its references: those that are known are all that can be told.
int64_t count_of(const Graph& graph, NodeId node, NodeId target, int64_t own_references) {
  const auto* object = reinterpret_cast<PyObject*>(static_cast<uintptr_t>(graph.addresses[node]));
  if (gl_is_immortal(object) != 0) return static_cast<int64_t>(graph.referrers.of(node).size());
  return static_cast<int64_t>(Py_REFCNT(object)) - (node == target ? own_references : 0);
}

Telling tell_live(const Graph& graph, const std::vector<Provider*>& providers, NodeId target, int64_t own_references) {
  const Describer describer(graph, providers);
  return {[describer](NodeId node) { return describer.describe(node); },
          [describer](NodeId from, NodeId to, size_t nth) { return describer.describe_edge(from, to, nth); },
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
    const bool is_whole = walk_heap(frozen->graph, options, providers.all());
    if (with_sizes) measure_sizes(frozen->graph, providers.all());
    node = frozen->graph.find(address_of(target));
    if (node != no_node)
      findings = find_out(*frozen, node, tell_live(frozen->graph, providers.all(), node, own_references));
    frozen->limits = providers.limits();
    if (!is_whole) frozen->limits.push_back(budget_limit(options.budget));
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

Ref judge(PyObject* addresses, const WalkOptions& options) {
  std::vector<Address> wanted;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(addresses); ++i) {
    wanted.push_back(PyLong_AsUnsignedLongLong(PyList_GET_ITEM(addresses, i)));
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
  }
  struct Judged {
    NodeId node;
    std::vector<Step> path;
  };
  std::vector<Judged> found;
  FrozenGraph frozen;
  {
    const CollectorPaused paused;
    const Providers providers;
    Walker(frozen.graph, options, providers.all()).run();
    const Telling telling = tell_live(frozen.graph, providers.all(), no_node, 0);
    const PathTree& paths = frozen.need_paths();
    frozen.need_fates(telling.count);
    for (const Address address : wanted) {
      const NodeId node = frozen.graph.find(address);
      found.push_back(
          {node, node != no_node ? describe_steps(telling, paths.path_to(node), no_node) : std::vector<Step>()});
    }
  }
  Ref list = checked(PyList_New(0));
  for (const Judged& judged : found) {
    Ref item = Ref::borrow(Py_None);
    if (judged.node != no_node) {
      const Ref path = step_list(frozen.graph, judged.path);
      item = checked(Py_BuildValue("sO", lifetime_name(frozen.fates->lifetime(judged.node)), path.get()));
    }
    checked_status(PyList_Append(list.get(), item.get()));
  }
  return list;
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

Ref scan_natives(PyObject* addresses, const WalkOptions& options) {
  Graph graph;
  std::vector<NativeHolder> holders;
  {
    const CollectorPaused paused;
    const Providers providers;
    Walker(graph, options, providers.all()).run();
    graph.build_referrers();
    NativeScan scan(graph);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(addresses); ++i)
      scan.add_native_target(PyLong_AsUnsignedLongLong(PyList_GET_ITEM(addresses, i)));
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    holders = scan.run();
  }
  Ref list = checked(PyList_New(0));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(addresses); ++i)
    checked_status(PyList_Append(list.get(), holder_list(holders, static_cast<uint32_t>(i)).get()));
  return list;
}

}  // namespace gradlife::heap
