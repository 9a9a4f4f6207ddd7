// The descriptions of a frozen graph's nodes and the labels of its references, kept after the objects are gone.
#pragma once

#include <algorithm>

#include "heapgraph/graph/search.hpp"
#include "heapgraph/graph/text_table.hpp"

namespace gradlife::heap {

// A relation, and the number of a text or an index in a sequence.
struct PackedLabel {
  static constexpr unsigned payload_bits = 27;
  static constexpr uint32_t most = (uint32_t{1} << payload_bits) - 1;  // as an index: unknown

  static uint32_t pack(uint8_t relation, uint64_t payload) {
    return uint32_t{relation} << payload_bits | static_cast<uint32_t>(std::min<uint64_t>(payload, most));
  }
  static uint8_t relation(uint32_t label) { return static_cast<uint8_t>(label >> payload_bits); }
  static uint32_t payload(uint32_t label) { return label & most; }
};

struct EdgeLabel {
  uint32_t edge;  // its index among all references
  uint32_t label;
};

struct Words {
  static constexpr uint8_t relation_count = 16;
  static constexpr uint8_t item_relation = 5;  // its labels have an index instead of a text
  Texts texts;
  Buffer<uint32_t> descriptions;  // by node: a text
  Buffer<uint32_t> arrivals;      // by node: the label of the last reference of its path
  Buffer<EdgeLabel> others;       // other references that a report may need, in order

  // The label of the nth reference from one node to the other. 0: not kept.
  uint32_t label_of(const Graph& graph, const PathTree& paths, NodeId from, NodeId to, size_t nth) const {
    if (nth == 0 && paths.parent(to) == from) return arrivals[to];
    for (uint32_t edge = graph.references.first[from]; edge < graph.references.first[from + 1]; ++edge)
      if (graph.references.targets[edge] == to && nth-- == 0) return label_of_edge(edge);
    return 0;
  }
  uint32_t label_of_edge(uint32_t edge) const {
    const EdgeLabel* found = std::lower_bound(others.begin(), others.end(), edge,
                                              [](const EdgeLabel& label, uint32_t at) { return label.edge < at; });
    return found != others.end() && found->edge == edge ? found->label : 0;
  }
  size_t bytes() const { return texts.bytes() + descriptions.bytes() + arrivals.bytes() + others.bytes(); }
};

}  // namespace gradlife::heap
