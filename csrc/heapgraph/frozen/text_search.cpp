#include "heapgraph/frozen/text_search.hpp"

#include <algorithm>
#include <tuple>

namespace gradlife::heap {
namespace {

char lowered(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

bool has(std::string_view text, std::string_view wanted) {
  const auto same = [](char a, char b) { return lowered(a) == lowered(b); };
  return std::search(text.begin(), text.end(), wanted.begin(), wanted.end(), same) != text.end();
}

class Search {
 public:
  Search(FrozenGraph& frozen, std::string_view wanted) : frozen_(frozen), graph_(frozen.graph) {
    is_found_.assign_zero(graph_.size());
    for (const TypeRow& row : graph_.type_rows) is_type_.push_back(has(row.name, wanted) ? 1 : 0);
    if (frozen.words == nullptr) return;
    for (size_t text = 0; text < frozen.words->texts.size(); ++text)
      is_text_.push_back(has(frozen.words->texts[static_cast<uint32_t>(text)], wanted) ? 1 : 0);
  }

  std::vector<NodeId> run() {
    for (size_t node = 0; node < graph_.size(); ++node) is_found_[node] = is_type_[graph_.types[node]];
    if (frozen_.words != nullptr) find_named(*frozen_.words);
    std::vector<NodeId> found;
    for (size_t node = 1; node < graph_.size(); ++node)
      if (is_found_[node] != 0) found.push_back(static_cast<NodeId>(node));
    const Dominators& dominators = frozen_.need_dominators();
    std::stable_sort(found.begin(), found.end(), [&](NodeId a, NodeId b) {
      return std::make_tuple(dominators.retained[b], graph_.size_of(b)) <
             std::make_tuple(dominators.retained[a], graph_.size_of(a));
    });
    return found;
  }

 private:
  void find_named(const Words& words) {
    for (size_t node = 0; node < graph_.size(); ++node)
      is_found_[node] |= static_cast<uint8_t>(is_text_[words.descriptions[node]] | is_named(words.arrivals[node]));
    for (const EdgeLabel& other : words.others)
      if (is_named(other.label) != 0) is_found_[graph_.references.targets[other.edge]] = 1;
  }
  uint8_t is_named(uint32_t label) const {
    return PackedLabel::relation(label) != Words::item_relation ? is_text_[PackedLabel::payload(label)] : uint8_t{0};
  }

  FrozenGraph& frozen_;
  const Graph& graph_;
  Buffer<uint8_t> is_found_;  // by node
  Buffer<uint8_t> is_type_;   // by row of the types
  Buffer<uint8_t> is_text_;   // by text
};

}  // namespace

std::vector<NodeId> search_texts(FrozenGraph& frozen, const std::string& wanted) {
  return Search(frozen, wanted).run();
}

}  // namespace gradlife::heap
