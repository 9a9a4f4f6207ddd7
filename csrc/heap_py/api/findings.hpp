// What the graph knows about one object: the path to it, its referrers and its lifetime.
#pragma once

#include <functional>

#include "base/pyref.hpp"
#include "heap_py/api/values.hpp"
#include "heap_py/interpreter/relation.hpp"
#include "heap_py/native/scan.hpp"
#include "heapgraph/collector/collector.hpp"
#include "heapgraph/frozen/frozen_graph.hpp"

namespace gradlife::heap {

// The source of labels: live objects, or a snapshot file.
struct LabelSource {
  std::function<std::string(NodeId)> node;
  std::function<Label(NodeId from, NodeId to, size_t nth)> reference;  // one object may refer to another several times
  RefCount count;
};

// An object of a path and its reference to the next one; no_node: objects left out, their number in `to_next.index`.
struct PathReference {
  NodeId node;
  std::string description;
  Label to_next;
};
// `last`: the node that the last one refers to, or no_node. A path of more than a thousand objects loses what lies
// between its ends, see `cut_path`.
std::vector<PathReference> describe_path(const Graph& graph, const LabelSource& source,
                                         const std::vector<NodeId>& nodes, NodeId last);
// Describes each object and its reference to the next, however many they are.
std::vector<PathReference> describe_all(const LabelSource& source, const std::vector<NodeId>& nodes);

// The referrers of one object.
struct Referrers {
  int64_t count = 0;  // the object's own reference count
  size_t known = 0;
  std::vector<PathReference> direct;  // from each referrer to the object
  std::vector<std::vector<PathReference>>
      owners;  // for each referrer that only belongs to another object: that object, and the nodes in between
};

struct Findings {
  int64_t references = 0;  // references to the target, without the caller's own
  std::string detail;      // of the target
  std::vector<PathReference> path;
  std::vector<std::vector<PathReference>> other_paths;  // by other holders, see `add_other_paths`
  Referrers referrers;
  NodeId half = no_node;     // the native object that holds the target, its wrapper, on behalf of other owners
  Referrers half_referrers;  // references to it, except the wrapper's own
  std::vector<PathReference> cycle;
  std::vector<PathReference> tail;  // the path from the cycle to the target, if the target is outside it
  std::vector<PathReference>
      native_path;  // the path from the object that only native code holds to the target, if no cycle keeps it
  Fate fate;
  std::vector<std::string> uncollectable_details;
  std::vector<NativeHolder> holders;
  std::vector<NativeHolder> keepers;       // of the first object of native_path
  std::vector<NativeHolder> half_holders;  // of the half
};
Findings explain_object(FrozenGraph& frozen, NodeId target, const LabelSource& source);
// Adds the paths to the target by other holders than the one on the shortest path: its referrers, or those of its
// native half, that a root reaches without it.
void add_other_paths(FrozenGraph& frozen, NodeId target, const LabelSource& source, Findings& findings);
// If a reachable object is one of the keepers, the object is held by a path through it.
void extend_path_to_root(FrozenGraph& frozen, const LabelSource& source, Findings& findings);

// A list of References, see values.hpp.
Ref reference_list(const ValueTypes& types, const Graph& graph, const std::vector<PathReference>& references);
// Returns the holders of one target as tuples (end, description, library, symbol, confidence).
Ref holder_list(const std::vector<NativeHolder>& holders, uint32_t target);
Ref as_dict(const ValueTypes& types, const Graph& graph, NodeId target, const Findings& findings);

}  // namespace gradlife::heap
