// Labels many references of one object in one pass over what a provider shows of it, or over an lru_cache's results.
#pragma once

#include "heap_py/labels/label_packer.hpp"
#include "heapgraph/graph/address_index.hpp"

namespace gradlife::heap {

class ShownLabels final : public ReferenceSink {
 public:
  explicit ShownLabels(LabelPacker& packer) : packer_(packer) {}
  void python(PyObject* target, Relation relation, const char* label, int64_t index) override {
    const auto address = static_cast<Address>(reinterpret_cast<uintptr_t>(target));
    if (target == nullptr || index_.find(address) != no_node) return;
    targets_.push_back(address);
    labels_.push_back(packer_.pack({relation, label, index}));
    index_.insert(address, static_cast<NodeId>(targets_.size() - 1), targets_);
  }
  void native(const void*, uint32_t, const char*, int64_t) override {}

  // Returns the first label of a Python object, packed. 0: not shown.
  uint32_t of(PyObject* target) const {
    const NodeId number = index_.find(static_cast<Address>(reinterpret_cast<uintptr_t>(target)));
    return number == no_node ? 0 : labels_[number];
  }

 private:
  LabelPacker& packer_;
  Buffer<Address> targets_;
  Buffer<uint32_t> labels_;  // of each target
  AddressIndex index_{0};
};

}  // namespace gradlife::heap
