// Builds a graph in one pass. The caller visits the nodes in the order in which they were added and passes the
// references of each as addresses. `resolve` turns a chunk of addresses into nodes at once, to prefetch the lookups.
#pragma once

#include "heapgraph/graph/address_index.hpp"
#include "heapgraph/graph/graph.hpp"

namespace gradlife::heap {

class Builder {
 public:
  // Returns whether to leave out a Python object, and the references to it.
  using LeavesOut = bool (*)(Address object, size_t min_bytes);
  // Returns the bytes of a Python object that is left out if nothing else refers to it, else 0.
  using OwnedBytes = uint32_t (*)(Address object);
  // `adds_unknown`: a reference to an object without a node adds one; otherwise the reference is left out.
  Builder(Graph& graph, size_t expected_nodes, bool adds_unknown = true);
  void leave_out(LeavesOut leaves_out, size_t min_bytes, OwnedBytes owned_bytes) {
    leaves_out_ = leaves_out;
    owned_bytes_ = owned_bytes;
    min_bytes_ = min_bytes;
  }

  // Adds a node that nothing has referred to yet.
  NodeId add(Address address, uint32_t type);
  // Adds a node that `find` does not know before `index_appended`; faster for many nodes. Returns false without memory.
  bool append(Address address) noexcept {
    return graph_.addresses.try_push_back(address) && graph_.types.try_push_back(unknown_type);
  }
  // Indexes the appended nodes, and makes room for later ones.
  void index_appended();
  uint32_t add_type(TypeRow row);
  Graph& graph() { return graph_; }

  // Begins the references of the next node. The noexcept functions are called by C code; `resolve` reports their
  // errors.
  void begin_next() noexcept { push(row_mark); }
  // Adds a reference to a Python object; its type is read later.
  void refer(Address address) noexcept { push(address); }
  // Adds a reference to another object of a known type.
  void refer(Address address, uint32_t type) noexcept {
    push(address | typed_mark);
    push(type);
  }
  // The following references of this node are invisible to the collector.
  void begin_hidden() noexcept { push(hidden_mark); }
  // The node is a wrapper that its native object keeps alive. This number of its references is hidden only because of
  // that.
  void keep_wrapper(uint32_t references) noexcept {
    push(wrapper_mark | typed_mark);
    push(references);
  }
  // The node holds this many bytes of objects that are left out, besides those referred to.
  void own_atoms(uint32_t bytes) noexcept {
    push(atoms_mark | typed_mark);
    push(bytes);
  }
  // The next reference is that to a `__dict__` which the collector clears, see `Graph::cleared_dicts`.
  void begin_cleared_dict() noexcept { push(cleared_dict_mark); }
  // The next reference of this native node leads to its wrapper, see `Graph::coupled`.
  void begin_coupled() noexcept { push(coupled_mark); }
  // A native object on the path of a latent reference.
  struct Between {
    Address address;  // 0: there is only one
    uint32_t type;
    uint32_t owners;
  };
  // Adds a latent reference; `second` has address 0 if there is only one native object between the two.
  void add_latent(Address wrapper, Address target, const Between& first, const Between& second) noexcept {
    for (Address item : {latent_mark | typed_mark, wrapper, target}) push(item);
    for (const Between& native : {first, second})
      for (Address item : {native.address, Address{native.type}, Address{native.owners}}) push(item);
  }
  // Leaves out an object of gradlife itself, and the references to it.
  void exclude(Address address) { excluded_.push_back(address); }
  bool is_excluded(Address address) const {
    for (Address excluded : excluded_)
      if (excluded == address) return true;
    return false;
  }
  bool is_full() const { return pending_.size() >= chunk; }
  void resolve();
  void finish();
  NodeId find(Address address) const { return index_.find(address); }

  static constexpr uint32_t unknown_type = 0;

 private:
  static constexpr size_t chunk = 8192;
  static constexpr Address row_mark = 2;  // not an address: those are multiples of 8
  static constexpr Address hidden_mark = 4;
  static constexpr Address coupled_mark = 6;
  static constexpr Address wrapper_mark = 10;
  static constexpr Address latent_mark = 12;
  static constexpr Address cleared_dict_mark = 14;
  static constexpr Address atoms_mark = 18;
  static constexpr Address typed_mark = 1;
  static constexpr size_t latent_items = 8;  // after its mark
  void push(Address item) noexcept {
    if (!pending_.try_push_back(item)) is_out_of_memory_ = true;
  }
  NodeId node_of(Address address, uint32_t type) {
    const NodeId node = index_.find(address);
    if (node != no_node) return node;
    const bool is_left_out =
        type == unknown_type && (!adds_unknown_ || (leaves_out_ != nullptr && leaves_out_(address, min_bytes_)));
    return is_left_out || is_excluded(address) ? no_node : add(address, type);
  }
  void refer_to(Address address, uint32_t type) {
    const NodeId node = node_of(address, type);
    if (node != no_node)
      graph_.references.targets.push_back(node);
    else if (owned_bytes_ != nullptr && type == unknown_type && !is_excluded(address))
      add_atom(owned_bytes_(address));
  }
  void resolve_latent(const Address* items);
  void add_atom(uint32_t bytes) {
    if (bytes == 0) return;
    const auto node = static_cast<NodeId>(graph_.references.first.size() - 1);
    const uint32_t* known = graph_.atom_bytes.last_of(node);
    const uint32_t before = known != nullptr ? *known : 0;
    graph_.atom_bytes.add(node, bytes <= UINT32_MAX - before ? before + bytes : UINT32_MAX);
  }

  Graph& graph_;
  AddressIndex index_;
  size_t indexed_ = 0;
  Buffer<Address> pending_;
  Buffer<Address> excluded_;
  bool adds_unknown_;
  LeavesOut leaves_out_ = nullptr;
  OwnedBytes owned_bytes_ = nullptr;
  size_t min_bytes_ = 0;
  bool is_out_of_memory_ = false;
};

}  // namespace gradlife::heap
