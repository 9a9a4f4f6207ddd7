#include "heap_py/lifetimes/lifetime_recorder.hpp"

#include "heap_py/interpreter/exception_border.hpp"

namespace gradlife::heap {
namespace {

constexpr int deepest = 4;  // lists of lists of tensors: operations nest no deeper

bool is_in(PyObject* list, PyObject* item) {
  if (list == nullptr) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i)
    if (PyList_GET_ITEM(list, i) == item) return true;
  return false;
}

// Calls visit(item) for each item of a list, a tuple, or the values of a dict.
template <class Visit>
void each_item(PyObject* value, Visit&& visit) {
  if (PyTuple_Check(value)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i) visit(PyTuple_GET_ITEM(value, i));
  } else if (PyList_Check(value)) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); ++i) visit(PyList_GET_ITEM(value, i));
  } else if (PyDict_Check(value)) {
    PyObject *key, *item;
    for (Py_ssize_t position = 0; PyDict_Next(value, &position, &key, &item) != 0;) visit(item);
  }
}

StorageEvent event_of(StorageChange::What change) {
  switch (change) {
    case StorageChange::What::died:
      return StorageEvent::died;
    case StorageChange::What::resized:
      return StorageEvent::resized;
    default:
      return StorageEvent::moved;
  }
}

}  // namespace

void LifetimeRecorder::follow(const std::vector<uintptr_t>& storages) {
  for (const uintptr_t address : storages) {
    const auto storage = storages_.follow_if_alive(address);
    if (storage) note(StorageEvent::appeared, *storage, storages_.rows()[*storage].bytes);
  }
}

void LifetimeRecorder::note(StorageEvent what, uint32_t storage, uint64_t value) {
  events_.push_back({now(), what, storage, value});
}

void LifetimeRecorder::look() {
  for (const StorageChange& change : storages_.changes()) note(event_of(change.what), change.storage, change.value);
}

uint64_t LifetimeRecorder::own_bytes() const {
  return operations_.capacity() * sizeof(RecordedOperation) + events_.capacity() * sizeof(RecordedEvent) +
         storages_.own_bytes();
}

const LifetimeRecorder::Function& LifetimeRecorder::known(PyObject* function) {
  const auto found = functions_.find(function);
  if (found != functions_.end()) return found->second;
  const Ref described = checked(PyObject_CallOneArg(callbacks_.describe.get(), function));
  PyObject* callable;
  int overwrites, is_view;
  if (PyArg_ParseTuple(described.get(), "Opp", &callable, &overwrites, &is_view) == 0) throw PythonErrorSet();
  kept_.push_back(Ref::borrow(function));
  const auto number = static_cast<uint32_t>(functions_.size());
  return functions_.emplace(function, Function{Ref::borrow(callable), number, overwrites != 0, is_view != 0})
      .first->second;
}

void LifetimeRecorder::note_tensor(PyObject* tensor, StorageEvent if_new, StorageEvent if_known) {
  const uintptr_t address = storages_.of_tensor(tensor);
  if (address == 0) return;
  uint32_t storage = storages_.find(address);
  if (storage == LiveStorages::unknown) {
    const auto followed = storages_.follow(address);
    if (!followed) return;
    note(if_new, storage = *followed, storages_.rows()[*followed].bytes);
    if (if_new == StorageEvent::born) return;
  }
  if (if_known != StorageEvent::born) note(if_known, storage, 0);
}

// What becomes of an input that is known: read; born for one that an operation makes a view of, which reads no memory.
void LifetimeRecorder::note_inputs(PyObject* value, PyObject* overwritten, StorageEvent if_known, int depth) {
  each_item(value, [&](PyObject* item) {
    if (PyTuple_Check(item) || PyList_Check(item)) {
      if (depth < deepest) note_inputs(item, overwritten, if_known, depth + 1);
    } else if (!is_in(overwritten, item)) {
      note_tensor(item, StorageEvent::appeared, if_known);
    }
  });
}

void LifetimeRecorder::note_overwritten(PyObject* tensors) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tensors); ++i)
    note_tensor(PyList_GET_ITEM(tensors, i), StorageEvent::appeared, StorageEvent::overwritten);
}

// Notes the outputs. One with a known storage is a view or an input, which has been noted already.
void LifetimeRecorder::note_outputs(PyObject* value, int depth) {
  note_tensor(value, StorageEvent::born, StorageEvent::born);
  if (depth < deepest) each_item(value, [&](PyObject* item) { note_outputs(item, depth + 1); });
}

// Whether a subclass handles the operation: it calls others on its component tensors, which own the memory.
bool LifetimeRecorder::has_dispatch_of_its_own(PyObject* types) const {
  const auto dispatch = [&](PyObject* type) {
    return _PyType_Lookup(reinterpret_cast<PyTypeObject*>(type), callbacks_.dispatch_name.get());
  };
  for (Py_ssize_t i = 0; PyTuple_Check(types) && i < PyTuple_GET_SIZE(types); ++i) {
    PyObject* type = PyTuple_GET_ITEM(types, i);
    if (PyType_Check(type) && dispatch(type) != dispatch(callbacks_.plain.get())) return true;
  }
  return false;
}

// The backward pass of a device's tensors runs in a thread of the device, which has no frames of Python. The program
// waits for it in torch's own function.
uint32_t LifetimeRecorder::site_now(bool in_backward) {
  const uint32_t site = sites_.current();
  return site == CallSites::unknown && in_backward ? sites_.of_thread_in("_engine_run_backward") : site;
}

Ref LifetimeRecorder::run(PyObject* function, PyObject* types, PyObject* args, PyObject* kwargs) {
  if (has_dispatch_of_its_own(types)) return Ref::borrow(Py_NotImplemented);
  const Function& called = known(function);
  const Ref callable = called.callable;
  if (has_ended_) return checked(PyObject_Call(callable.get(), args, kwargs));  // while Python described the function
  look();
  const bool in_backward = graph_task_ != nullptr && graph_task_() >= 0;
  const RecordedOperation operation{called.number, site_now(in_backward), context_, in_backward ? 1u : 0u};
  Ref overwritten;
  if (called.overwrites) {
    PyObject* keywords = kwargs != nullptr ? kwargs : Py_None;
    overwritten = checked(PyObject_CallFunctionObjArgs(callbacks_.written.get(), function, args, keywords, nullptr));
    if (!PyList_Check(overwritten.get())) overwritten = nullptr;
  }
  const StorageEvent use = called.is_view ? StorageEvent::born : StorageEvent::read;
  note_inputs(args, overwritten.get(), use, 0);
  if (kwargs != nullptr) note_inputs(kwargs, overwritten.get(), use, 0);
  if (overwritten) note_overwritten(overwritten.get());
  const uint32_t number = now();
  operations_.push_back(operation);
  Ref result = checked(PyObject_Call(callable.get(), args, kwargs));
  if (has_ended_) return result;
  // The outputs exist within the operation itself, which is now the last one.
  const size_t first = events_.size();
  note_outputs(result.get(), 0);
  for (size_t at = first; at < events_.size(); ++at) events_[at].operation = number;
  if (number == alarm_ && !Ref::steal(PyObject_CallNoArgs(callbacks_.on_alarm.get())))
    PyErr_WriteUnraisable(callbacks_.on_alarm.get());  // the program must not see an error of the alarm
  return result;
}

}  // namespace gradlife::heap
