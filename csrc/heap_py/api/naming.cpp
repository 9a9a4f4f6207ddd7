#include "heap_py/api/naming.hpp"

#include <algorithm>
#include <memory>

#include "base/labels.hpp"
#include "heap_py/interpreter/interpreter.h"
#include "heap_py/labels/description.hpp"
#include "heap_py/labels/label_packer.hpp"
#include "heap_py/labels/many_labels.hpp"
#include "heap_py/labels/node_texts.hpp"
#include "heap_py/labels/shown_labels.hpp"
#include "heap_py/labels/type_labels.hpp"
#include "heap_py/providers/provider_list.hpp"
#include "heapgraph/analysis/components.hpp"
#include "heapgraph/graph/shared_nodes.hpp"

namespace gradlife::heap {
namespace {

constexpr size_t max_others = size_t{1} << 22;  // limit of labels for references that are on no path
constexpr size_t max_in_cycle = 10'000;         // of a larger cyclic part only the native objects' are labelled
constexpr size_t searched_one_by_one = 8;       // references of one container

class Namer {
 public:
  Namer(FrozenGraph& frozen, const std::vector<Provider*>& providers, bool with_user_text, const NodeSet* wanted)
      : graph_(frozen.graph),
        wanted_(wanted),
        paths_(frozen.need_paths()),
        describer_(graph_, providers),
        packer_(graph_, describer_, words_.texts, with_user_text),
        shared_(graph_) {}

  Words run() {
    add_descriptions(graph_, describer_, words_, wanted_);
    words_.arrivals.assign_zero(graph_.size());
    mark_types();
    mark_cycles();
    mark_held_beside();
    for (size_t node = 0; node < graph_.size(); ++node) {
      if (!is_wanted(static_cast<NodeId>(node))) continue;
      prefetch(node);
      label_row(static_cast<NodeId>(node));
    }
    words_.texts.close();
    return std::move(words_);
  }

 private:
  // Properties of a node's type, cached because they are read millions of times.
  struct TypeMarks {
    bool is_python, is_native, is_class, is_module;
    bool is_holder;   // its parts often have other holders too, so a path may bypass it
    bool is_wrapper;  // may refer to native objects
    bool has_places;  // its references can be looked up by index
    bool is_cache;    // of functools
  };
  // The labels of one object's references, if many are wanted.
  struct RowLabels {
    std::unique_ptr<ManyLabels> places;
    std::unique_ptr<ShownLabels> shown;
  };
  const TypeMarks& marks(NodeId node) const { return marks_[graph_.types[node]]; }
  bool is_wanted(NodeId node) const { return wanted_ == nullptr || wanted_->has(node); }

  // Objects of the interpreter that hold what a program gave them: a bound method may be the only way to a running
  // thread's object that no frame shows.
  static bool is_plain_holder(PyTypeObject* type) {
    return type == &PyCell_Type || type == &PyMethod_Type || type == &PyCFunction_Type || type == &PyGen_Type ||
           type == &PyCoro_Type || type == &PyAsyncGen_Type;
  }
  TypeMarks marks_of(const TypeRow& row) const {
    constexpr unsigned long sequences = Py_TPFLAGS_LIST_SUBCLASS | Py_TPFLAGS_TUPLE_SUBCLASS;
    auto* type = reinterpret_cast<PyTypeObject*>(static_cast<uintptr_t>(row.address));
    const bool is_python = row.kind == NodeKind::python;
    const unsigned long flags = is_python && type != nullptr ? type->tp_flags : 0;
    const bool is_class = (flags & Py_TPFLAGS_TYPE_SUBCLASS) != 0;
    const bool is_of_program = (flags & Py_TPFLAGS_HEAPTYPE) != 0 && !is_class;
    const bool has_places = flags != 0 && ManyLabels::knows(type);
    const bool is_module = flags != 0 && PyType_IsSubtype(type, &PyModule_Type) != 0;
    return {is_python,
            !is_python && row.kind != NodeKind::root,
            is_class,
            is_module,
            (flags & sequences) != 0 || is_of_program || has_places || (flags != 0 && is_plain_holder(type)) ||
                row.name == labels::running_frame,
            describer_.is_wrapper(row),
            has_places,
            flags != 0 && is_lru_cache(type)};
  }
  void mark_types() {
    for (const TypeRow& row : graph_.type_rows) marks_.push_back(marks_of(row));
  }
  // Marks cycles with native objects. Classes and the globals of modules are borders: they lead everywhere and explain
  // nothing.
  void mark_cycles() {
    Buffer<NodeId> natives, borders;
    for (size_t i = 0; i < graph_.size(); ++i) {
      const NodeId node = static_cast<NodeId>(i);
      if (marks(node).is_native) natives.push_back(node);
      if (marks(node).is_class) borders.push_back(node);
      if (!marks(node).is_module) continue;
      for (NodeId part : graph_.references.of(node)) borders.push_back(part);
    }
    components_ = find_components(graph_.references, natives, borders);
    has_native_.assign_zero(components_.sizes.size());
    for (size_t i = 0; i < graph_.size(); ++i)
      if (components_.of_node[i] != Components::none && marks(static_cast<NodeId>(i)).is_native)
        has_native_[components_.of_node[i]] = 1;
  }
  // Marks tracked objects, except classes, that are on a path and have another referrer.
  void mark_held_beside() {
    for (size_t i = 0; i < graph_.size(); ++i) {
      const NodeId node = static_cast<NodeId>(i);
      if (!graph_.is_tracked(node) || marks(node).is_class || !paths_.is_reached(node) || !is_wanted(node))
        shared_.remove(node);
    }
  }
  bool is_held_beside(NodeId source, NodeId target) const {
    return shared_.has(target) && paths_.parent(target) != source;
  }
  // Whether a wrapper has another reference to a native object than that by which a path arrives there.
  bool is_native_beside(size_t edge) const {
    return marks(graph_.references.targets[edge]).is_native && !paths_.arrives_by(edge);
  }
  void label_beside(NodeId source) {
    constexpr size_t max_unsorted = 1024;  // limit of items of a container without an index
    const Row row = graph_.references.of(source);
    const bool has_places = marks(source).has_places, is_wrapper = marks(source).is_wrapper;
    if (!has_places && row.size() > max_unsorted) return;
    RowLabels labels;
    for (const NodeId* target = row.begin(); target != row.end(); ++target) {
      const auto edge = graph_.references.first[source] + static_cast<uint32_t>(target - row.begin());
      const bool is_beside = is_held_beside(source, *target) || (is_wrapper && is_native_beside(edge));
      if (!is_beside || words_.others.size() >= max_others) continue;
      if (has_places && row.size() > searched_one_by_one && labels.places == nullptr)
        labels.places = std::make_unique<ManyLabels>(object(source));
      words_.others.push_back({edge, nth_label(source, row, target, labels)});
    }
  }
  bool needs_whole_row(NodeId node) const {
    if (words_.others.size() >= max_others) return false;
    if (!paths_.is_reached(node) || marks(node).is_native) return true;
    const uint32_t part = components_.of_node[node];
    return part != Components::none && has_native_[part] != 0 && components_.sizes[part] <= max_in_cycle;
  }
  bool has_arrival(NodeId source) const {
    return paths_.has_arrival(graph_.references.first[source], graph_.references.first[source + 1]);
  }
  // Counts the references to label in a long row, where many are looked up together.
  size_t count_wanted(size_t first, const Row& row, bool is_whole) const {
    if (is_whole) return row.size();
    size_t count = 0;
    for (size_t i = 0; i < row.size() && count <= searched_one_by_one; ++i)
      count += paths_.arrives_by(first + i) && is_wanted(row.first[i]) ? 1 : 0;
    return count;
  }

  // Prefetches the object far ahead; nearer, the tables that its parts are in.
  void prefetch(size_t node) const {
    constexpr size_t far = 16, near = 6, most = 8;
    if (node + far < graph_.size() && has_arrival(static_cast<NodeId>(node + far))) {
      const char* next = reinterpret_cast<const char*>(object(static_cast<NodeId>(node + far)));
      __builtin_prefetch(next);
      __builtin_prefetch(next - 32);  // where an instance's attributes are looked up
    }
    if (node + near >= graph_.size()) return;
    const NodeId source = static_cast<NodeId>(node + near);
    const size_t first = graph_.references.first[source], last = graph_.references.first[source + 1];
    if (!paths_.has_arrival(first, last)) return;
    packer_.prefetch(source);
    for (size_t edge = first; edge < std::min(last, first + most); ++edge) {
      if (!paths_.arrives_by(edge)) continue;
      __builtin_prefetch(&graph_.addresses[graph_.references.targets[edge]]);
      __builtin_prefetch(&words_.arrivals[graph_.references.targets[edge]], 1);
    }
  }

  void label_row(NodeId source) {
    const Row row = graph_.references.of(source);
    const size_t first = graph_.references.first[source];
    const bool is_whole = needs_whole_row(source), is_on_paths = has_arrival(source);
    if (!is_whole && (marks(source).is_holder || marks(source).is_wrapper)) label_beside(source);
    if (row.size() == 0 || (!is_whole && !is_on_paths)) return;
    if (marks(source).is_native) return label_native(source);
    const bool are_many = row.size() > searched_one_by_one && count_wanted(first, row, is_whole) > searched_one_by_one;
    const RowLabels labels = are_many ? row_labels(source) : RowLabels();
    for (size_t i = 0; is_on_paths && i < row.size(); ++i)
      if (paths_.arrives_by(first + i) && is_wanted(row.first[i]))
        words_.arrivals[row.first[i]] = label(source, row.first[i], labels);
    if (!is_whole) return;
    uint32_t edge = static_cast<uint32_t>(first);
    for (const NodeId* target = row.begin(); target != row.end(); ++target)
      words_.others.push_back({edge++, nth_label(source, row, target, labels)});
  }
  RowLabels row_labels(NodeId source) {
    RowLabels labels;
    if (marks(source).has_places) labels.places = std::make_unique<ManyLabels>(object(source));
    if (!marks(source).is_wrapper && !marks(source).is_cache) return labels;
    labels.shown = std::make_unique<ShownLabels>(packer_);
    describer_.show(source, *labels.shown);
    return labels;
  }
  uint32_t nth_label(NodeId source, const Row& row, const NodeId* target, const RowLabels& labels) {
    const size_t nth = earlier(row, target);
    return nth == 0 ? label(source, *target, labels) : packer_.another_reference(source, *target, nth);
  }
  // Counts the earlier references in the row to the same target; long rows are not searched again.
  static size_t earlier(const Row& row, const NodeId* at) {
    constexpr size_t max_compared = 64;
    if (row.size() > max_compared) return 0;
    return static_cast<size_t>(std::count(row.begin(), at, *at));
  }
  // Labels all referents in one read, because reading memory that may be unmapped costs system calls.
  void label_native(NodeId source) {
    std::vector<Describer::NativeEdge> edges = describer_.native_edges(source);
    uint32_t edge = graph_.references.first[source];
    auto next = edges.begin();  // both have about the same order
    for (NodeId target : graph_.references.of(source)) {
      const auto is_target = [&](const Describer::NativeEdge& known) { return known.target == object(target); };
      auto found = std::find_if(next, edges.end(), is_target);
      if (found == edges.end()) found = std::find_if(edges.begin(), edges.end(), is_target);
      const uint32_t label = found != edges.end() ? packer_.pack(found->label) : 0;
      if (found != edges.end()) found->target = nullptr;  // the next reference to it has another name
      if (found != edges.end()) next = found + 1;
      if (paths_.parent(target) == source && words_.arrivals[target] == 0) words_.arrivals[target] = label;
      if (words_.others.size() < max_others) words_.others.push_back({edge, label});
      ++edge;
    }
  }
  uint32_t label(NodeId source, NodeId target, const RowLabels& labels) {
    Label found;
    const bool is_python = marks(target).is_python;
    if (labels.places != nullptr && is_python) found = labels.places->of(object(target));
    if (found.relation == Relation::unknown && labels.shown != nullptr && is_python)
      if (const uint32_t shown = shown_label(source, target, *labels.shown)) return shown;
    if (found.relation == Relation::unknown) return packer_.reference(source, target);
    describer_.add_key(found);
    return packer_.pack(found);
  }
  // An attribute of a wrapper has its own name; of what a cache keeps nothing has.
  uint32_t shown_label(NodeId source, NodeId target, const ShownLabels& shown) const {
    const bool is_cache = marks(source).is_cache;
    const bool is_named =
        !is_cache && describe_reference(object(source), object(target), 0).relation != Relation::unknown;
    return is_named ? 0 : shown.of(object(target));
  }
  PyObject* object(NodeId node) const {
    return reinterpret_cast<PyObject*>(static_cast<uintptr_t>(graph_.addresses[node]));
  }

  const Graph& graph_;
  const NodeSet* wanted_;
  const PathTree& paths_;
  const Describer describer_;
  Words words_;
  LabelPacker packer_;
  Components components_;
  Buffer<uint8_t> has_native_;
  Buffer<TypeMarks> marks_;  // by type
  SharedNodes shared_;       // after `mark_held_beside`, only those
};

}  // namespace

static_assert(static_cast<uint8_t>(Relation::item) == Words::item_relation, "as it stands in files");
static_assert(static_cast<uint8_t>(Relation::root) + 1 == Words::relation_count, "as it stands in files");

Words name_everything(FrozenGraph& frozen, const std::vector<Provider*>& providers, bool with_user_text,
                      const NodeSet* wanted) {
  return Namer(frozen, providers, with_user_text, wanted).run();
}

NodeNumbers uneven_counts(FrozenGraph& frozen, const std::vector<Provider*>& providers) {
  const Graph& graph = frozen.graph;
  Buffer<uint32_t> known;
  known.assign_zero(graph.size());
  for (NodeId target : graph.references.targets) ++known[target];
  NodeNumbers counts;
  const auto note = [&](size_t node) {
    const auto* object = reinterpret_cast<PyObject*>(static_cast<uintptr_t>(graph.addresses[node]));
    const uint32_t count = static_cast<uint32_t>(std::min<int64_t>(Py_REFCNT(object), UINT32_MAX));
    if (count != known[node] && gl_is_immortal(object) == 0) counts.add(static_cast<NodeId>(node), count);
  };
  constexpr size_t ahead = 12;
  for (size_t node = graph.tracked_begin; node < graph.tracked_end; ++node) {
    if (node + ahead < graph.tracked_end)
      __builtin_prefetch(reinterpret_cast<const void*>(static_cast<uintptr_t>(graph.addresses[node + ahead])));
    note(node);
  }
  const auto note_native = [&](size_t node) {
    const int64_t owners = owners_of(graph, providers, static_cast<NodeId>(node));
    if (owners >= 0 && owners != known[node]) counts.add(static_cast<NodeId>(node), static_cast<uint32_t>(owners));
  };
  // There are too many to record all: only objects whose lifetime is not obvious.
  for (size_t node = graph.tracked_end; frozen.paths != nullptr && node < graph.size(); ++node) {
    if (frozen.paths->is_reached(static_cast<NodeId>(node))) continue;
    if (graph.type_of(static_cast<NodeId>(node)).kind == NodeKind::python)
      note(node);
    else
      note_native(node);
  }
  return counts;
}

}  // namespace gradlife::heap
