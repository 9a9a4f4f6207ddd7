// The extension module gradlife._heap. It works in a process that never loads the engine or PyTorch.
#include <algorithm>
#include <memory>

#include "heap_py/border.hpp"
#include "heap_py/graph_reports.hpp"
#include "heap_py/graph_type.hpp"
#include "heap_py/investigation.hpp"
#include "heap_py/measure.hpp"
#include "heap_py/naming.hpp"
#include "heap_py/providers.hpp"
#include "heap_py/search_function.hpp"
#include "heap_py/torch_layout.hpp"
#include "heap_py/walker.hpp"
#include "heapgraph/file_reader.hpp"

namespace gradlife::heap {
namespace {

struct ModuleState {
  PyTypeObject* graph_type;
};

ModuleState& state_of(PyObject* module) { return *static_cast<ModuleState*>(PyModule_GetState(module)); }

WalkOptions read_options(PyObject* hidden_sources, PyObject* hidden, bool with_leaves) {
  WalkOptions options;
  options.with_leaves = with_leaves;
  if (hidden_sources != nullptr && hidden_sources != Py_None) {
    const char* folder = PyUnicode_AsUTF8(hidden_sources);
    if (folder == nullptr) throw PythonErrorSet();
    options.hidden_sources = folder;
  }
  for (Py_ssize_t i = 0; hidden != nullptr && i < PyTuple_GET_SIZE(hidden); ++i)
    options.hidden_objects.push_back(PyTuple_GET_ITEM(hidden, i));
  return options;
}

// walk(*, leaves=True, sizes=False, hidden_sources=None, hidden=()) -> Graph
PyObject* walk_function(PyObject* module, PyObject* arguments, PyObject* keywords) {
  return guarded([&] {
    static const char* names[] = {"leaves", "sizes", "hidden_sources", "hidden", nullptr};
    int leaves = 1, sizes = 0;
    PyObject *hidden_sources = nullptr, *hidden = nullptr;
    if (PyArg_ParseTupleAndKeywords(arguments, keywords, "|$ppOO!", const_cast<char**>(names), &leaves, &sizes,
                                    &hidden_sources, &PyTuple_Type, &hidden) == 0)
      throw PythonErrorSet();
    WalkOptions options = read_options(hidden_sources, hidden, leaves != 0);
    if (keywords != nullptr) options.hidden_objects.push_back(keywords);
    if (hidden != nullptr && PyTuple_GET_SIZE(hidden) > 0)  // the empty tuple is everybody's
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

// investigate(target, sizes, hidden_sources, hidden, scan) -> (Graph, findings or None)
PyObject* investigate_function(PyObject* module, PyObject* const* arguments, Py_ssize_t count) {
  return guarded([&] {
    if (count != 5 || !PyTuple_Check(arguments[3])) {
      PyErr_SetString(PyExc_TypeError,
                      "investigate() takes a target, sizes, hidden_sources, a tuple of hidden objects and scan");
      throw PythonErrorSet();
    }
    WalkOptions options = read_options(arguments[2], arguments[3], true);
    if (PyTuple_GET_SIZE(arguments[3]) > 0) options.hidden_objects.push_back(arguments[3]);
    const int with_sizes = PyObject_IsTrue(arguments[1]), with_scan = PyObject_IsTrue(arguments[4]);
    checked_status(with_sizes);
    checked_status(with_scan);
    Investigation result = investigate(arguments[0], options, with_sizes != 0, with_scan != 0);
    const Ref graph = wrap_graph(state_of(module).graph_type, std::move(result.frozen));
    return checked(PyTuple_Pack(2, graph.get(), result.findings.get())).release();
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

// freeze(labels, user_text, hidden_sources) -> Graph with sizes, reference counts, and labels
PyObject* freeze_function(PyObject* module, PyObject* arguments) {
  return guarded([&] {
    int with_labels = 1, with_user_text = 0;
    PyObject* hidden_sources = nullptr;
    if (PyArg_ParseTuple(arguments, "ppO", &with_labels, &with_user_text, &hidden_sources) == 0) throw PythonErrorSet();
    WalkOptions options = read_options(hidden_sources, nullptr, true);
    options.hidden_objects.push_back(arguments);
    auto frozen = std::make_unique<FrozenGraph>();
    {
      const CollectorPaused paused;
      const Providers providers;
      Walker(frozen->graph, options, providers.all()).run();
      measure_sizes(frozen->graph, providers.all());
      frozen->counts = uneven_counts(*frozen);
      if (with_labels != 0)
        frozen->words = std::make_unique<Words>(name_everything(*frozen, providers.all(), with_user_text != 0));
      frozen->limits = providers.limits();
    }
    return wrap_graph(state_of(module).graph_type, std::move(frozen)).release();
  });
}

// open_graph(descriptor) -> Graph; ValueError: what is wrong with the file
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

// compare_objects(before, after, examples); compare_paths(before, after)
PyObject* compare_objects_function(PyObject* module, PyObject* arguments) {
  return guarded([&] {
    PyTypeObject* type = state_of(module).graph_type;
    PyObject *before = nullptr, *after = nullptr;
    Py_ssize_t examples = 0;
    if (PyArg_ParseTuple(arguments, "O!O!n", type, &before, type, &after, &examples) == 0) throw PythonErrorSet();
    return compare_objects_of(before, after, static_cast<size_t>(std::max<Py_ssize_t>(examples, 0)));
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
    {"scan", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(scan_function)), METH_FASTCALL, nullptr},
    {"freeze", freeze_function, METH_VARARGS, nullptr},
    {"open_graph", open_function, METH_O, nullptr},
    {"compare_objects", compare_objects_function, METH_VARARGS, nullptr},
    {"compare_paths", compare_paths_function, METH_VARARGS, nullptr},
    {"_search_memory", search_memory, METH_O, nullptr},
    {"_set_torch_layout", set_torch_layout, METH_O, nullptr},
    {"_find_word", find_word, METH_VARARGS, nullptr},
    {"_class_at", class_at, METH_O, nullptr},
    {"_read_word", read_word, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

int execute(PyObject* module) {
  try {
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
  Py_VISIT(state_of(module).graph_type);
  return 0;
}

int clear(PyObject* module) {
  Py_CLEAR(state_of(module).graph_type);
  return 0;
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)}, {0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "gradlife._heap", nullptr, sizeof(ModuleState), functions, slots, traverse, clear, nullptr};

}  // namespace
}  // namespace gradlife::heap

PyMODINIT_FUNC PyInit__heap() { return PyModuleDef_Init(&gradlife::heap::definition); }
