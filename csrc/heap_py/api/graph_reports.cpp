#include "heap_py/api/graph_reports.hpp"

#include "heap_py/api/findings.hpp"
#include "heap_py/api/graph_type.hpp"
#include "heap_py/api/module_state.hpp"
#include "heap_py/interpreter/exception_border.hpp"
#include "heapgraph/file/writer.hpp"
#include "heapgraph/frozen/ranking.hpp"
#include "heapgraph/frozen/shares.hpp"

namespace gradlife::heap {
namespace {

using Big = unsigned long long;

size_t parse_size(PyObject* number) {
  const size_t value = PyLong_AsSize_t(number);
  if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
  return value;
}

NodeId parse_node(const FrozenGraph& frozen, PyObject* number) {
  const size_t node = parse_size(number);
  if (node >= frozen.graph.size()) throw std::out_of_range("no such node in this graph");
  return static_cast<NodeId>(node);
}

std::vector<NodeId> parse_nodes(const FrozenGraph& frozen, PyObject* nodes) {
  const Ref numbers = checked(PySequence_Tuple(nodes));
  std::vector<NodeId> found;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(numbers.get()); ++i)
    found.push_back(parse_node(frozen, PyTuple_GET_ITEM(numbers.get(), i)));
  return found;
}

std::string parse_name(PyObject* name) {
  Py_ssize_t length = 0;
  const char* utf8 = PyUnicode_AsUTF8AndSize(name, &length);
  if (utf8 == nullptr) throw PythonErrorSet();
  return std::string(utf8, static_cast<size_t>(length));
}

void append(const Ref& list, const Ref& item) { checked_status(PyList_Append(list.get(), item.get())); }

Ref node_list(const std::vector<NodeId>& nodes) {
  Ref list = checked(PyList_New(0));
  for (NodeId node : nodes) append(list, checked(PyLong_FromUnsignedLong(node)));
  return list;
}

Label kept_label(FrozenGraph& frozen, NodeId from, NodeId to, size_t nth) {
  const uint32_t label = frozen.words->label_of(frozen.graph, frozen.need_paths(), from, to, nth);
  const Relation relation = static_cast<Relation>(PackedLabel::relation(label));
  const uint32_t payload = PackedLabel::payload(label);
  if (relation != Relation::item) return {relation, std::string(frozen.words->texts[payload])};
  return {relation, "", payload != PackedLabel::most ? int64_t{payload} : -1};
}

LabelSource kept_label_source(FrozenGraph& frozen) {
  const RefCount count = [&frozen](NodeId node) { return frozen.count_of(node); };
  if (frozen.words == nullptr)
    return {[](NodeId) { return std::string(); }, [](NodeId, NodeId, size_t) { return Label{}; }, count};
  return {[&frozen](NodeId node) { return std::string(frozen.words->texts[frozen.words->descriptions[node]]); },
          [&frozen](NodeId from, NodeId to, size_t nth) { return kept_label(frozen, from, to, nth); }, count};
}

Ref tally(const Tally& tally) {
  return checked(Py_BuildValue("KK", static_cast<Big>(tally.count), static_cast<Big>(tally.bytes)));
}

}  // namespace

PyObject* explain_method(PyObject* self, PyObject* number) {
  return guarded([&] {
    FrozenGraph& frozen = frozen_of(self);
    const NodeId node = parse_node(frozen, number);
    return as_dict(values_of(self), frozen.graph, node, explain_object(frozen, node, kept_label_source(frozen)))
        .release();
  });
}

PyObject* path_references_method(PyObject* self, PyObject* number) {
  return guarded([&] {
    FrozenGraph& frozen = frozen_of(self);
    const std::vector<NodeId> path = frozen.need_paths().path_to(parse_node(frozen, number));
    return reference_list(values_of(self), frozen.graph,
                          describe_path(frozen.graph, kept_label_source(frozen), path, no_node))
        .release();
  });
}

PyObject* path_references_along_method(PyObject* self, PyObject* nodes) {
  return guarded([&] {
    FrozenGraph& frozen = frozen_of(self);
    const std::vector<NodeId> path = parse_nodes(frozen, nodes);
    return reference_list(values_of(self), frozen.graph,
                          describe_path(frozen.graph, kept_label_source(frozen), path, no_node))
        .release();
  });
}

PyObject* references_along_method(PyObject* self, PyObject* nodes) {
  return guarded([&] {
    FrozenGraph& frozen = frozen_of(self);
    return reference_list(values_of(self), frozen.graph,
                          describe_all(kept_label_source(frozen), parse_nodes(frozen, nodes)))
        .release();
  });
}

PyObject* cycle_references_method(PyObject* self, PyObject* number) {
  return guarded([&] {
    FrozenGraph& frozen = frozen_of(self);
    const NodeId node = parse_node(frozen, number);
    const std::vector<NodeId> cycle = shortest_cycle(frozen.graph, node);
    return reference_list(values_of(self), frozen.graph,
                          describe_path(frozen.graph, kept_label_source(frozen), cycle, node))
        .release();
  });
}

PyObject* largest_method(PyObject* self, PyObject* count) {
  return guarded([&] { return node_list(largest_nodes(frozen_of(self), parse_size(count))).release(); });
}

PyObject* of_type_method(PyObject* self, PyObject* name) {
  return guarded([&] { return node_list(nodes_of_type(frozen_of(self), parse_name(name))).release(); });
}

PyObject* nodes_method(PyObject* self, PyObject* arguments) {
  return guarded([&] {
    const char *kind = nullptr, *name = nullptr;
    if (PyArg_ParseTuple(arguments, "ss", &kind, &name) == 0) throw PythonErrorSet();
    const Graph& graph = frozen_of(self).graph;
    std::vector<char> is_wanted;
    for (const TypeRow& row : graph.type_rows)
      is_wanted.push_back(std::string_view(kind_name(row.kind)) == kind && (*name == '\0' || row.name == name));
    std::vector<NodeId> found;
    for (size_t node = 0; node < graph.size(); ++node)
      if (is_wanted[graph.types[node]] != 0) found.push_back(static_cast<NodeId>(node));
    return node_list(found).release();
  });
}

PyObject* holders_method(PyObject* self, PyObject* name) {
  return guarded([&] {
    const FrozenGraph& frozen = frozen_of(self);
    Ref list = checked(PyList_New(0));
    for (const HolderRow& row : holders_of_type(frozen_of(self), parse_name(name))) {
      const TypeRow& type = frozen.graph.type_rows[row.type];
      append(list, checked(Py_BuildValue("OsKK", text(type.name).get(), kind_name(type.kind),
                                         static_cast<Big>(row.holders), static_cast<Big>(row.references))));
    }
    return list.release();
  });
}

PyObject* cyclic_parts_method(PyObject* self, PyObject*) {
  return guarded([&] {
    Ref list = checked(PyList_New(0));
    for (const CyclicPart& part : cyclic_parts(frozen_of(self)))
      append(list, checked(Py_BuildValue("kKKiii", static_cast<unsigned long>(part.start), static_cast<Big>(part.nodes),
                                         static_cast<Big>(part.bytes), part.is_held ? 1 : 0, part.has_native ? 1 : 0,
                                         part.has_module ? 1 : 0)));
    return list.release();
  });
}

PyObject* shares_method(PyObject* self, PyObject* arguments) {
  return guarded([&] {
    PyObject* nodes = nullptr;
    int is_dominated = 0;
    if (PyArg_ParseTuple(arguments, "Op", &nodes, &is_dominated) == 0) throw PythonErrorSet();
    FrozenGraph& frozen = frozen_of(self);
    const std::vector<NodeId> holders = parse_nodes(frozen, nodes);
    Ref list = checked(PyList_New(0));
    for (const Share& row : is_dominated != 0 ? shares_by_dominator(frozen, holders) : shares_by_path(frozen, holders))
      append(list, checked(Py_BuildValue("KKKKKK", static_cast<Big>(row.objects), static_cast<Big>(row.tensors),
                                         static_cast<Big>(row.grad_nodes), static_cast<Big>(row.storages),
                                         static_cast<Big>(row.storage_bytes), static_cast<Big>(row.bytes))));
    return list.release();
  });
}

PyObject* write_method(PyObject* self, PyObject* arguments) {
  return guarded([&] {
    int descriptor = -1, with_labels = 1;
    const char* notes = nullptr;
    Py_ssize_t length = 0;
    if (PyArg_ParseTuple(arguments, "is#p", &descriptor, &notes, &length, &with_labels) == 0) throw PythonErrorSet();
    const FrozenGraph& frozen = frozen_of(self);
    if (frozen.graph.sizes.empty()) throw std::runtime_error("this graph was walked without sizes");
    write_graph(descriptor, frozen, std::string(notes, static_cast<size_t>(length)), with_labels != 0);
    return Py_NewRef(Py_None);
  });
}

Ref change_rows(const std::vector<TypeChange>& changes) {
  Ref list = checked(PyList_New(0));
  for (const TypeChange& row : changes)
    append(list,
           checked(Py_BuildValue("OsOOOO", text(row.type).get(), kind_name(row.kind), tally(row.appeared).get(),
                                 tally(row.vanished).get(), tally(row.grown).get(), node_list(row.examples).get())));
  return list;
}

PyObject* compare_paths_of(PyObject* before, PyObject* after) {
  FrozenGraph &old = frozen_of(before), &fresh = frozen_of(after);
  if (old.words == nullptr || fresh.words == nullptr) throw std::runtime_error("both graphs need labels");
  Ref list = checked(PyList_New(0));
  for (const PathChange& row : compare_paths(old, fresh))
    append(list, checked(Py_BuildValue("OOki", tally(row.before).get(), tally(row.after).get(),
                                       static_cast<unsigned long>(row.example), row.is_example_after ? 1 : 0)));
  return list.release();
}

}  // namespace gradlife::heap
