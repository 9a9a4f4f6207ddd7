#include "heap_py/lifetimes/functions.hpp"

#include <memory>

#include "heap_py/creations/packing.hpp"
#include "heap_py/interpreter/exception_border.hpp"
#include "heap_py/lifetimes/lifetime_recorder.hpp"

namespace gradlife::heap {
namespace {

// Never destroyed: when the process ends there may be no Python left to return references to. Shared with an operation
// that runs in one thread while another one ends the recording.
std::shared_ptr<LifetimeRecorder>& recorder = *new std::shared_ptr<LifetimeRecorder>;

LifetimeRecorder& running() {
  if (recorder) return *recorder;
  PyErr_SetString(PyExc_RuntimeError, "no storages are followed");
  throw PythonErrorSet();
}

std::vector<uintptr_t> addresses_of(PyObject* list) {
  std::vector<uintptr_t> found;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    found.push_back(PyLong_AsUnsignedLongLong(PyList_GET_ITEM(list, i)));
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
  }
  return found;
}

uint32_t as_number(PyObject* number) {
  const unsigned long value = PyLong_AsUnsignedLong(number);
  if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
  return static_cast<uint32_t>(value);
}

}  // namespace

PyObject* follow_storages(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *storages, *runners, *skipped, *foreign, *plain, *describe, *written, *on_alarm;
    unsigned long long graph_task;
    if (PyArg_ParseTuple(arguments, "O!O!O!O!O!OOOK", &PyList_Type, &storages, &PyTuple_Type, &runners, &PyTuple_Type,
                         &skipped, &PyTuple_Type, &foreign, &PyType_Type, &plain, &describe, &written, &on_alarm,
                         &graph_task) == 0)
      throw PythonErrorSet();
    if (recorder) {
      PyErr_SetString(PyExc_RuntimeError, "storages are followed already");
      throw PythonErrorSet();
    }
    const std::vector<uintptr_t> before = addresses_of(storages);
    recorder = std::make_shared<LifetimeRecorder>(
        CallSites(texts(runners), texts(skipped), texts(foreign), CallSites::max_frames, CallSites::Detail::columns),
        LifetimeCallbacks{Ref::borrow(plain), checked(PyUnicode_FromString("__torch_dispatch__")),
                          Ref::borrow(describe), Ref::borrow(written), Ref::borrow(on_alarm)},
        reinterpret_cast<int (*)()>(static_cast<uintptr_t>(graph_task)));
    recorder->follow(before);
    return Py_NewRef(Py_None);
  });
}

PyObject* run_followed(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  return guarded([&] {
    if (count < 4 || !PyTuple_Check(arguments[3])) {
      PyErr_SetString(PyExc_TypeError, "run_followed() takes a mode, a function, types, a tuple and a dict");
      throw PythonErrorSet();
    }
    PyObject* kwargs = count > 4 && PyDict_Check(arguments[4]) ? arguments[4] : nullptr;
    if (!recorder)  // a thread that the program started meanwhile still has the mode
      return PyObject_Call(arguments[1], arguments[3], kwargs);
    const std::shared_ptr<LifetimeRecorder> held = recorder;
    return held->run(arguments[1], arguments[2], arguments[3], kwargs).release();
  });
}

PyObject* set_followed_context(PyObject*, PyObject* number) {
  return guarded([&] {
    const uint32_t context = as_number(number);
    if (recorder) recorder->set_context(context);
    return Py_NewRef(Py_None);
  });
}

PyObject* set_followed_alarm(PyObject*, PyObject* operation) {
  return guarded([&] {
    running().set_alarm(as_number(operation));
    return Py_NewRef(Py_None);
  });
}

PyObject* followed_operations(PyObject*, PyObject*) {
  return guarded([] {
    running().look();
    return PyLong_FromSize_t(running().operations().size());
  });
}

PyObject* followed_bytes(PyObject*, PyObject*) {
  return guarded([] { return PyLong_FromSize_t(running().own_bytes()); });
}

PyObject* followed(PyObject*, PyObject*) {
  return guarded([] {
    LifetimeRecorder& of = running();
    of.look();
    const Ref operations = packed(of.operations()), events = packed(of.events());
    const Ref rows = packed(of.storages().rows()), stacks = stack_list(of.sites(), true);
    return checked(PyTuple_Pack(4, operations.get(), events.get(), rows.get(), stacks.get())).release();
  });
}

PyObject* unfollow_storages(PyObject*, PyObject*) {
  if (recorder) recorder->end();
  recorder.reset();
  return Py_NewRef(Py_None);
}

}  // namespace gradlife::heap
