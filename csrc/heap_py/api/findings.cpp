#include "heap_py/api/findings.hpp"

#include <algorithm>

#include "base/labels.hpp"
#include "heap_py/api/values.hpp"
#include "heap_py/interpreter/exception_border.hpp"
#include "heapgraph/analysis/cycle_tail.hpp"
#include "heapgraph/analysis/path_cut.hpp"
#include "heapgraph/collector/garbage.hpp"

namespace gradlife::heap {
namespace {

constexpr size_t max_referrers = 1000;
constexpr size_t max_other_paths = 8, max_holders = 256;  // shown, and asked

// Whether the node may belong to one object: dicts of attributes and hooks, closures and their cells; a storage belongs
// to its tensors.
bool may_serve(const Graph& graph, NodeId node) {
  static constexpr const char* types[] = {"dict", "collections.OrderedDict", "collections.defaultdict", "list", "tuple",
                                          "cell"};
  const TypeRow& row = graph.type_of(node);
  if (row.kind == NodeKind::storage) return true;
  return row.kind == NodeKind::python && std::find(std::begin(types), std::end(types), row.name) != std::end(types);
}

// Ranks owners: a dict of hooks is known to a tensor's wrapper and to what runs the hooks, a storage to its own wrapper
// and to tensors.
int rank_of_owner(const Graph& graph, NodeId node, NodeId owned) {
  const NodeKind kind = graph.type_of(node).kind;
  if (graph.type_of(owned).kind == NodeKind::storage) return kind == NodeKind::tensor ? 3 : 0;
  if (kind == NodeKind::storage) return 0;
  if (kind == NodeKind::grad_node) return 3;
  if (kind == NodeKind::python && !may_serve(graph, node)) return 2;
  return kind == NodeKind::tensor ? 1 : 0;
}

// Returns the only object that refers to the node; of several, the one that it belongs to, if one of them is native.
NodeId owner_of(const Graph& graph, NodeId node) {
  constexpr size_t max_references = 4096;  // the limit of references to search for a label
  const Row holders = graph.referrers.of(node);
  const auto is_native = [&](NodeId holder) { return rank_of_owner(graph, holder, node) % 2 == 1; };
  if (holders.size() == 0 || (holders.size() > 1 && std::none_of(holders.begin(), holders.end(), is_native)))
    return no_node;
  const NodeId owner = *std::max_element(holders.begin(), holders.end(), [&](NodeId a, NodeId b) {
    return rank_of_owner(graph, a, node) < rank_of_owner(graph, b, node);
  });
  if (owner == no_node || graph.type_of(owner).kind == NodeKind::root) return no_node;
  return graph.references.of(owner).size() <= max_references ? owner : no_node;
}

std::vector<PathReference> describe_owners(const Graph& graph, const LabelSource& source, NodeId node) {
  constexpr size_t max_levels = 4;
  std::vector<NodeId> above;
  for (NodeId at = node; above.size() < max_levels && may_serve(graph, at); at = above.back()) {
    const NodeId owner = owner_of(graph, at);
    if (owner == no_node) break;
    above.push_back(owner);
  }
  std::reverse(above.begin(), above.end());
  return describe_path(graph, source, above, node);
}

// Describes all referrers but one.
Referrers describe_referrers(const Graph& graph, const LabelSource& source, NodeId node, NodeId left_out) {
  Referrers found;
  NodeId before = no_node;
  size_t nth = 0;  // references of one object are adjacent
  for (NodeId referrer : graph.referrers.of(node)) {
    if (referrer == left_out || (++found.known, found.direct.size() == max_referrers)) continue;
    nth = referrer == before ? nth + 1 : 0;
    before = referrer;
    found.direct.push_back({referrer, source.node(referrer), source.reference(referrer, node, nth)});
    found.owners.push_back(describe_owners(graph, source, referrer));
  }
  return found;
}

bool is_native(const Graph& graph, NodeId node) {
  const NodeKind kind = graph.type_of(node).kind;
  return kind != NodeKind::python && kind != NodeKind::root;
}

// Returns the native object that holds a wrapper on behalf of its owners; in releases without coupled counts also the
// one that will take the wrapper over when Python drops it.
NodeId native_half(const Graph& graph, NodeId wrapper, const std::vector<PathReference>& referrers) {
  for (const PathReference& referrer : referrers)
    if (is_native(graph, referrer.node) && referrer.to_next.text == labels::its_wrapper) return referrer.node;
  const Row row = graph.references.of(wrapper);
  if (graph.kept_wrappers.find(wrapper) == nullptr) return no_node;
  const NodeId* found = std::find_if(row.begin(), row.end(), [&](NodeId target) { return is_native(graph, target); });
  return found != row.end() ? *found : no_node;
}

// Describes the owners of the native object that holds the wrapper, without the wrapper's own reference.
void describe_half(const Graph& graph, const LabelSource& source, NodeId target, Findings& findings) {
  if (graph.type_of(target).kind != NodeKind::python) return;
  const NodeId half = native_half(graph, target, findings.referrers.direct);
  if (half == no_node) return;
  const Row own = graph.references.of(target);
  const bool owns = !is_borrowed(graph, target, half) && std::find(own.begin(), own.end(), half) != own.end();
  const int64_t owners = source.count(half) - (owns ? 1 : 0);
  if (owners <= 0) return;
  findings.half = half;
  findings.half_referrers = describe_referrers(graph, source, half, target);
  findings.half_referrers.count = owners;
}

// Describes the cycle that contains the object, or the nearest cycle that leads to it.
void describe_cycle(const Graph& graph, const PathTree& paths, const LabelSource& source, NodeId target,
                    Findings& findings) {
  std::vector<NodeId> cycle = shortest_cycle(graph, target);
  if (cycle.empty()) {
    CycleTail tail = cycle_above(graph, paths, target);
    cycle = std::move(tail.cycle);
    findings.tail = describe_path(graph, source, tail.path, no_node);
  }
  if (!cycle.empty()) findings.cycle = describe_path(graph, source, cycle, cycle.front());
}

}  // namespace

namespace {

// Appends the objects [piece.first, piece.last) of a path.
void describe_piece(const LabelSource& source, const std::vector<NodeId>& nodes, NodeId last, const PathPiece& piece,
                    std::vector<PathReference>& references) {
  for (size_t i = piece.first; i < piece.last; ++i) {
    const NodeId next = i + 1 < nodes.size() ? nodes[i + 1] : last;
    references.push_back(
        {nodes[i], source.node(nodes[i]), next != no_node ? source.reference(nodes[i], next, 0) : Label{}});
  }
}

}  // namespace

std::vector<PathReference> describe_path(const Graph& graph, const LabelSource& source,
                                         const std::vector<NodeId>& nodes, NodeId last) {
  std::vector<PathReference> references;
  for (const PathPiece& piece : cut_path(graph, nodes)) {
    describe_piece(source, nodes, last, piece, references);
    if (piece.left_out > 0)
      references.push_back({no_node, "", {Relation::internal, "", static_cast<int64_t>(piece.left_out)}});
  }
  return references;
}

std::vector<PathReference> describe_all(const LabelSource& source, const std::vector<NodeId>& nodes) {
  std::vector<PathReference> references;
  describe_piece(source, nodes, no_node, {0, nodes.size(), 0}, references);
  return references;
}

Findings explain_object(FrozenGraph& frozen, NodeId target, const LabelSource& source) {
  Graph& graph = frozen.graph;
  const std::vector<NodeId> path = frozen.path_to(target);  // before the referrers, which need memory for longer
  graph.build_referrers();
  Findings findings;
  findings.references = source.count(target);
  findings.detail = source.node(target);
  findings.path = describe_path(graph, source, path, no_node);
  findings.referrers = describe_referrers(graph, source, target, no_node);
  findings.referrers.count = findings.references;
  describe_half(graph, source, target, findings);
  if (!path.empty()) return findings;  // held, not kept by native code
  findings.fate = frozen.need_fates(source.count).of(target);
  for (const UncollectableObject& one : findings.fate.uncollectable)
    findings.uncollectable_details.push_back(source.node(one.node));
  findings.native_path = describe_path(graph, source, findings.fate.native_path, no_node);
  if (findings.native_path.empty()) describe_cycle(graph, frozen.need_paths(), source, target, findings);
  return findings;
}

// Adds the paths to the target by other holders than the one on the shortest path: its referrers, or those of its
// native half, that a root reaches without it.
void add_other_paths(FrozenGraph& frozen, NodeId target, const LabelSource& source, Findings& findings) {
  const Graph& graph = frozen.graph;
  const std::vector<NodeId> path = frozen.path_to(target);
  if (path.empty()) return;
  const NodeId half = findings.half;
  std::vector<NodeId> seen{target, half};
  if (path.size() > 1) seen.push_back(path[path.size() - 2]);
  const auto add_by = [&](NodeId held) {
    for (NodeId holder : graph.referrers.of(held)) {
      if (findings.other_paths.size() == max_other_paths || seen.size() == max_holders) return;
      if (std::find(seen.begin(), seen.end(), holder) != seen.end()) continue;
      seen.push_back(holder);
      std::vector<NodeId> other = frozen.path_to(holder);
      if (other.empty() || std::find(other.begin(), other.end(), target) != other.end()) continue;
      if (held != target) other.push_back(held);
      other.push_back(target);
      findings.other_paths.push_back(describe_path(graph, source, other, no_node));
    }
  };
  add_by(target);
  if (half != no_node) add_by(half);
}

namespace {

// Returns the most certain reachable keeper; of several, the one with the shortest description.
const NativeHolder* best_keeper(const PathTree& paths, const std::vector<NativeHolder>& keepers) {
  const NativeHolder* best = nullptr;
  for (const NativeHolder& keeper : keepers) {
    if (keeper.confidence == Confidence::unsure || keeper.node == no_node || !paths.is_reached(keeper.node)) continue;
    const auto rank = [](const NativeHolder& one) { return std::make_pair(one.confidence, one.description.size()); };
    if (best == nullptr || rank(keeper) < rank(*best)) best = &keeper;
  }
  return best;
}

// Returns the text between a keeper's first object and the object that it keeps.
std::string words_in_native(const NativeHolder& keeper) {
  const size_t first = keeper.description.find(" → ");
  const std::string between = first != std::string::npos ? ": " + keeper.description.substr(first + 5) : "";
  return std::string(keeper.confidence == Confidence::sure ? "in C++" : "in C++, likely") + between;
}

}  // namespace

void extend_path_to_root(FrozenGraph& frozen, const LabelSource& source, Findings& findings) {
  const NativeHolder* keeper = best_keeper(frozen.need_paths(), findings.keepers);
  if (keeper == nullptr) return;
  findings.path = describe_path(frozen.graph, source, frozen.need_paths().path_to(keeper->node), no_node);
  findings.path.back().to_next = {Relation::native, words_in_native(*keeper)};
  findings.path.insert(findings.path.end(), findings.native_path.begin(), findings.native_path.end());
  findings.fate = {};
  findings.uncollectable_details.clear();
  findings.native_path.clear();
  findings.keepers.clear();
}

// (end, description, library, symbol, confidence), as `gradlife.heap.scan` reads them.
Ref holder_list(const std::vector<NativeHolder>& holders, uint32_t target) {
  Ref list = checked(PyList_New(0));
  for (const NativeHolder& holder : holders) {
    if (holder.target != target) continue;
    const Ref description = text(holder.description), library = text(holder.library), symbol = text(holder.symbol);
    const Ref item = checked(Py_BuildValue("sOOOs", end_name(holder.end), description.get(), library.get(),
                                           symbol.get(), confidence_name(holder.confidence)));
    checked_status(PyList_Append(list.get(), item.get()));
  }
  return list;
}

Ref reference_list(const ValueTypes& types, const Graph& graph, const std::vector<PathReference>& references) {
  Ref list = checked(PyList_New(0));
  for (const PathReference& one : references)
    checked_status(PyList_Append(list.get(), one.node != no_node
                                                 ? reference(types, graph, one.node, one.description, one.to_next).get()
                                                 : omitted_objects(types, one.to_next.index).get()));
  return list;
}

namespace {

Ref uncollectable_list(const ValueTypes& types, const Graph& graph, const Findings& findings) {
  Ref list = checked(PyList_New(0));
  for (size_t i = 0; i < findings.fate.uncollectable.size(); ++i) {
    const UncollectableObject& found = findings.fate.uncollectable[i];
    Ref referrers = checked(PyList_New(0));
    for (NodeId referrer : found.referrers)
      checked_status(PyList_Append(referrers.get(), checked(PyLong_FromUnsignedLong(referrer)).get()));
    const Ref item = uncollectable_object(types, graph, found.node, findings.uncollectable_details[i], found.hidden,
                                          std::move(referrers));
    checked_status(PyList_Append(list.get(), item.get()));
  }
  return list;
}

Ref referrers_dict(const ValueTypes& types, const Graph& graph, const Referrers& found,
                   const std::vector<NativeHolder>& holders) {
  const Ref references = reference_list(types, graph, found.direct), native = holder_list(holders, 0);
  const Ref owners = checked(PyList_New(0));
  for (const std::vector<PathReference>& above : found.owners)
    checked_status(PyList_Append(owners.get(), reference_list(types, graph, above).get()));
  return checked(Py_BuildValue("{sLsksOsOsO}", "references", static_cast<long long>(found.count), "referrer_count",
                               static_cast<unsigned long>(found.known), "referrers", references.get(), "owners",
                               owners.get(), "native", native.get()));
}

}  // namespace

Ref as_dict(const ValueTypes& types, const Graph& graph, NodeId target, const Findings& findings) {
  Ref dict = referrers_dict(types, graph, findings.referrers, findings.holders);
  const auto add = [&dict](const char* name, const Ref& value) {
    checked_status(PyDict_SetItemString(dict.get(), name, value.get()));
  };
  add("node", checked(PyLong_FromUnsignedLong(target)));
  add("detail", text(findings.detail));
  add("lifetime", text(lifetime_name(findings.fate.lifetime)));
  add("path", reference_list(types, graph, findings.path));
  const Ref others = checked(PyList_New(0));
  for (const std::vector<PathReference>& other : findings.other_paths)
    checked_status(PyList_Append(others.get(), reference_list(types, graph, other).get()));
  add("other_paths", others);
  add("cycle", reference_list(types, graph, findings.cycle));
  add("tail", reference_list(types, graph, findings.tail));
  add("uncollectable", uncollectable_list(types, graph, findings));
  add("native_path", reference_list(types, graph, findings.native_path));
  add("keepers", holder_list(findings.keepers, 0));
  const bool has_half = findings.half != no_node;
  add("half_referrers",
      has_half ? referrers_dict(types, graph, findings.half_referrers, findings.half_holders) : Ref::borrow(Py_None));
  return dict;
}

}  // namespace gradlife::heap
