#include "heap_py/api/graph_type.hpp"

#include <algorithm>

#include "heap_py/api/graph_browsing.hpp"
#include "heap_py/api/graph_reports.hpp"
#include "heap_py/api/module_state.hpp"
#include "heap_py/interpreter/exception_border.hpp"
#include "heapgraph/analysis/components.hpp"

namespace gradlife::heap {
namespace {

struct GraphObject {
  PyObject_HEAD FrozenGraph* frozen;
};

Graph& graph_of(PyObject* self) { return frozen_of(self).graph; }

NodeId parse_node(PyObject* self, PyObject* number) {
  const unsigned long node = PyLong_AsUnsignedLong(number);
  if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
  if (node >= graph_of(self).size()) throw std::out_of_range("no such node in this graph");
  return static_cast<NodeId>(node);
}

template <class Nodes>
Ref list_of(const Nodes& nodes) {
  Ref list = checked(PyList_New(static_cast<Py_ssize_t>(nodes.size())));
  Py_ssize_t i = 0;
  for (NodeId node : nodes) PyList_SET_ITEM(list.get(), i++, checked(PyLong_FromUnsignedLong(node)).release());
  return list;
}

// --- methods
// -----------------------------------------------------------------------------------------------------------

PyObject* find_method(PyObject* self, PyObject* address) {
  return guarded([&]() -> PyObject* {
    const unsigned long long wanted = PyLong_AsUnsignedLongLong(address);
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    const NodeId node = graph_of(self).find(wanted);
    return node != no_node ? PyLong_FromUnsignedLong(node) : Py_NewRef(Py_None);
  });
}

// find_all([address, ...]) -> {address: node} for those in the graph, in one pass
PyObject* find_all_method(PyObject* self, PyObject* addresses) {
  return guarded([&] {
    if (!PyList_Check(addresses)) {
      PyErr_SetString(PyExc_TypeError, "find_all() takes a list of addresses");
      throw PythonErrorSet();
    }
    std::unordered_map<Address, NodeId> found;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(addresses); ++i)
      found[PyLong_AsUnsignedLongLong(PyList_GET_ITEM(addresses, i))] = no_node;
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    graph_of(self).find_all(found);
    Ref dict = checked(PyDict_New());
    for (const auto& [address, node] : found) {
      if (node == no_node) continue;
      const Ref key = checked(PyLong_FromUnsignedLongLong(address)), value = checked(PyLong_FromUnsignedLong(node));
      checked_status(PyDict_SetItem(dict.get(), key.get(), value.get()));
    }
    return dict.release();
  });
}

// describe(node) -> HeapObject; kind(node), type(node), kind_and_type(node): only these fields of it, faster
PyObject* describe_method(PyObject* self, PyObject* number) {
  return guarded([&] { return heap_object(values_of(self), graph_of(self), parse_node(self, number)).release(); });
}
// borrowed(node) -> bytes of its memory that belong to another object; borrowed_bytes: those of all
PyObject* borrowed_method(PyObject* self, PyObject* number) {
  return guarded([&] { return PyLong_FromUnsignedLongLong(graph_of(self).borrowed_by(parse_node(self, number))); });
}
// sequence_number(node) -> the number that torch gave a grad node when it was made, or None
PyObject* sequence_number_method(PyObject* self, PyObject* number) {
  return guarded([&] {
    const uint64_t found = graph_of(self).sequence_number_of(parse_node(self, number));
    return found == SequenceNumber::none ? Py_NewRef(Py_None) : PyLong_FromUnsignedLongLong(found);
  });
}
// birth(node) -> a number that two nodes of one object share, or None if it is not known
PyObject* birth_method(PyObject* self, PyObject* number) {
  return guarded([&] {
    const Graph& graph = graph_of(self);
    const int64_t birth = graph.birth_of(parse_node(self, number));
    if (birth == Graph::unknown_birth) return Py_NewRef(Py_None);
    return PyLong_FromUnsignedLongLong(graph.birth_line << 32 | static_cast<uint64_t>(birth));
  });
}
// length(node) -> items of a list, dict, set or deque; None for anything else, and for an empty one
PyObject* length_method(PyObject* self, PyObject* number) {
  return guarded([&] {
    const uint32_t* found = graph_of(self).lengths.find(parse_node(self, number));
    return found != nullptr ? PyLong_FromUnsignedLong(*found) : Py_NewRef(Py_None);
  });
}
// unset(node) -> items of a list that are None
PyObject* unset_method(PyObject* self, PyObject* number) {
  return guarded([&] {
    const uint32_t* found = graph_of(self).unset.find(parse_node(self, number));
    return PyLong_FromUnsignedLong(found != nullptr ? *found : 0);
  });
}
// atom_bytes(node) -> bytes of small text and numbers that only this object holds, where they are left out
PyObject* atom_bytes_method(PyObject* self, PyObject* number) {
  return guarded([&] {
    const uint32_t* found = graph_of(self).atom_bytes.find(parse_node(self, number));
    return PyLong_FromUnsignedLong(found != nullptr ? *found : 0);
  });
}
PyObject* get_has_births(PyObject* self, void*) { return PyBool_FromLong(graph_of(self).birth_line != 0 ? 1 : 0); }
PyObject* get_borrowed_bytes(PyObject* self, void*) {
  unsigned long long sum = 0;
  for (const BorrowedBytes& entry : graph_of(self).borrowed) sum += entry.bytes;
  return PyLong_FromUnsignedLongLong(sum);
}
PyObject* kind_method(PyObject* self, PyObject* number) {
  return guarded(
      [&] { return PyUnicode_InternFromString(kind_name(graph_of(self).type_of(parse_node(self, number)).kind)); });
}
PyObject* type_method(PyObject* self, PyObject* number) {
  return guarded([&] { return text(graph_of(self).type_of(parse_node(self, number)).name).release(); });
}

PyObject* kind_and_type_method(PyObject* self, PyObject* number) {
  return guarded([&] {
    const TypeRow& row = graph_of(self).type_of(parse_node(self, number));
    const Ref name = text(row.name);
    return Py_BuildValue("sO", kind_name(row.kind), name.get());
  });
}

PyObject* referents_method(PyObject* self, PyObject* number) {
  return guarded([&] { return list_of(graph_of(self).references.of(parse_node(self, number))).release(); });
}

PyObject* referrers_method(PyObject* self, PyObject* number) {
  return guarded([&] {
    const NodeId node = parse_node(self, number);
    graph_of(self).build_referrers();
    return list_of(graph_of(self).referrers.of(node)).release();
  });
}

PyObject* path_method(PyObject* self, PyObject* number) {
  return guarded([&] {
    const NodeId node = parse_node(self, number);
    return list_of(frozen_of(self).need_paths().path_to(node)).release();
  });
}

PyObject* cycle_method(PyObject* self, PyObject* number) {
  return guarded([&] { return list_of(shortest_cycle(graph_of(self), parse_node(self, number))).release(); });
}

// census() -> [(type name, kind, count, bytes)], by row of the type table; with the atoms that only they hold
PyObject* census_method(PyObject* self, PyObject*) {
  return guarded([&] {
    const Graph& graph = graph_of(self);
    std::vector<uint64_t> counts(graph.type_rows.size()), bytes(graph.type_rows.size());
    for (size_t node = 0; node < graph.size(); ++node) {
      counts[graph.types[node]] += 1;
      if (!graph.sizes.empty()) bytes[graph.types[node]] += graph.size_with_atoms(static_cast<NodeId>(node));
    }
    Ref list = checked(PyList_New(0));
    for (size_t row = 0; row < counts.size(); ++row) {
      if (counts[row] == 0) continue;
      const TypeRow& type = graph.type_rows[row];
      const Ref name = text(type.name);
      const Ref item =
          checked(Py_BuildValue("OsKK", name.get(), kind_name(type.kind), static_cast<unsigned long long>(counts[row]),
                                static_cast<unsigned long long>(bytes[row])));
      checked_status(PyList_Append(list.get(), item.get()));
    }
    return list.release();
  });
}

// large_bytes(least) -> the bytes of all Python objects of at least so many
PyObject* large_bytes_method(PyObject* self, PyObject* least) {
  return guarded([&] {
    const size_t limit = PyLong_AsSize_t(least);
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    const Graph& graph = graph_of(self);
    uint64_t sum = 0;
    for (size_t node = 0; !graph.sizes.empty() && node < graph.size(); ++node) {
      const uint64_t bytes = graph.size_of(static_cast<NodeId>(node));
      if (bytes >= limit && graph.type_rows[graph.types[node]].kind == NodeKind::python) sum += bytes;
    }
    return checked(PyLong_FromUnsignedLongLong(sum)).release();
  });
}

// components() -> [(size, [node, ...]), ...]: cyclic components, largest first, each cut at `limit` nodes
PyObject* components_method(PyObject* self, PyObject* limit) {
  return guarded([&] {
    const size_t most = PyLong_AsSize_t(limit);
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    const Components parts = find_components(graph_of(self).references);
    std::vector<std::vector<NodeId>> samples(parts.sizes.size());
    for (size_t node = 0; node < parts.of_node.size(); ++node) {
      const uint32_t part = parts.of_node[node];
      if (part != Components::none && samples[part].size() < most) samples[part].push_back(static_cast<NodeId>(node));
    }
    std::vector<uint32_t> order(parts.sizes.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint32_t>(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return parts.sizes[a] > parts.sizes[b]; });
    Ref list = checked(PyList_New(0));
    for (uint32_t part : order) {
      const Ref nodes = list_of(samples[part]);
      const Ref item = checked(Py_BuildValue("kO", static_cast<unsigned long>(parts.sizes[part]), nodes.get()));
      checked_status(PyList_Append(list.get(), item.get()));
    }
    return list.release();
  });
}

PyObject* retained_method(PyObject* self, PyObject* number) {
  return guarded([&] {
    const NodeId node = parse_node(self, number);
    return PyLong_FromUnsignedLongLong(frozen_of(self).need_dominators().retained[node]);
  });
}

PyObject* dominator_method(PyObject* self, PyObject* number) {
  return guarded([&]() -> PyObject* {
    const NodeId node = parse_node(self, number);
    const NodeId above = frozen_of(self).need_dominators().parents[node];
    return above != no_node ? PyLong_FromUnsignedLong(above) : Py_NewRef(Py_None);
  });
}

// --- attributes
// --------------------------------------------------------------------------------------------------------

PyObject* get_node_count(PyObject* self, void*) { return PyLong_FromSize_t(graph_of(self).size()); }
PyObject* get_edge_count(PyObject* self, void*) { return PyLong_FromSize_t(graph_of(self).references.targets.size()); }
PyObject* get_tracked_count(PyObject* self, void*) {
  return PyLong_FromSize_t(graph_of(self).tracked_end - graph_of(self).tracked_begin);
}
PyObject* get_bytes(PyObject* self, void*) { return PyLong_FromSize_t(frozen_of(self).bytes()); }
PyObject* get_notes(PyObject* self, void*) {
  const std::string& notes = frozen_of(self).notes;
  return PyUnicode_DecodeUTF8(notes.data(), static_cast<Py_ssize_t>(notes.size()), "replace");
}
PyObject* get_has_labels(PyObject* self, void*) { return PyBool_FromLong(frozen_of(self).words != nullptr ? 1 : 0); }
PyObject* get_is_partial(PyObject* self, void*) { return PyBool_FromLong(graph_of(self).is_partial ? 1 : 0); }
PyObject* get_limits(PyObject* self, void*) {
  return guarded([&] {
    Ref list = checked(PyList_New(0));
    for (const std::string& limit : frozen_of(self).limits) {
      const Ref text = checked(PyUnicode_FromStringAndSize(limit.data(), static_cast<Py_ssize_t>(limit.size())));
      checked_status(PyList_Append(list.get(), text.get()));
    }
    return list.release();
  });
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  delete reinterpret_cast<GraphObject*>(self)->frozen;
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef methods[] = {{"find", find_method, METH_O, nullptr},
                         {"find_all", find_all_method, METH_O, nullptr},
                         {"describe", describe_method, METH_O, nullptr},
                         {"borrowed", borrowed_method, METH_O, nullptr},
                         {"sequence_number", sequence_number_method, METH_O, nullptr},
                         {"birth", birth_method, METH_O, nullptr},
                         {"large_bytes", large_bytes_method, METH_O, nullptr},
                         {"length", length_method, METH_O, nullptr},
                         {"unset", unset_method, METH_O, nullptr},
                         {"atom_bytes", atom_bytes_method, METH_O, nullptr},
                         {"kind", kind_method, METH_O, nullptr},
                         {"type", type_method, METH_O, nullptr},
                         {"kind_and_type", kind_and_type_method, METH_O, nullptr},
                         {"referents", referents_method, METH_O, nullptr},
                         {"referrers", referrers_method, METH_O, nullptr},
                         {"path", path_method, METH_O, nullptr},
                         {"cycle", cycle_method, METH_O, nullptr},
                         {"census", census_method, METH_NOARGS, nullptr},
                         {"components", components_method, METH_O, nullptr},
                         {"retained", retained_method, METH_O, nullptr},
                         {"dominator", dominator_method, METH_O, nullptr},
                         {"dominated", dominated_method, METH_VARARGS, nullptr},
                         {"search", search_method, METH_VARARGS, nullptr},
                         {"explain", explain_method, METH_O, nullptr},
                         {"cycle_references", cycle_references_method, METH_O, nullptr},
                         {"path_references", path_references_method, METH_O, nullptr},
                         {"path_references_along", path_references_along_method, METH_O, nullptr},
                         {"references_along", references_along_method, METH_O, nullptr},
                         {"largest", largest_method, METH_O, nullptr},
                         {"of_type", of_type_method, METH_O, nullptr},
                         {"nodes", nodes_method, METH_VARARGS, nullptr},
                         {"holders", holders_method, METH_O, nullptr},
                         {"cyclic_parts", cyclic_parts_method, METH_NOARGS, nullptr},
                         {"shares", shares_method, METH_VARARGS, nullptr},
                         {"write", write_method, METH_VARARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyGetSetDef attributes[] = {{"node_count", get_node_count, nullptr, nullptr, nullptr},
                            {"edge_count", get_edge_count, nullptr, nullptr, nullptr},
                            {"tracked_count", get_tracked_count, nullptr, nullptr, nullptr},
                            {"borrowed_bytes", get_borrowed_bytes, nullptr, nullptr, nullptr},
                            {"nbytes", get_bytes, nullptr, nullptr, nullptr},
                            {"notes", get_notes, nullptr, nullptr, nullptr},
                            {"has_labels", get_has_labels, nullptr, nullptr, nullptr},
                            {"has_births", get_has_births, nullptr, nullptr, nullptr},
                            {"limits", get_limits, nullptr, nullptr, nullptr},
                            {"is_partial", get_is_partial, nullptr, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, attributes},
                       {0, nullptr}};
PyType_Spec spec = {"gradlife._heap.Graph", sizeof(GraphObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};

}  // namespace

FrozenGraph& frozen_of(PyObject* graph) { return *reinterpret_cast<GraphObject*>(graph)->frozen; }

Ref make_graph_type(PyObject* module) { return checked(PyType_FromModuleAndSpec(module, &spec, nullptr)); }

Ref wrap_graph(PyTypeObject* type, std::unique_ptr<FrozenGraph> graph) {
  Ref object = checked(type->tp_alloc(type, 0));
  reinterpret_cast<GraphObject*>(object.get())->frozen = graph.release();
  return object;
}

}  // namespace gradlife::heap
