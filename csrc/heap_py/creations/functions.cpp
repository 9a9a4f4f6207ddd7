#include "heap_py/creations/functions.hpp"

#include <algorithm>
#include <memory>

#include "heap_py/creations/packing.hpp"
#include "heap_py/creations/recorder.hpp"
#include "heap_py/interpreter/exception_border.hpp"
#include "heap_py/interpreter/interpreter.h"

namespace gradlife::heap {
namespace {

// One per process, like Python's allocator. A recorder that another hook covers stays in place, idle, when it ends.
// Never destroyed: what Python allocates while the process ends still goes through the hook.
std::unique_ptr<CreationRecorder>& recorder = *new std::unique_ptr<CreationRecorder>;

// Blocks of types with items, such as generators' frames, vary in size; those larger by up to this are noted, too.
constexpr size_t max_items_bytes = 1024;

PyTypeObject* as_type(PyObject* object) {
  if (PyType_Check(object)) return reinterpret_cast<PyTypeObject*>(object);
  PyErr_SetString(PyExc_TypeError, "a type is wanted");
  throw PythonErrorSet();
}

TensorWatch read_watch(PyObject* given) {
  TensorWatch watch;
  if (given == Py_None) return watch;
  PyObject *types, *peek;
  Py_ssize_t offset;
  if (PyArg_ParseTuple(given, "O!nO", &PyTuple_Type, &types, &offset, &peek) == 0) throw PythonErrorSet();
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types); ++i) {
    PyTypeObject* type = as_type(PyTuple_GET_ITEM(types, i));
    if (i == 0) watch.bytes_before = gl_bytes_before(type);
    if (gl_bytes_before(type) == watch.bytes_before) watch.types.push_back(type);
  }
  watch.sequence_in_node = static_cast<size_t>(offset);
  void* function = PyLong_AsVoidPtr(peek);
  if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
  watch.next_sequence = reinterpret_cast<uint64_t (*)()>(function);
  return watch;
}

void want(PyTypeObject* type) {
  const size_t most = gl_block_bytes(type) + (type->tp_itemsize != 0 ? max_items_bytes : 0);
  for (size_t size = gl_least_block_bytes(type); size <= most; size += sizeof(void*)) recorder->want(size);
}

CreationRecorder& running() {
  if (recorder) return *recorder;
  PyErr_SetString(PyExc_RuntimeError, "nothing is recorded");
  throw PythonErrorSet();
}

}  // namespace

PyObject* start_recording(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *runners, *skipped, *foreign, *tensors;
    if (PyArg_ParseTuple(arguments, "O!O!O!O", &PyTuple_Type, &runners, &PyTuple_Type, &skipped, &PyTuple_Type,
                         &foreign, &tensors) == 0)
      throw PythonErrorSet();
    if (recorder || gl_has_other_interpreters() != 0) {
      PyErr_SetString(PyExc_RuntimeError, recorder ? "creations are recorded already" : "there are other interpreters");
      throw PythonErrorSet();
    }
    recorder = std::make_unique<CreationRecorder>(CallSites(texts(runners), texts(skipped), texts(foreign)),
                                                  read_watch(tensors));
    recorder->start();
    return Py_NewRef(Py_None);
  });
}

PyObject* want_type(PyObject*, PyObject* type) {
  return guarded([&] {
    running();
    want(as_type(type));
    return Py_NewRef(Py_None);
  });
}

PyObject* recorded(PyObject*, PyObject*) {
  return guarded([] {
    CreationRecorder& of = running();
    of.settle();
    // Copied first, because what Python allocates from here on is noted, too.
    std::vector<std::pair<uint64_t, uint32_t>> blocks;
    of.blocks().visit([&](uintptr_t address, uint32_t site) { blocks.emplace_back(address, site); });
    std::sort(blocks.begin(), blocks.end());
    std::vector<uint64_t> addresses, nodes;
    std::vector<uint32_t> sites;
    for (const auto& [address, site] : blocks) {
      addresses.push_back(address);
      sites.push_back(site);
    }
    of.nodes().visit([&](uintptr_t address, const NodeNote& note) {
      nodes.insert(nodes.end(), {address, note.sequence, note.site});
    });
    const CallSites known = of.sites();
    const Ref address_bytes = packed(addresses), site_bytes = packed(sites), node_bytes = packed(nodes);
    const Ref stacks = stack_list(known);
    return checked(PyTuple_Pack(4, address_bytes.get(), site_bytes.get(), node_bytes.get(), stacks.get())).release();
  });
}

PyObject* living_nodes(PyObject*, PyObject* first) {
  return guarded([&] {
    CreationRecorder& of = running();
    const uint64_t from = PyLong_AsUnsignedLongLong(first);
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    const std::vector<uintptr_t> found = of.living_nodes(from);
    const uint64_t next = of.next_node();
    const Ref list = checked(PyList_New(0));
    for (const uintptr_t address : found)
      checked_status(PyList_Append(list.get(), checked(PyLong_FromUnsignedLongLong(address)).get()));
    return checked(Py_BuildValue("KO", static_cast<unsigned long long>(next), list.get())).release();
  });
}

PyObject* rest_recording(PyObject*, PyObject*) {
  if (recorder) recorder->rest();
  return Py_NewRef(Py_None);
}

PyObject* resume_recording(PyObject*, PyObject* frames) {
  return guarded([&] {
    Py_ssize_t count = PyLong_AsSsize_t(frames);
    if (count == -1 && PyErr_Occurred() != nullptr) throw PythonErrorSet();
    PyCodeObject* code;
    int instruction;
    void* frame = gl_newest_frame(gl_current_thread());
    for (; frame != nullptr; frame = gl_older_frame(frame))
      if (gl_frame_place(frame, &code, &instruction) != 0 && --count < 0) break;
    running().resume(frame);
    return Py_NewRef(Py_None);
  });
}

PyObject* stop_recording(PyObject*, PyObject*) {
  if (recorder && !recorder->stop()) static_cast<void>(recorder.release());
  recorder.reset();
  return Py_NewRef(Py_None);
}

PyObject* bytes_before(PyObject*, PyObject* type) {
  return guarded([&] { return PyLong_FromSize_t(gl_bytes_before(as_type(type))); });
}

}  // namespace gradlife::heap
