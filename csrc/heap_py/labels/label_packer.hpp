// Labels as stored: a number each, every text once.
#pragma once

#include "heap_py/labels/description.hpp"
#include "heapgraph/frozen/names.hpp"

namespace gradlife::heap {

class LabelPacker {
 public:
  // `with_user_text`: keeps names that are not identifiers, not only that they are text.
  LabelPacker(const Graph& graph, const Describer& describer, Texts& texts, bool with_user_text);
  uint32_t pack(const Label& label);
  uint32_t reference(NodeId source, NodeId target);  // from a live object to another one, or to a native one
  uint32_t another_reference(NodeId source, NodeId target, size_t nth);  // if it has several to that target
  void prefetch(NodeId source) const;  // what the source has outside itself; the source is in the cache already

 private:
  static constexpr size_t kept_keys = 8192;
  struct Known {
    const void* key;
    Relation relation;
    uint32_t label;
  };
  // The kind of a type's instances, for `plain_reference`.
  enum class Shape : uint8_t { other, dict, list, tuple, cell, function, code, instance };
  Shape shape_of(const TypeRow& row) const;

  uint32_t plain_reference(NodeId source, NodeId target);
  uint32_t field(const size_t* offsets, size_t count, NodeId source, NodeId target);
  uint32_t of_instance(NodeId source, NodeId target);
  bool waits_for_a_call(NodeId target, PyObject* name) const;
  uint32_t keyed(Relation relation, PyObject* key);
  Known& known_of(const void* key) { return known_[(reinterpret_cast<uintptr_t>(key) >> 4) % kept_keys]; }
  // A label that depends only on the key and the relation.
  template <class Make>
  uint32_t known(Relation relation, const void* key, Make make) {
    Known& known = known_of(key);
    if (known.key != key || known.relation != relation) known = {key, relation, pack(make())};
    return known.label;
  }
  PyObject* object(NodeId node) const {
    return reinterpret_cast<PyObject*>(static_cast<uintptr_t>(graph_.addresses[node]));
  }

  const Graph& graph_;
  const Describer& describer_;
  Texts& texts_;
  const bool with_user_text_;
  Buffer<Shape> shapes_;          // by row of the types
  uint32_t tuples_ = UINT32_MAX;  // the row of tuples
  Buffer<Known> known_;           // by key
  Buffer<size_t> code_fields_;
};

}  // namespace gradlife::heap
