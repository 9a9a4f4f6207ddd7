#include "heapgraph/file/checks.hpp"

namespace gradlife::heap {
namespace {

void demand(bool is_true, const char* otherwise) {
  if (!is_true) throw FileError(std::string("is damaged: ") + otherwise);
}

bool is_rising(const Buffer<uint32_t>& values, uint64_t last) {
  if (values.empty() || values[0] != 0) return false;
  for (size_t i = 1; i < values.size(); ++i)
    if (values[i] < values[i - 1]) return false;
  return values[values.size() - 1] == last;
}

bool are_below(const Buffer<uint32_t>& values, uint64_t limit) {
  uint32_t largest = 0;
  for (uint32_t value : values) largest = value > largest ? value : largest;
  return values.empty() || largest < limit;
}

// All sizes together are below this: no sum overflows, and a page that divides them as `double` loses no byte.
constexpr uint64_t largest_total = uint64_t{1} << 53;

void add_size(uint64_t& total, uint64_t bytes) {
  demand(bytes <= largest_total - total, "its objects are larger than any memory");
  total += bytes;
}

void check_label(uint32_t label, const Words& words) {
  const bool is_place = PackedLabel::relation(label) == Words::item_relation;
  demand(PackedLabel::relation(label) < Words::relation_count, "a reference is of no known kind");
  demand(is_place || PackedLabel::payload(label) < words.texts.size(), "a reference has no text");
}

}  // namespace

void check_header(const FileHeader& header) {
  demand(header.nodes >= 1 && header.nodes < no_node - 1 && header.edges < UINT32_MAX, "it has too many objects");
  demand(header.sections <= max_sections, "it has too many sections");
  demand(header.tracked_begin <= header.tracked_end && header.tracked_end <= header.nodes,
         "the collector's objects lie outside of it");
}

void check_ends(const Buffer<uint32_t>& ends, size_t letters) { demand(is_rising(ends, letters), "its texts overlap"); }

void check_graph(const Graph& graph, uint64_t nodes, uint64_t edges) {
  demand(are_below(graph.types, graph.type_rows.size()), "an object is of no known type");
  demand(is_rising(graph.references.first, edges), "its rows of references overlap");
  demand(are_below(graph.references.targets, nodes), "a reference leads nowhere");
  demand(are_below(graph.coupled, nodes), "a wrapper belongs to no object");
  for (const LatentReference& latent : graph.latent)
    demand(latent.wrapper < nodes && latent.target < nodes && latent.between[0] < nodes &&
               (latent.between[1] < nodes || latent.between[1] == no_node),
           "a reference that may be shown leads nowhere");
  for (const auto& [node, hidden] : graph.first_hidden)
    demand(hidden <= graph.references.of(node).size(), "a reference lies outside of its object");
  for (const auto& [node, attributes] : graph.kept_wrappers)
    demand(attributes <= graph.references.of(node).size() - graph.visible_of(node).size(),
           "a wrapper has too many references");
  for (const auto& [node, place] : graph.cleared_dicts)
    demand(place < graph.references.of(node).size() && graph.kept_wrappers.find(node) != nullptr,
           "a reference that may be taken lies outside of its wrapper");
  for (size_t node = 0; node < graph.size(); ++node)
    demand(graph.sizes[node] != Graph::big_size || graph.big_sizes.count(static_cast<NodeId>(node)) != 0,
           "the size of an object is missing");
  uint64_t total = 0;
  for (size_t node = 0; node < graph.size(); ++node) add_size(total, graph.size_of(static_cast<NodeId>(node)));
  for (const BorrowedBytes& borrowed : graph.borrowed) add_size(total, borrowed.bytes);
  for (const auto& [node, bytes] : graph.atom_bytes) add_size(total, bytes);
}

void check_words(const Words& words, const Graph& graph) {
  demand(are_below(words.descriptions, words.texts.size()), "an object has no text");
  for (uint32_t label : words.arrivals) check_label(label, words);
  for (size_t i = 0; i < words.others.size(); ++i) {
    demand(words.others[i].edge < graph.references.targets.size(), "a label belongs to no reference");
    demand(i == 0 || words.others[i - 1].edge < words.others[i].edge, "its labels are in no order");
    check_label(words.others[i].label, words);
  }
}

}  // namespace gradlife::heap
