#include "heap_py/naming.hpp"

#include <algorithm>
#include <cctype>

#include "heap_py/description.hpp"
#include "heap_py/labels.hpp"
#include "heapgraph/components.hpp"

namespace gradlife::heap {
namespace {

constexpr size_t most_others = size_t{1} << 22;  // labels of references that are on no path
constexpr size_t most_in_cycle = 10'000;         // of a larger cyclic part only the native objects' are labelled
constexpr size_t searched_one_by_one = 8;

bool is_identifier(const std::string& text, size_t first, size_t last) {
  for (size_t i = first; i < last; ++i)
    if (std::isalnum(static_cast<unsigned char>(text[i])) == 0 && text[i] != '_') return false;
  return first < last && std::isdigit(static_cast<unsigned char>(text[first])) == 0;
}

// A key or attribute as it may stand in a file that strangers see: identifiers are the program's, other text is data.
std::string without_user_text(const Label& label) {
  if (label.relation == Relation::attribute)
    return is_identifier(label.text, 0, label.text.size()) ? label.text : "<str>";
  if (label.relation != Relation::dict_value && label.relation != Relation::dict_key) return label.text;
  if (label.text.find('\'') == std::string::npos) return label.text;
  if (label.text.front() == '(') return "<tuple>";
  return is_identifier(label.text, 1, label.text.size() - 1) ? label.text : "<str>";
}

// The labels of many references of one container, in one pass over it.
class ContainerLabels {
 public:
  static bool knows(PyObject* source) { return PyDict_Check(source) || PyList_Check(source) || PyTuple_Check(source); }
  explicit ContainerLabels(PyObject* source) {
    if (PyDict_Check(source)) {
      read_dict(source);
    } else {
      PyObject** items = PyList_Check(source) ? reinterpret_cast<PyListObject*>(source)->ob_item
                                              : reinterpret_cast<PyTupleObject*>(source)->ob_item;
      for (Py_ssize_t i = 0; i < Py_SIZE(source); ++i) places_.emplace(items[i], Place{Relation::item, nullptr, i});
    }
  }
  Label of(PyObject* target) const {
    const auto found = places_.find(target);
    if (found == places_.end()) return {};
    const Place& place = found->second;
    return {place.relation, place.key != nullptr ? describe_key(place.key) : std::string(), place.index};
  }

 private:
  struct Place {
    Relation relation;
    PyObject* key;
    int64_t index;
  };
  void read_dict(PyObject* dict) {
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value) != 0;)
      places_.emplace(value, Place{Relation::dict_value, key, -1});
    for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value) != 0;)
      places_.emplace(key, Place{Relation::dict_key, key, -1});
  }
  std::unordered_map<PyObject*, Place> places_;
};

class Namer {
 public:
  Namer(FrozenGraph& frozen, const std::vector<Provider*>& providers, bool with_user_text)
      : graph_(frozen.graph),
        paths_(frozen.need_paths()),
        describer_(graph_, providers),
        with_user_text_(with_user_text) {}

  Words run() {
    words_.descriptions.reserve(graph_.size());
    for (size_t node = 0; node < graph_.size(); ++node)
      words_.descriptions.push_back(words_.texts.add(describer_.describe(static_cast<NodeId>(node))));
    words_.arrivals.assign_zero(graph_.size());
    mark_cycles();
    sort_arrivals();
    for (size_t node = 0; node < graph_.size(); ++node) label_row(static_cast<NodeId>(node));
    words_.texts.close();
    return std::move(words_);
  }

 private:
  bool is_native(NodeId node) const {
    const NodeKind kind = graph_.type_of(node).kind;
    return kind != NodeKind::python && kind != NodeKind::root;
  }
  void mark_cycles() {
    components_ = find_components(graph_);
    has_native_.assign_zero(components_.sizes.size());
    for (size_t i = 0; i < graph_.size(); ++i)
      if (components_.of_node[i] != Components::none && is_native(static_cast<NodeId>(i)))
        has_native_[components_.of_node[i]] = 1;
  }
  bool needs_whole_row(NodeId node) const {
    if (words_.others.size() >= most_others) return false;
    if (!paths_.is_reached(node) || is_native(node)) return true;
    const uint32_t part = components_.of_node[node];
    return part != Components::none && has_native_[part] != 0 && components_.sizes[part] <= most_in_cycle;
  }
  // Those that a path reaches through one node, together: rows of `first_arrival_`.
  void sort_arrivals() {
    first_.assign_zero(graph_.size() + 2);
    for (size_t i = 1; i < graph_.size(); ++i)
      if (paths_.is_reached(static_cast<NodeId>(i))) ++first_[paths_.parent(static_cast<NodeId>(i)) + 2];
    for (size_t i = 2; i < first_.size(); ++i) first_[i] += first_[i - 1];
    arrived_.resize(first_[graph_.size() + 1]);
    for (size_t i = 1; i < graph_.size(); ++i)
      if (paths_.is_reached(static_cast<NodeId>(i)))
        arrived_[first_[paths_.parent(static_cast<NodeId>(i)) + 1]++] = static_cast<NodeId>(i);
  }

  void label_row(NodeId source) {
    const Row arrivals = {arrived_.data() + first_[source], arrived_.data() + first_[source + 1]};
    const bool is_whole = needs_whole_row(source);
    const size_t wanted = arrivals.size() + (is_whole ? graph_.references.of(source).size() : 0);
    if (wanted == 0) return;
    if (is_native(source)) return label_native(source);
    std::unique_ptr<ContainerLabels> labels;
    if (wanted > searched_one_by_one && graph_.type_of(source).kind == NodeKind::python &&
        ContainerLabels::knows(object(source)))
      labels = std::make_unique<ContainerLabels>(object(source));
    for (NodeId target : arrivals) words_.arrivals[target] = packed(label(source, target, labels.get()));
    if (!is_whole) return;
    const uint32_t first = graph_.references.first[source];
    uint32_t edge = first;
    for (NodeId target : graph_.references.of(source))
      words_.others.push_back({edge++, packed(label(source, target, labels.get()))});
  }
  // What it refers to in one look: each look reads memory that may not be there, which costs system calls.
  void label_native(NodeId source) {
    const std::vector<Describer::NativeEdge> edges = describer_.native_edges(source);
    uint32_t edge = graph_.references.first[source];
    for (NodeId target : graph_.references.of(source)) {
      const auto found = std::find_if(edges.begin(), edges.end(), [&](const Describer::NativeEdge& known) {
        return known.target == object(target);
      });
      const uint32_t label = found != edges.end() ? packed(found->label) : 0;
      if (paths_.parent(target) == source) words_.arrivals[target] = label;
      if (words_.others.size() < most_others) words_.others.push_back({edge, label});
      ++edge;
    }
  }
  Label label(NodeId source, NodeId target, const ContainerLabels* labels) const {
    Label found;
    if (labels != nullptr && graph_.type_of(target).kind == NodeKind::python) found = labels->of(object(target));
    return found.relation != Relation::unknown ? found : describer_.describe_edge(source, target);
  }
  uint32_t packed(const Label& label) {
    const uint8_t relation = static_cast<uint8_t>(label.relation);
    if (label.relation == Relation::item)
      return PackedLabel::pack(relation, label.index >= 0 ? static_cast<uint64_t>(label.index) : PackedLabel::most);
    return PackedLabel::pack(relation, words_.texts.add(with_user_text_ ? label.text : without_user_text(label)));
  }
  PyObject* object(NodeId node) const {
    return reinterpret_cast<PyObject*>(static_cast<uintptr_t>(graph_.addresses[node]));
  }

  const Graph& graph_;
  const PathTree& paths_;
  const Describer describer_;
  const bool with_user_text_;
  Words words_;
  Components components_;
  Buffer<uint8_t> has_native_;
  Buffer<uint32_t> first_;
  Buffer<NodeId> arrived_;
};

}  // namespace

static_assert(static_cast<uint8_t>(Relation::item) == Words::item_relation, "as it stands in files");
static_assert(static_cast<uint8_t>(Relation::root) + 1 == Words::relation_count, "as it stands in files");

Words name_everything(FrozenGraph& frozen, const std::vector<Provider*>& providers, bool with_user_text) {
  return Namer(frozen, providers, with_user_text).run();
}

std::unordered_map<NodeId, uint32_t> uneven_counts(FrozenGraph& frozen) {
  const Graph& graph = frozen.graph;
  Buffer<uint32_t> known;
  known.assign_zero(graph.size());
  for (NodeId target : graph.references.targets) ++known[target];
  std::unordered_map<NodeId, uint32_t> counts;
  for (size_t node = graph.tracked_begin; node < graph.tracked_end; ++node) {
    const auto* object = reinterpret_cast<PyObject*>(static_cast<uintptr_t>(graph.addresses[node]));
    const uint32_t count = static_cast<uint32_t>(std::min<int64_t>(Py_REFCNT(object), UINT32_MAX));
    if (count != known[node]) counts[static_cast<NodeId>(node)] = count;
  }
  return counts;
}

}  // namespace gradlife::heap
