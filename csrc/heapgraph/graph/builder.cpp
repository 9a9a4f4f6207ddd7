#include "heapgraph/graph/builder.hpp"

#include <stdexcept>

namespace gradlife::heap {

namespace {

// Measured on programs: objects per tracked object, besides those that every process has.
size_t expected_nodes(size_t tracked) { return tracked + tracked / 4 * 3 + (size_t{1} << 17); }
size_t expected_without_atoms(size_t tracked) { return tracked + tracked / 4 + (size_t{1} << 15); }

}  // namespace

Builder::Builder(Graph& graph, size_t expected_nodes, bool adds_unknown)
    : graph_(graph), index_(expected_nodes), adds_unknown_(adds_unknown) {
  pending_.reserve(2 * chunk);
  graph_.type_rows.push_back({"?", NodeKind::python, 0, 1});
}

NodeId Builder::add(Address address, uint32_t type) {
  const size_t node = graph_.size();
  if (node >= no_node - 1) throw std::length_error("more than four billion objects");
  graph_.addresses.push_back(address);
  graph_.types.push_back(type);
  index_.insert(address, static_cast<NodeId>(node), graph_.addresses);
  ++indexed_;
  return static_cast<NodeId>(node);
}

void Builder::index_appended() {
  constexpr size_t ahead = 16;
  const Buffer<Address>& addresses = graph_.addresses;
  if (addresses.size() >= no_node - 1) throw std::length_error("more than four billion objects");
  const size_t tracked = addresses.size();
  const size_t expected = !adds_unknown_           ? tracked
                          : leaves_out_ != nullptr ? expected_without_atoms(tracked)
                                                   : expected_nodes(tracked);
  index_.reserve(expected, addresses, indexed_);
  graph_.addresses.reserve(expected);
  graph_.types.reserve(expected);
  graph_.references.first.reserve(expected + 1);
  graph_.references.targets.reserve(expected * 5 / 2);
  for (; indexed_ < addresses.size(); ++indexed_) {
    if (indexed_ + ahead < addresses.size()) index_.prefetch(addresses[indexed_ + ahead]);
    index_.insert(addresses[indexed_], static_cast<NodeId>(indexed_), addresses);
  }
}

uint32_t Builder::add_type(TypeRow row) {
  graph_.type_rows.push_back(std::move(row));
  return static_cast<uint32_t>(graph_.type_rows.size() - 1);
}

void Builder::resolve() {
  constexpr size_t ahead = 10;
  if (is_out_of_memory_) throw std::bad_alloc();
  Edges& edges = graph_.references;
  edges.targets.reserve_more(pending_.size());
  const size_t count = pending_.size();
  for (size_t i = 0; i < count; ++i) {
    if (i + ahead < count) {
      index_.prefetch(pending_[i + ahead]);
      if (leaves_out_ != nullptr) __builtin_prefetch(reinterpret_cast<const void*>(pending_[i + ahead]));
    }
    const Address item = pending_[i];
    if (item == row_mark) {
      edges.first.push_back(static_cast<uint32_t>(edges.targets.size()));
    } else if (item == hidden_mark) {
      graph_.first_hidden.add(static_cast<NodeId>(edges.first.size() - 1),
                              static_cast<uint32_t>(edges.targets.size()) - edges.first.back());
    } else if (item == cleared_dict_mark) {
      graph_.cleared_dicts.add(static_cast<NodeId>(edges.first.size() - 1),
                               static_cast<uint32_t>(edges.targets.size()) - edges.first.back());
    } else if (item == coupled_mark) {
      graph_.coupled.push_back(static_cast<NodeId>(edges.first.size() - 1));
    } else if (item == (wrapper_mark | typed_mark)) {
      graph_.kept_wrappers.add(static_cast<NodeId>(edges.first.size() - 1), static_cast<uint32_t>(pending_[++i]));
    } else if (item == (atoms_mark | typed_mark)) {
      add_atom(static_cast<uint32_t>(pending_[++i]));
    } else if (item == (latent_mark | typed_mark)) {
      resolve_latent(pending_.data() + i + 1);
      i += latent_items;
    } else if ((item & typed_mark) != 0) {
      refer_to(item & ~typed_mark, static_cast<uint32_t>(pending_[++i]));
    } else {
      refer_to(item, unknown_type);
    }
  }
  if (edges.targets.size() >= UINT32_MAX) throw std::length_error("more than four billion references");
  pending_.clear();
}

void Builder::resolve_latent(const Address* items) {
  LatentReference found{index_.find(items[0]), node_of(items[1], unknown_type), {no_node, no_node}, {0, 0}};
  for (size_t i = 0; i < 2; ++i) {
    const Address* native = items + 2 + 3 * i;
    if (native[0] != 0) found.between[i] = node_of(native[0], static_cast<uint32_t>(native[1]));
    found.owners[i] = static_cast<uint32_t>(native[2]);
  }
  if (found.wrapper != no_node && found.target != no_node && found.between[0] != no_node)
    graph_.latent.push_back(found);
}

void Builder::finish() {
  Edges& edges = graph_.references;
  edges.first.push_back(static_cast<uint32_t>(edges.targets.size()));
  graph_.addresses.shrink();
  graph_.types.shrink();
  edges.first.shrink();
  edges.targets.shrink();
}

}  // namespace gradlife::heap
