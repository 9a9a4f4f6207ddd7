#include "heapgraph/graph/graph.hpp"

#include <algorithm>
#include <vector>

namespace gradlife::heap {

const char* kind_name(NodeKind kind) {
  static constexpr const char* names[] = {"python", "tensor", "storage", "grad_node", "native", "root"};
  return names[static_cast<size_t>(kind)];
}

NodeId Graph::find(Address address) const {
  for (size_t i = 0; i < addresses.size(); ++i)
    if (addresses[i] == address) return static_cast<NodeId>(i);
  return no_node;
}

void Graph::find_all(std::unordered_map<Address, NodeId>& wanted) const {
  // Few addresses pass the filter, so that the table is seldom asked. Objects lie at multiples of 16 bytes.
  constexpr size_t slots = size_t{1} << 16;
  std::vector<bool> filter(slots);
  for (const auto& [address, node] : wanted) filter[(address >> 4) % slots] = true;
  for (size_t node = 0; node < size(); ++node) {
    if (!filter[(addresses[node] >> 4) % slots]) continue;
    const auto found = wanted.find(addresses[node]);
    if (found != wanted.end() && found->second == no_node) found->second = static_cast<NodeId>(node);
  }
}

Row Graph::visible_of(NodeId node) const {
  Row row = references.of(node);
  if (type_of(node).kind != NodeKind::python) return {row.first, row.first};
  if (const uint32_t* visible = first_hidden.find(node)) row.last = row.first + *visible;
  return row;
}

void Graph::set_size(NodeId node, uint64_t bytes) {
  const bool is_big = bytes >= big_size;
  sizes[node] = is_big ? big_size : static_cast<uint32_t>(bytes);
  if (is_big) big_sizes[node] = bytes;
}

uint64_t Graph::borrowed_by(NodeId node) const {
  const auto* found = std::lower_bound(borrowed.begin(), borrowed.end(), node,
                                       [](const BorrowedBytes& entry, NodeId wanted) { return entry.node < wanted; });
  return found != borrowed.end() && found->node == node ? found->bytes : 0;
}

uint64_t Graph::sequence_number_of(NodeId node) const {
  const auto* found = std::lower_bound(sequence_numbers.begin(), sequence_numbers.end(), node,
                                       [](const SequenceNumber& entry, NodeId wanted) { return entry.node < wanted; });
  return found != sequence_numbers.end() && found->node == node ? found->number : SequenceNumber::none;
}

int64_t Graph::birth_of(NodeId node) const {
  if (birth_line == 0 || !is_tracked(node)) return unknown_birth;
  return std::upper_bound(birth_begins.begin(), birth_begins.end(), node) - birth_begins.begin();
}

bool Graph::may_be(NodeId node, const Graph& other, NodeId other_node) const {
  if (birth_line != other.birth_line) return true;
  const int64_t mine = birth_of(node), others = other.birth_of(other_node);
  return mine == unknown_birth || others == unknown_birth || mine == others;
}

// A counting sort by target: sources come out in ascending order.
void Graph::build_referrers() {
  if (has_referrers()) return;
  const size_t nodes = size();
  const NodeId* targets = references.targets.data();
  const size_t edges = references.targets.size();
  Edges reversed;
  reversed.first.assign_zero(nodes + 2);
  uint32_t* first = reversed.first.data();
  for (size_t e = 0; e < edges; ++e) first[targets[e] + 2] += 1;
  for (size_t i = 2; i < nodes + 2; ++i) first[i] += first[i - 1];
  reversed.targets.resize(edges);
  for (size_t i = 0; i < nodes; ++i)
    for (NodeId target : references.of(static_cast<NodeId>(i)))
      reversed.targets[first[target + 1]++] = static_cast<NodeId>(i);
  reversed.first.resize(nodes + 1);
  referrers = std::move(reversed);
}

size_t Graph::bytes() const {
  return addresses.bytes() + types.bytes() + references.bytes() + referrers.bytes() + sizes.bytes() + borrowed.bytes() +
         sequence_numbers.bytes() + coupled.bytes() + latent.bytes() + first_hidden.bytes() + kept_wrappers.bytes() +
         cleared_dicts.bytes() + birth_begins.bytes() + lengths.bytes() + unset.bytes() + atom_bytes.bytes();
}

}  // namespace gradlife::heap
