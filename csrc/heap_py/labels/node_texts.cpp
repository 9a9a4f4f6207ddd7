#include "heap_py/labels/node_texts.hpp"

namespace gradlife::heap {
namespace {

class Descriptions {
 public:
  Descriptions(const Graph& graph, const Describer& describer, Words& words, const NodeSet* wanted)
      : graph_(graph), describer_(describer), words_(words), wanted_(wanted) {
    for (const TypeRow& row : graph.type_rows) manners_.push_back(describer.manner_of(row));
    lengths_.assign_zero(kept_lengths);
    functions_.assign_zero(kept_functions);
  }
  void add_all() {
    constexpr size_t ahead = 8;
    words_.descriptions.reserve(graph_.size());
    for (size_t i = 0; i < graph_.size(); ++i) {
      if (i + ahead < graph_.size() && manner(i + ahead) != Manner::nothing)
        __builtin_prefetch(object(static_cast<NodeId>(i + ahead)));
      words_.descriptions.push_back(description(static_cast<NodeId>(i)));
    }
  }

 private:
  static constexpr size_t kept_lengths = 256, kept_functions = 4096;
  struct Known {
    PyObject *code, *name;
    uint32_t text;
  };

  Manner manner(size_t node) const {
    const bool is_wanted = wanted_ == nullptr || wanted_->has(static_cast<NodeId>(node));
    return is_wanted ? manners_[graph_.types[node]] : Manner::nothing;
  }
  uint32_t description(NodeId node) {
    switch (manner(node)) {
      case Manner::nothing:
        return Texts::none;
      case Manner::length:
        return length_text(node, static_cast<size_t>(length_of(object(node))));
      case Manner::function:
        return function_text(node);
      default:
        return words_.texts.add(describer_.describe(node));
    }
  }
  uint32_t length_text(NodeId node, size_t length) {
    if (length >= kept_lengths) return words_.texts.add(describer_.describe(node));
    uint32_t& text = lengths_[length];
    if (text == Texts::none) text = words_.texts.add(describer_.describe(node));
    return text;
  }
  uint32_t function_text(NodeId node) {
    const auto* function = reinterpret_cast<PyFunctionObject*>(object(node));
    Known& known = functions_[(reinterpret_cast<uintptr_t>(function->func_code) >> 4) % kept_functions];
    if (known.code != function->func_code || known.name != function->func_qualname)
      known = {function->func_code, function->func_qualname, words_.texts.add(describer_.describe(node))};
    return known.text;
  }
  PyObject* object(NodeId node) const {
    return reinterpret_cast<PyObject*>(static_cast<uintptr_t>(graph_.addresses[node]));
  }

  const Graph& graph_;
  const Describer& describer_;
  Words& words_;
  const NodeSet* wanted_;
  Buffer<Manner> manners_;    // by row of the types
  Buffer<uint32_t> lengths_;  // by length
  Buffer<Known> functions_;
};

}  // namespace

void add_descriptions(const Graph& graph, const Describer& describer, Words& words, const NodeSet* wanted) {
  Descriptions(graph, describer, words, wanted).add_all();
}

}  // namespace gradlife::heap
