// The heap graph: nodes with an address and a type, and the references between them. Independent of Python.h.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "heapgraph/graph/buffer.hpp"
#include "heapgraph/graph/hidden_memory.hpp"
#include "heapgraph/graph/node_numbers.hpp"

namespace gradlife::heap {

using Address = uint64_t;
using NodeId = uint32_t;
constexpr NodeId no_node = UINT32_MAX;

enum class NodeKind : uint8_t { python, tensor, storage, grad_node, native, root };
const char* kind_name(NodeKind kind);

// The data that all nodes of one type share.
struct TypeRow {
  std::string name;  // "module.Class", or a C++ class
  NodeKind kind;
  Address address;  // of the Python type object, 0 for others
  // The cost of a step to a node of this type when paths are compared: the cheapest path is shown. Steps through
  // internal tables cost more than variables, which the reader of a report can change.
  uint8_t step_cost;
  std::string bases = {};  // of a Python type: the classes between itself and object in its MRO, one per line
};

// The references of one node, for range-based loops.
struct Row {
  const NodeId* first;
  const NodeId* last;
  const NodeId* begin() const { return first; }
  const NodeId* end() const { return last; }
  size_t size() const { return static_cast<size_t>(last - first); }
};

// References in compressed sparse rows: node i refers to targets[j] for first[i] <= j < first[i + 1].
struct Edges {
  Buffer<uint32_t> first;
  Buffer<NodeId> targets;
  Row of(NodeId node) const { return {targets.data() + first[node], targets.data() + first[node + 1]}; }
  size_t rows() const { return first.empty() ? 0 : first.size() - 1; }
  size_t bytes() const { return first.bytes() + targets.bytes(); }
};

// A reference from a wrapper to a Python object through one or two native objects. It is hidden while anything else
// owns one of the native objects. After that, the wrapper's tp_traverse visits the target.
struct LatentReference {
  NodeId wrapper, target;
  NodeId between[2];   // the native objects; between[1] is `no_node` if there is only one
  uint32_t owners[2];  // for each native object: its owners besides the wrapper and the other native object
};
static_assert(sizeof(LatentReference) == 24, "snapshot files contain this struct");

// The bytes of a node's memory that belong to another object and count there. 64 bits each: files contain this struct.
struct BorrowedBytes {
  uint64_t node, bytes;
};

// The number that torch gave a grad node when it was made: two nodes at one address have different numbers. 64 bits
// each: files contain this struct.
struct SequenceNumber {
  static constexpr uint64_t none = UINT64_MAX;  // torch's own number for all accumulators
  uint64_t node, number;
};

struct Graph {
  Buffer<Address> addresses;
  Buffer<uint32_t> types;  // indices into `type_rows`
  Edges references;
  Edges referrers;  // empty until build_referrers
  std::vector<TypeRow, OwnAllocator<TypeRow>> type_rows;
  Buffer<uint32_t> sizes;  // shallow bytes; `big_size`: the number is in `big_sizes`; empty until measured
  std::unordered_map<NodeId, uint64_t> big_sizes;
  Buffer<BorrowedBytes> borrowed;           // by node; not part of the sizes
  Buffer<SequenceNumber> sequence_numbers;  // by node; of grad nodes that have one
  // For each Python object, the index of the first hidden reference in its row. Hidden ones stand after visible ones.
  NodeNumbers first_hidden;
  // Native objects with coupled counts: while they have other owners, however many, they own one reference to their
  // wrapper.
  Buffer<NodeId> coupled;
  // Wrappers that stay alive while their native object has other owners. Meanwhile their tp_traverse visits nothing.
  // The number is how many of the wrapper's hidden references it would visit without other owners.
  NodeNumbers kept_wrappers;
  // PyTorch 1 only: wrappers whose `__dict__` the collector clears although the wrapper survives. The number is the
  // index of this reference in the wrapper's row.
  NodeNumbers cleared_dicts;
  Buffer<LatentReference> latent;
  // When the objects that the collector knows were tracked: those from birth_begins[i] on after mark i + 1 was placed,
  // in the line of marks `birth_line`; 0: unknown.
  uint64_t birth_line = 0;
  Buffer<uint32_t> birth_begins;
  NodeNumbers lengths;       // items of lists, dicts, sets and deques that have any
  NodeNumbers unset;         // those items of a list that are None
  NodeNumbers atom_bytes;    // of small text and numbers that only this node holds, where these are left out
  size_t tracked_begin = 0;  // nodes [tracked_begin, tracked_end) are known to the collector
  size_t tracked_end = 0;
  bool is_partial = false;  // only a part of the heap was read

  size_t size() const { return addresses.size(); }
  const TypeRow& type_of(NodeId node) const { return type_rows[types[node]]; }
  bool is_tracked(NodeId node) const { return node >= tracked_begin && node < tracked_end; }
  static constexpr uint32_t big_size = UINT32_MAX;
  // With the small text and numbers that only this node holds, where they are left out of the graph.
  uint64_t size_with_atoms(NodeId node) const {
    const uint32_t* atoms = atom_bytes.find(node);
    return size_of(node) + (atoms != nullptr ? *atoms : 0);
  }
  uint64_t size_of(NodeId node) const { return sizes[node] != big_size ? sizes[node] : big_sizes.at(node); }
  void set_size(NodeId node, uint64_t bytes);
  uint64_t borrowed_by(NodeId node) const;
  uint64_t sequence_number_of(NodeId node) const;
  static constexpr int64_t unknown_birth = -1;
  // The number of marks that were placed before the object was tracked.
  int64_t birth_of(NodeId node) const;
  // Whether two nodes at one address, and of one type, may be the same object.
  bool may_be(NodeId node, const Graph& other, NodeId other_node) const;
  // Returns the node at an address, or no_node. Linear in the number of nodes: some 0.5 ms per million.
  NodeId find(Address address) const;
  // Fills in the nodes of all addresses that are in the graph, in some 2 ms per million nodes.
  void find_all(std::unordered_map<Address, NodeId>& wanted) const;
  // The references that the collector sees; empty for native objects.
  Row visible_of(NodeId node) const;
  bool has_referrers() const { return !referrers.first.empty(); }
  void build_referrers();
  size_t bytes() const;
};

constexpr NodeId process_root = 0;  // refers to every root

}  // namespace gradlife::heap
