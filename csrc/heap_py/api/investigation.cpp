#include "heap_py/api/investigation.hpp"

#include <algorithm>

#include "base/collector_paused.hpp"
#include "heap_py/api/findings.hpp"
#include "heap_py/interpreter/exception_border.hpp"
#include "heap_py/interpreter/interpreter.h"
#include "heap_py/labels/description.hpp"
#include "heap_py/native/scan.hpp"
#include "heap_py/providers/provider_list.hpp"
#include "heap_py/walk/measure.hpp"

namespace gradlife::heap {
namespace {

// Returns the reference count. An immortal object does not count: only its known references can be reported.
int64_t count_of(const Graph& graph, const std::vector<Provider*>& providers, NodeId node, NodeId target,
                 int64_t own_references) {
  if (graph.type_of(node).kind != NodeKind::python) {
    const int64_t owners = owners_of(graph, providers, node);
    return owners >= 0 ? owners : static_cast<int64_t>(graph.referrers.of(node).size());
  }
  const auto* object = reinterpret_cast<PyObject*>(static_cast<uintptr_t>(graph.addresses[node]));
  if (gl_is_immortal(object) != 0) return static_cast<int64_t>(graph.referrers.of(node).size());
  return static_cast<int64_t>(Py_REFCNT(object)) - (node == target ? own_references : 0);
}

LabelSource live_labels(const Graph& graph, const std::vector<Provider*>& providers, NodeId target,
                        int64_t own_references) {
  const Describer describer(graph, providers);
  return {[describer](NodeId node) { return describer.describe(node); },
          [describer](NodeId from, NodeId to, size_t nth) { return describer.describe_edge(from, to, nth); },
          [&graph, &providers, target, own_references](NodeId node) {
            return count_of(graph, providers, node, target, own_references);
          }};
}

Address address_of(const PyObject* object) { return static_cast<Address>(reinterpret_cast<uintptr_t>(object)); }

}  // namespace

namespace {

// One walk of the heap, and its findings about one object.
struct Attempt {
  std::unique_ptr<FrozenGraph> frozen;
  NodeId node = no_node;
  Findings findings;
  bool is_explained = false;  // nothing is left that unreachable objects could explain
};

int64_t known_referrers(const Attempt& attempt) {
  return static_cast<int64_t>(attempt.frozen->graph.referrers.of(attempt.node).size());
}

std::vector<NativeHolder> search_for_holders(const Graph& graph, NodeId node) {
  NativeScan scan(graph);
  if (graph.type_of(node).kind == NodeKind::python)
    scan.add_target(graph.addresses[node]);
  else
    scan.add_native_target(graph.addresses[node]);
  return scan.run();
}

// Finds the native holders of the object and of the first object that leads to it. If all references of a wrapper are
// known, searches for the holders of its native object instead.
void scan_for_holders(Attempt& attempt, const LabelSource& source) {
  Graph& graph = attempt.frozen->graph;
  Findings& findings = attempt.findings;
  if (findings.references > known_referrers(attempt)) findings.holders = search_for_holders(graph, attempt.node);
  if (findings.half != no_node && findings.half_referrers.count > static_cast<int64_t>(findings.half_referrers.known))
    findings.half_holders = search_for_holders(graph, findings.half);
  const std::vector<NodeId>& native_path = findings.fate.native_path;
  if (native_path.empty()) return;
  const auto known = static_cast<int64_t>(graph.referrers.of(native_path.front()).size());
  const NodeId half = source.count(native_path.front()) <= known ? other_half(graph, native_path.front()) : no_node;
  const bool is_scanned = half == no_node && native_path.front() == attempt.node;
  findings.keepers =
      is_scanned ? findings.holders : search_for_holders(graph, half != no_node ? half : native_path.front());
  extend_path_to_root(*attempt.frozen, source, findings);
}

Attempt attempt_for(PyObject* target, const WalkOptions& options, bool with_sizes, bool with_scan,
                    int64_t own_references) {
  const Providers providers;
  Attempt attempt{std::make_unique<FrozenGraph>(), no_node, {}, false};
  Graph& graph = attempt.frozen->graph;
  const bool is_whole = walk_heap(graph, options, providers.all());
  if (with_sizes) measure_sizes(graph, providers.all());
  attempt.node = graph.find(address_of(target));
  const LabelSource source = live_labels(graph, providers.all(), attempt.node, own_references);
  if (attempt.node != no_node) {
    attempt.findings = explain_object(*attempt.frozen, attempt.node, source);
    add_other_paths(*attempt.frozen, attempt.node, source, attempt.findings);
  }
  attempt.frozen->limits = providers.limits();
  if (!is_whole) attempt.frozen->limits.push_back(budget_limit(options.budget));
  const bool is_known = attempt.node != no_node && attempt.findings.references <= known_referrers(attempt);
  attempt.is_explained = (is_known && attempt.findings.native_path.empty()) || !is_whole || providers.all().empty();
  if (with_scan && attempt.node != no_node && (attempt.is_explained || options.with_natives))
    scan_for_holders(attempt, source);
  return attempt;
}

// Numbers, text and the like hold nothing: a walk that only looks for a path to another object can leave them out. A
// walk that scans memory needs them, because their contents are not references; a budget counts them.
WalkOptions options_for(PyObject* target, const WalkOptions& options, bool with_sizes, bool with_scan) {
  WalkOptions chosen = options;
  if (!with_sizes && !with_scan && options.budget == 0 && gl_is_immortal(target) == 0 && !is_small_atom(target))
    chosen.min_atom_bytes = SIZE_MAX;
  return chosen;
}

}  // namespace

Investigation investigate(const ValueTypes& types, PyObject* target, const WalkOptions& options, bool with_sizes,
                          bool with_scan) {
  const int64_t own_references = count_own_references(target, options);
  Attempt attempt;
  {
    const CollectorPaused paused;
    attempt =
        attempt_for(target, options_for(target, options, with_sizes, with_scan), with_sizes, with_scan, own_references);
    if (!attempt.is_explained) {
      WalkOptions with_more = options;
      with_more.with_natives = true;
      attempt = attempt_for(target, with_more, with_sizes, with_scan, own_references);
    }
  }
  Ref found = attempt.node != no_node ? as_dict(types, attempt.frozen->graph, attempt.node, attempt.findings)
                                      : Ref::borrow(Py_None);
  return {std::move(attempt.frozen), std::move(found)};
}

namespace {

bool has_all(const Graph& graph, const std::vector<Address>& wanted) {
  std::unordered_map<Address, NodeId> found;
  for (const Address address : wanted) found[address] = no_node;
  graph.find_all(found);
  return std::none_of(found.begin(), found.end(), [](const auto& entry) { return entry.second == no_node; });
}

}  // namespace

Ref judge(const ValueTypes& types, PyObject* addresses, const WalkOptions& options) {
  std::vector<Address> wanted;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(addresses); ++i) {
    wanted.push_back(PyLong_AsUnsignedLongLong(PyList_GET_ITEM(addresses, i)));
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
  }
  struct Judged {
    NodeId node;
    std::vector<PathReference> path;
  };
  std::vector<Judged> found;
  FrozenGraph frozen;
  {
    const CollectorPaused paused;
    const Providers providers;
    WalkOptions without_atoms = options;
    without_atoms.min_atom_bytes = SIZE_MAX;  // they keep nothing alive
    Walker(frozen.graph, without_atoms, providers.all()).run();
    if (!has_all(frozen.graph, wanted)) {
      WalkOptions with_more = options;
      with_more.with_natives = true;
      frozen.graph = Graph();
      Walker(frozen.graph, with_more, providers.all()).run();
    }
    const LabelSource source = live_labels(frozen.graph, providers.all(), no_node, 0);
    const PathTree& paths = frozen.need_paths();
    frozen.need_fates(source.count);
    for (const Address address : wanted) {
      const NodeId node = frozen.graph.find(address);
      found.push_back({node, node != no_node ? describe_path(frozen.graph, source, paths.path_to(node), no_node)
                                             : std::vector<PathReference>()});
    }
  }
  Ref list = checked(PyList_New(0));
  for (const Judged& judged : found) {
    Ref item = Ref::borrow(Py_None);
    if (judged.node != no_node) {
      const Ref path = reference_list(types, frozen.graph, judged.path);
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
