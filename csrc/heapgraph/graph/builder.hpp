// Builds a graph in one pass: nodes are expanded in order, their references are collected in chunks, and each chunk is
// resolved to nodes with prefetched lookups.
#pragma once

#include "heapgraph/graph/address_index.hpp"
#include "heapgraph/graph/graph.hpp"

namespace gradlife::heap {

class Builder {
 public:
  // Whether to leave out a Python object that was not added before, with the references to it.
  using LeavesOut = bool (*)(Address object, size_t min_bytes);
  // `adds_unknown`: references to objects that were not added before add a node for them; else they are left out.
  Builder(Graph& graph, size_t expected_nodes, bool adds_unknown = true);
  void leave_out(LeavesOut leaves_out, size_t min_bytes) {
    leaves_out_ = leaves_out;
    min_bytes_ = min_bytes;
  }

  // Adds a node that nothing has referred to yet.
  NodeId add(Address address, uint32_t type);
  // Adds one of many nodes, which cannot be found before `index_appended`. False: no memory.
  bool append(Address address) noexcept {
    return graph_.addresses.try_push_back(address) && graph_.types.try_push_back(unknown_type);
  }
  // Indexes the appended nodes, and makes room for later ones.
  void index_appended();
  uint32_t add_type(TypeRow row);
  Graph& graph() { return graph_; }

  // Starts the references of the next node, in the order of nodes. These three never throw, because C code calls them;
  // `resolve` reports errors.
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
  // The node is a wrapper that its native object keeps; only for that reason this number of references is hidden.
  void keep_wrapper(uint32_t references) noexcept {
    push(wrapper_mark | typed_mark);
    push(references);
  }
  // The collector clears the wrapper's next reference although its native object keeps the wrapper.
  void begin_taken() noexcept { push(taken_mark); }
  // The next reference of this native node leads to its wrapper, which counts all other owners of the node as one.
  void begin_coupled() noexcept { push(coupled_mark); }
  // A native object on the path of a latent reference.
  struct Between {
    Address address;  // 0: there is only one
    uint32_t type;
    uint32_t owners;
  };
  void await(Address wrapper, Address target, const Between& first, const Between& second) noexcept {
    for (Address item : {latent_mark | typed_mark, wrapper, target}) push(item);
    for (const Between& native : {first, second})
      for (Address item : {native.address, Address{native.type}, Address{native.owners}}) push(item);
  }
  // Leaves out references to these targets, which are the tool's own objects.
  void hide(Address address) { hidden_.push_back(address); }
  bool is_hidden(Address address) const {
    for (Address hidden : hidden_)
      if (hidden == address) return true;
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
  static constexpr Address taken_mark = 14;
  static constexpr Address typed_mark = 1;
  static constexpr size_t latent_items = 8;  // after its mark
  void push(Address item) noexcept {
    if (!pending_.try_push_back(item)) ran_out_ = true;
  }
  NodeId node_of(Address address, uint32_t type) {
    const NodeId node = index_.find(address);
    if (node != no_node) return node;
    const bool is_left_out =
        type == unknown_type && (!adds_unknown_ || (leaves_out_ != nullptr && leaves_out_(address, min_bytes_)));
    return is_left_out || is_hidden(address) ? no_node : add(address, type);
  }
  void refer_to(Address address, uint32_t type) {
    const NodeId node = node_of(address, type);
    if (node != no_node) graph_.references.targets.push_back(node);
  }
  void resolve_latent(const Address* items);

  Graph& graph_;
  AddressIndex index_;
  size_t indexed_ = 0;
  Buffer<Address> pending_;
  Buffer<Address> hidden_;
  bool adds_unknown_;
  LeavesOut leaves_out_ = nullptr;
  size_t min_bytes_ = 0;
  bool ran_out_ = false;
};

}  // namespace gradlife::heap
