// The extension module gradlife._heap. It works in processes that never load the engine or PyTorch.
#include <algorithm>
#include <memory>

#include "base/build_info.hpp"
#include "base/collector_paused.hpp"
#include "heap_py/api/census.hpp"
#include "heap_py/api/census_function.hpp"
#include "heap_py/api/graph_reports.hpp"
#include "heap_py/api/graph_type.hpp"
#include "heap_py/api/investigation.hpp"
#include "heap_py/api/module_state.hpp"
#include "heap_py/api/naming.hpp"
#include "heap_py/api/search_function.hpp"
#include "heap_py/creations/functions.hpp"
#include "heap_py/interpreter/call_counter.hpp"
#include "heap_py/interpreter/exception_border.hpp"
#include "heap_py/interpreter/exit_call.hpp"
#include "heap_py/interpreter/forked_copy.hpp"
#include "heap_py/interpreter/interpreter.h"
#include "heap_py/interpreter/module_names.hpp"
#include "heap_py/interpreter/outermost_calls.hpp"
#include "heap_py/interpreter/silent_fork.hpp"
#include "heap_py/interpreter/termination.hpp"
#include "heap_py/interpreter/unheard_call.hpp"
#include "heap_py/lifetimes/functions.hpp"
#include "heap_py/memory/library_list.hpp"
#include "heap_py/memory/malloc_usage.hpp"
#include "heap_py/providers/provider_list.hpp"
#include "heap_py/providers/torch/layout.hpp"
#include "heap_py/walk/measure.hpp"
#include "heap_py/walk/walker.hpp"
#include "heapgraph/file/pickle_check.hpp"
#include "heapgraph/file/reader.hpp"
#include "heapgraph/file/writer.hpp"
#include "heapgraph/frozen/birth_dates.hpp"
#include "heapgraph/frozen/longer_containers.hpp"
#include "heapgraph/frozen/recent_nodes.hpp"

namespace gradlife::heap {
namespace {

size_t positive(Py_ssize_t number) { return static_cast<size_t>(std::max<Py_ssize_t>(number, 0)); }

WalkOptions read_options(PyObject* hidden_sources, PyObject* hidden, bool with_leaves) {
  WalkOptions options;
  options.with_leaves = with_leaves;
  if (hidden_sources != nullptr && hidden_sources != Py_None) {
    if (!PyUnicode_Check(hidden_sources)) {
      PyErr_SetString(PyExc_TypeError, "hidden_sources is a str or None");
      throw PythonErrorSet();
    }
    std::string room;
    options.hidden_sources = file_text(hidden_sources, room);
  }
  for (Py_ssize_t i = 0; hidden != nullptr && i < PyTuple_GET_SIZE(hidden); ++i)
    options.hidden_objects.push_back(PyTuple_GET_ITEM(hidden, i));
  return options;
}

// walk(*, leaves=True, sizes=False, hidden_sources=None, hidden=(), min_atom_bytes=0) -> Graph
PyObject* walk_function(PyObject* module, PyObject* arguments, PyObject* keywords) {
  return guarded([&] {
    static const char* names[] = {"leaves", "sizes", "hidden_sources", "hidden", "min_atom_bytes", nullptr};
    int leaves = 1, sizes = 0;
    Py_ssize_t min_atom_bytes = 0;
    PyObject *hidden_sources = nullptr, *hidden = nullptr;
    if (PyArg_ParseTupleAndKeywords(arguments, keywords, "|$ppOO!n", const_cast<char**>(names), &leaves, &sizes,
                                    &hidden_sources, &PyTuple_Type, &hidden, &min_atom_bytes) == 0)
      throw PythonErrorSet();
    WalkOptions options = read_options(hidden_sources, hidden, leaves != 0);
    options.births = state_of(module).births;
    options.min_atom_bytes = positive(min_atom_bytes);
    if (keywords != nullptr) options.hidden_objects.push_back(keywords);
    if (hidden != nullptr && PyTuple_GET_SIZE(hidden) > 0)  // the empty tuple is shared by all
      options.hidden_objects.push_back(hidden);
    auto frozen = std::make_unique<FrozenGraph>();
    {
      const CollectorPaused paused;
      const Providers providers;
      Walker(frozen->graph, options, providers.all()).run();
      if (sizes != 0) measure_sizes(frozen->graph, providers.all());
      frozen->limits = providers.limits();
    }
    return wrap_graph(state_of(module).graph_type, std::move(frozen)).release();
  });
}

// investigate(target, sizes, hidden_sources, hidden, scan, budget) -> (Graph, findings or None)
PyObject* investigate_function(PyObject* module, PyObject* const* arguments, Py_ssize_t count) {
  return guarded([&] {
    if (count != 6 || !PyTuple_Check(arguments[3])) {
      PyErr_SetString(
          PyExc_TypeError,
          "investigate() takes a target, sizes, hidden_sources, a tuple of hidden objects, scan and budget");
      throw PythonErrorSet();
    }
    WalkOptions options = read_options(arguments[2], arguments[3], true);
    if (PyTuple_GET_SIZE(arguments[3]) > 0) options.hidden_objects.push_back(arguments[3]);
    const int with_sizes = PyObject_IsTrue(arguments[1]), with_scan = PyObject_IsTrue(arguments[4]);
    checked_status(with_sizes);
    checked_status(with_scan);
    options.budget = PyLong_AsSize_t(arguments[5]);
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    Investigation result = investigate(state_of(module).values, arguments[0], options, with_sizes != 0, with_scan != 0);
    const Ref graph = wrap_graph(state_of(module).graph_type, std::move(result.frozen));
    return checked(PyTuple_Pack(2, graph.get(), result.findings.get())).release();
  });
}

// judge([address, ...], hidden_sources) -> [(lifetime, path) or None, ...]: for objects that are alive
PyObject* judge_function(PyObject* module, PyObject* const* arguments, Py_ssize_t count) {
  return guarded([&] {
    if (count != 2 || !PyList_Check(arguments[0])) {
      PyErr_SetString(PyExc_TypeError, "judge() takes a list of addresses, and hidden_sources");
      throw PythonErrorSet();
    }
    WalkOptions options = read_options(arguments[1], nullptr, true);
    options.hidden_objects.push_back(arguments[0]);
    return judge(state_of(module).values, arguments[0], options).release();
  });
}

// scan([object, ...], hidden_sources) -> [(references, known referrers, holders), ...]
PyObject* scan_function(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  return guarded([&] {
    if (count != 2 || !PyList_Check(arguments[0]) || PyList_GET_SIZE(arguments[0]) > 1000) {
      PyErr_SetString(PyExc_TypeError, "scan() takes a list of up to 1,000 objects, and hidden_sources");
      throw PythonErrorSet();
    }
    return scan(arguments[0], read_options(arguments[1], nullptr, true)).release();
  });
}

// scan_natives([address, ...], hidden_sources) -> [holders, ...]
PyObject* scan_natives_function(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  return guarded([&] {
    if (count != 2 || !PyList_Check(arguments[0]) || PyList_GET_SIZE(arguments[0]) > 1000) {
      PyErr_SetString(PyExc_TypeError, "scan_natives() takes a list of up to 1,000 addresses, and hidden_sources");
      throw PythonErrorSet();
    }
    return scan_natives(arguments[0], read_options(arguments[1], nullptr, true)).release();
  });
}

// Names all nodes; if there is an earlier graph of this process, only those that a report on what is new can name.
Words name_nodes(FrozenGraph& frozen, const Providers& providers, bool with_user_text, const FrozenGraph* earlier) {
  if (earlier == nullptr) return name_everything(frozen, providers.all(), with_user_text);
  const NodeSet wanted = recent_nodes(frozen, earlier->graph);
  return name_everything(frozen, providers.all(), with_user_text, &wanted);
}

// Freezes the heap with sizes, and with labels and reference counts if requested.
std::unique_ptr<FrozenGraph> freeze_heap(const WalkOptions& options, bool with_labels, bool with_user_text,
                                         bool with_counts, const FrozenGraph* earlier = nullptr) {
  auto frozen = std::make_unique<FrozenGraph>();
  const CollectorPaused paused;
  const Providers providers;
  const bool is_whole = walk_heap(frozen->graph, options, providers.all());
  measure_sizes(frozen->graph, providers.all());
  if (with_labels) frozen->words = std::make_unique<Words>(name_nodes(*frozen, providers, with_user_text, earlier));
  if (is_whole && with_counts) frozen->counts = uneven_counts(*frozen, providers.all());
  frozen->limits = providers.limits();
  if (!is_whole) frozen->limits.push_back(budget_limit(options.budget));
  return frozen;
}

// Adds frames of ended calls, which own their variables. A frame that still runs is a root anyway.
void add_ended_frames(WalkOptions& options, PyObject* frames) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(frames); ++i) {
    if (!PyFrame_Check(PyTuple_GET_ITEM(frames, i))) {
      PyErr_SetString(PyExc_TypeError, "frames is a tuple of frames");
      throw PythonErrorSet();
    }
    if (gl_has_ended(PyTuple_GET_ITEM(frames, i)) != 0) options.frames.push_back(PyTuple_GET_ITEM(frames, i));
  }
  if (PyTuple_GET_SIZE(frames) > 0) options.hidden_objects.push_back(frames);  // the empty tuple is shared by all
}

// freeze(labels, user_text, hidden_sources, budget=0, min_atom_bytes=0, natives=False, frames=()) -> Graph with sizes,
// reference counts, and labels
PyObject* freeze_function(PyObject* module, PyObject* arguments) {
  return guarded([&] {
    int with_labels = 1, with_user_text = 0;
    PyObject* hidden_sources = nullptr;
    Py_ssize_t budget = 0, min_atom_bytes = 0;
    int with_natives = 0;
    PyObject* frames = nullptr;
    if (PyArg_ParseTuple(arguments, "ppO|nnpO!", &with_labels, &with_user_text, &hidden_sources, &budget,
                         &min_atom_bytes, &with_natives, &PyTuple_Type, &frames) == 0)
      throw PythonErrorSet();
    WalkOptions options = read_options(hidden_sources, nullptr, true);
    options.budget = positive(budget);
    options.min_atom_bytes = positive(min_atom_bytes);
    options.births = state_of(module).births;
    options.with_natives = with_natives != 0;
    options.hidden_objects.push_back(arguments);
    if (frames != nullptr) add_ended_frames(options, frames);
    auto frozen = freeze_heap(options, with_labels != 0, with_user_text != 0, true);
    return wrap_graph(state_of(module).graph_type, std::move(frozen)).release();
  });
}

// Starts the copy of the process that writes the heap to a file, with the limits as its notes. If births are noted, a
// mark is placed: no object is made between it and the copy.
pid_t start_recording_copy(PyObject* module, PyObject* arguments) {
  int descriptor = -1, with_labels = 0, niceness = 0, earlier = -1;
  PyObject* hidden_sources = nullptr;
  Py_ssize_t min_atom_bytes = 0;
  if (PyArg_ParseTuple(arguments, "ipO|nii", &descriptor, &with_labels, &hidden_sources, &min_atom_bytes, &niceness,
                       &earlier) == 0)
    throw PythonErrorSet();
  WalkOptions options = read_options(hidden_sources, nullptr, true);
  options.min_atom_bytes = positive(min_atom_bytes);
  options.hidden_objects.push_back(arguments);
  options.births = state_of(module).births;
  const auto write = [&] {
    LibraryList::keep();
    const auto known = earlier >= 0 ? read_graph(earlier) : nullptr;
    const auto frozen = freeze_heap(options, with_labels != 0, with_labels != 0, with_labels != 0, known.get());
    std::string notes;
    for (const std::string& limit : frozen->limits) notes += limit + "\n";
    write_graph(descriptor, *frozen, notes, with_labels != 0);
  };
  LibraryList::current();
  const pid_t copy = start_copy(write, niceness);
  state_of(module).births->place();
  return copy;
}

// record(descriptor, labels, hidden_sources, min_atom_bytes=0, niceness=0, earlier=-1): returns when the file is
// written
PyObject* record_function(PyObject* module, PyObject* arguments) {
  return guarded([&] {
    wait_for_copy(start_recording_copy(module, arguments));
    return Py_NewRef(Py_None);
  });
}

// start_record(descriptor, labels, hidden_sources, min_atom_bytes=0, niceness=0, earlier=-1) -> id of the process that
// writes the file
PyObject* start_record_function(PyObject* module, PyObject* arguments) {
  return guarded([&] { return PyLong_FromLong(start_recording_copy(module, arguments)); });
}

// note_libraries(): call it before a fork, and keep_libraries in the copy: it must not wait for the loader's lock
PyObject* note_libraries(PyObject*, PyObject*) {
  return guarded([] {
    LibraryList::current();
    return Py_NewRef(Py_None);
  });
}

PyObject* keep_libraries(PyObject*, PyObject*) {
  LibraryList::keep();
  return Py_NewRef(Py_None);
}

// raise_long_lived(least) -> the number of objects that survived the last full collection, before it is raised
PyObject* raise_long_lived(PyObject*, PyObject* number) {
  const Py_ssize_t least = PyLong_AsSsize_t(number);
  if (least == -1 && PyErr_Occurred() != nullptr) return nullptr;
  return PyLong_FromSsize_t(gl_raise_long_lived(least));
}

// begin_births(): from here on, marks show when tracked objects were born; end_births() is called as often
PyObject* begin_births(PyObject* module, PyObject*) {
  return guarded([&] {
    const Ref callback = checked(PyObject_GetAttrString(module, "restore_births"));
    state_of(module).births->begin(callback.get());
    return Py_NewRef(Py_None);
  });
}

PyObject* end_births(PyObject* module, PyObject*) {
  state_of(module).births->end();
  return Py_NewRef(Py_None);
}

// mark_births(): objects born from here on stand behind a mark; `record` places one by itself
PyObject* mark_births(PyObject* module, PyObject*) {
  return guarded([&] {
    state_of(module).births->place();
    return Py_NewRef(Py_None);
  });
}

// restore_births(phase, info): for gc.callbacks
PyObject* restore_births(PyObject* module, PyObject* const*, Py_ssize_t) {
  return guarded([&] {
    state_of(module).births->restore();
    return Py_NewRef(Py_None);
  });
}

// unfreeze_old(): as gc.unfreeze(), for objects that were frozen before the first mark
PyObject* unfreeze_old(PyObject* module, PyObject*) {
  state_of(module).births->unfreeze();
  return Py_NewRef(Py_None);
}

// date_by_holders(graph, {node: round}) -> the same with the objects that only later ones hold
PyObject* date_births(PyObject* module, PyObject* arguments) {
  return guarded([&] {
    PyObject *object = nullptr, *born = nullptr;
    if (PyArg_ParseTuple(arguments, "O!O!", state_of(module).graph_type, &object, &PyDict_Type, &born) == 0)
      throw PythonErrorSet();
    Graph& graph = frozen_of(object).graph;
    Buffer<int32_t> rounds(graph.size(), before_all_rounds);
    Py_ssize_t at = 0;
    PyObject *key = nullptr, *value = nullptr;
    while (PyDict_Next(born, &at, &key, &value) != 0) {
      const unsigned long node = PyLong_AsUnsignedLong(key);
      const long round = PyLong_AsLong(value);
      if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
      if (node >= graph.size()) throw std::out_of_range("no such node in this graph");
      rounds[node] = static_cast<int32_t>(round);
    }
    date_by_holders(graph, rounds);
    Ref dates = checked(PyDict_New());
    for (size_t i = 0; i < rounds.size(); ++i) {
      if (rounds[i] == before_all_rounds) continue;
      const Ref node = checked(PyLong_FromSize_t(i)), round = checked(PyLong_FromLong(rounds[i]));
      checked_status(PyDict_SetItem(dates.get(), node.get(), round.get()));
    }
    return dates.release();
  });
}

Ref numbers_list(const std::vector<uint64_t>& numbers) {
  Ref list = checked(PyList_New(0));
  for (uint64_t number : numbers) {
    const Ref item = checked(PyLong_FromUnsignedLongLong(number));
    checked_status(PyList_Append(list.get(), item.get()));
  }
  return list;
}

// longer_containers([graph, ...]) -> [(node, lengths, bytes), ...]: those that are longer in each graph than in the one
// before; nodes of the last
PyObject* longer_containers_function(PyObject* module, PyObject* graphs) {
  return guarded([&] {
    std::vector<const Graph*> rows;
    const bool is_list = PyList_Check(graphs);
    for (Py_ssize_t i = 0; is_list && i < PyList_GET_SIZE(graphs); ++i) {
      PyObject* graph = PyList_GET_ITEM(graphs, i);
      if (PyObject_TypeCheck(graph, state_of(module).graph_type)) rows.push_back(&frozen_of(graph).graph);
    }
    if (!is_list || rows.size() != static_cast<size_t>(PyList_GET_SIZE(graphs))) {
      PyErr_SetString(PyExc_TypeError, "longer_containers() takes a list of graphs");
      throw PythonErrorSet();
    }
    for (const Graph* graph : rows)
      if (graph->sizes.empty()) throw std::invalid_argument("longer_containers() needs graphs with sizes");
    Ref list = checked(PyList_New(0));
    for (const LongerContainer& row : longer_containers(rows)) {
      const Ref lengths = numbers_list(row.lengths), bytes = numbers_list(row.bytes);
      const Ref item = checked(Py_BuildValue("kOO", static_cast<unsigned long>(row.node), lengths.get(), bytes.get()));
      checked_status(PyList_Append(list.get(), item.get()));
    }
    return list.release();
  });
}

// census(before or None, examples, hidden) -> (Graph without references, as compare_objects, {node: description})
PyObject* census_function(PyObject* module, PyObject* arguments) {
  return guarded([&] {
    PyObject *before = nullptr, *hidden = nullptr;
    Py_ssize_t examples = 0;
    if (PyArg_ParseTuple(arguments, "OnO!", &before, &examples, &PyTuple_Type, &hidden) == 0) throw PythonErrorSet();
    if (before != Py_None && !PyObject_TypeCheck(before, state_of(module).graph_type)) {
      PyErr_SetString(PyExc_TypeError, "census() takes an earlier Graph or None");
      throw PythonErrorSet();
    }
    WalkOptions options = read_options(nullptr, hidden, false);
    options.hidden_objects.push_back(arguments);
    options.hidden_objects.push_back(hidden);
    auto frozen = std::make_unique<FrozenGraph>();
    std::vector<TypeChange> changes;
    Details details;
    {
      const CollectorPaused paused;
      take_census(frozen->graph, options);
      if (before != Py_None) changes = compare_objects(frozen_of(before).graph, frozen->graph, positive(examples));
      details = describe_examples(frozen->graph, changes);
    }
    const Ref rows = change_rows(changes), texts = detail_dict(details);
    const Ref graph = wrap_graph(state_of(module).graph_type, std::move(frozen));
    return checked(PyTuple_Pack(3, graph.get(), rows.get(), texts.get())).release();
  });
}

// open_graph(descriptor) -> Graph; ValueError says what is wrong with the file
PyObject* open_function(PyObject* module, PyObject* number) {
  return guarded([&]() -> PyObject* {
    const int descriptor = PyObject_AsFileDescriptor(number);
    checked_status(descriptor);
    try {
      return wrap_graph(state_of(module).graph_type, read_graph(descriptor)).release();
    } catch (const FileError& error) {
      PyErr_SetString(PyExc_ValueError, error.what());
      return nullptr;
    }
  });
}

// check_pickle(data); ValueError says why Python's unpickler must not read it
PyObject* check_pickle_function(PyObject*, PyObject* data) {
  return guarded([&]() -> PyObject* {
    char* bytes = nullptr;
    Py_ssize_t size = 0;
    checked_status(PyBytes_AsStringAndSize(data, &bytes, &size));
    try {
      check_pickle(bytes, static_cast<size_t>(size));
    } catch (const FileError& error) {
      PyErr_SetString(PyExc_ValueError, error.what());
      return nullptr;
    }
    Py_RETURN_NONE;
  });
}

// compare_objects(before, after, examples); compare_paths(before, after)
PyObject* compare_objects_function(PyObject* module, PyObject* arguments) {
  return guarded([&] {
    PyTypeObject* type = state_of(module).graph_type;
    PyObject *before = nullptr, *after = nullptr;
    Py_ssize_t examples = 0;
    if (PyArg_ParseTuple(arguments, "O!O!n", type, &before, type, &after, &examples) == 0) throw PythonErrorSet();
    return change_rows(compare_objects(frozen_of(before).graph, frozen_of(after).graph, positive(examples))).release();
  });
}
PyObject* compare_paths_function(PyObject* module, PyObject* arguments) {
  return guarded([&] {
    PyTypeObject* type = state_of(module).graph_type;
    PyObject *before = nullptr, *after = nullptr;
    if (PyArg_ParseTuple(arguments, "O!O!", type, &before, type, &after) == 0) throw PythonErrorSet();
    return compare_paths_of(before, after);
  });
}

PyMethodDef functions[] = {
    {"walk", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(walk_function)), METH_VARARGS | METH_KEYWORDS,
     nullptr},
    {"investigate", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(investigate_function)), METH_FASTCALL,
     nullptr},
    {"judge", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(judge_function)), METH_FASTCALL, nullptr},
    {"scan", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(scan_function)), METH_FASTCALL, nullptr},
    {"scan_natives", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(scan_natives_function)), METH_FASTCALL,
     nullptr},
    {"freeze", freeze_function, METH_VARARGS, nullptr},
    {"record", record_function, METH_VARARGS, nullptr},
    {"start_record", start_record_function, METH_VARARGS, nullptr},
    {"begin_births", begin_births, METH_NOARGS, nullptr},
    {"end_births", end_births, METH_NOARGS, nullptr},
    {"mark_births", mark_births, METH_NOARGS, nullptr},
    {"restore_births", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(restore_births)), METH_FASTCALL,
     nullptr},
    {"unfreeze_old", unfreeze_old, METH_NOARGS, nullptr},
    {"date_by_holders", date_births, METH_VARARGS, nullptr},
    {"longer_containers", longer_containers_function, METH_O, nullptr},
    {"census", census_function, METH_VARARGS, nullptr},
    {"open_graph", open_function, METH_O, nullptr},
    {"check_pickle", check_pickle_function, METH_O, nullptr},
    {"compare_objects", compare_objects_function, METH_VARARGS, nullptr},
    {"compare_paths", compare_paths_function, METH_VARARGS, nullptr},
    {"end_silently", end_silently, METH_O, nullptr},
    {"fork_silently", fork_silently, METH_NOARGS, nullptr},
    {"raise_long_lived", raise_long_lived, METH_O, nullptr},
    {"malloc_bytes", malloc_bytes, METH_NOARGS, nullptr},
    {"allocator_bytes", allocator_bytes, METH_NOARGS, nullptr},
    {"native_census", native_census, METH_NOARGS, nullptr},
    {"native_counts", native_counts, METH_O, nullptr},
    {"native_objects", native_objects, METH_O, nullptr},
    {"native_blocks", native_blocks, METH_NOARGS, nullptr},
    {"native_since", native_since, METH_O, nullptr},
    {"announce_signals", announce_signals, METH_VARARGS, nullptr},
    {"call_before_exit", call_before_exit, METH_O, nullptr},
    {"count_calls", count_calls, METH_VARARGS, nullptr},
    {"watch_outermost_calls", watch_outermost_calls, METH_VARARGS, nullptr},
    {"unwatch_outermost_calls", unwatch_outermost_calls, METH_NOARGS, nullptr},
    {"counted_calls", counted_calls, METH_NOARGS, nullptr},
    {"set_counted_calls", set_counted_calls, METH_VARARGS, nullptr},
    {"start_recording", start_recording, METH_VARARGS, nullptr},
    {"want_type", want_type, METH_O, nullptr},
    {"recorded", recorded, METH_NOARGS, nullptr},
    {"living_nodes", living_nodes, METH_O, nullptr},
    {"rest_recording", rest_recording, METH_NOARGS, nullptr},
    {"resume_recording", resume_recording, METH_O, nullptr},
    {"stop_recording", stop_recording, METH_NOARGS, nullptr},
    {"bytes_before", bytes_before, METH_O, nullptr},
    {"follow_storages", follow_storages, METH_VARARGS, nullptr},
    {"run_followed", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run_followed)), METH_FASTCALL, nullptr},
    {"set_followed_context", set_followed_context, METH_O, nullptr},
    {"set_followed_alarm", set_followed_alarm, METH_O, nullptr},
    {"followed_operations", followed_operations, METH_NOARGS, nullptr},
    {"followed_bytes", followed_bytes, METH_NOARGS, nullptr},
    {"followed", followed, METH_NOARGS, nullptr},
    {"unfollow_storages", unfollow_storages, METH_NOARGS, nullptr},
    {"_search_memory", search_memory, METH_O, nullptr},
    {"_malloc_cache_key", malloc_cache_key, METH_NOARGS, nullptr},
    {"note_libraries", note_libraries, METH_NOARGS, nullptr},
    {"keep_libraries", keep_libraries, METH_NOARGS, nullptr},
    {"_set_torch_layout", set_torch_layout, METH_O, nullptr},
    {"_try_torch_layout", try_torch_layout, METH_O, nullptr},
    {"_find_word", find_word, METH_VARARGS, nullptr},
    {"_class_at", class_at, METH_O, nullptr},
    {"_read_word", read_word, METH_O, nullptr},
    {"_torch_references", torch_references, METH_O, nullptr},
    {"_torch_description", torch_description, METH_O, nullptr},
    {"_torch_memory", torch_memory, METH_O, nullptr},
    {"_torch_block", torch_block, METH_O, nullptr},
    {"_torch_label", torch_label, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

int execute(PyObject* module) {
  try {
    checked_status(add_build_info(module));
    checked_status(PyModule_AddIntConstant(module, "WAIT_FOR_SILENT", wait_for_silent));
    add_values(module, state_of(module).values);
    state_of(module).births = new BirthMarks(module);
    checked_status(PyModule_AddObjectRef(module, "UnheardCall", make_unheard_call_type(module).get()));
    Ref type = make_graph_type(module);
    checked_status(PyModule_AddObjectRef(module, "Graph", type.get()));
    state_of(module).graph_type = reinterpret_cast<PyTypeObject*>(type.release());
    return 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}

int traverse(PyObject* module, visitproc visit, void* arg) {
  ModuleState& state = state_of(module);
  for (PyTypeObject* type : {state.graph_type, state.values.object, state.values.reference, state.values.uncollectable})
    Py_VISIT(type);
  return state.births != nullptr ? state.births->traverse(visit, arg) : 0;
}

int clear(PyObject* module) {
  ModuleState& state = state_of(module);
  for (PyTypeObject** type :
       {&state.graph_type, &state.values.object, &state.values.reference, &state.values.uncollectable})
    Py_CLEAR(*type);
  delete std::exchange(state.births, nullptr);
  return 0;
}

void free_state(void* module) { clear(static_cast<PyObject*>(module)); }

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)}, {0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "gradlife._heap",
                          nullptr,
                          sizeof(ModuleState),
                          functions,
                          slots,
                          traverse,
                          clear,
                          free_state};

}  // namespace
}  // namespace gradlife::heap

PyMODINIT_FUNC PyInit__heap() { return PyModuleDef_Init(&gradlife::heap::definition); }
