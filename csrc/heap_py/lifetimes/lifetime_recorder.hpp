// The effects of torch's operations on storages: created, read, overwritten, and freed before each operation. A
// dispatch mode of the process calls it instead of each operation.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/pyref.hpp"
#include "heap_py/creations/call_sites.hpp"
#include "heap_py/lifetimes/live_storages.hpp"

namespace gradlife::heap {

struct RecordedOperation {
  uint32_t function;  // in the order of their first calls
  uint32_t site;
  uint32_t context;  // the number that Python set last
  uint32_t in_backward;
};

enum class StorageEvent : uint32_t { born, appeared, read, overwritten, died, resized, moved };

struct RecordedEvent {
  uint32_t operation;  // the operation in which it happened; for a death, a new size or place, the one after it
  StorageEvent what;
  uint64_t storage;
  uint64_t value;  // the bytes; for a move the new address of the data
};

// The recorder's Python objects: the functions that it calls, and the class of plain tensors.
struct LifetimeCallbacks {
  Ref plain;          // torch.Tensor
  Ref dispatch_name;  // "__torch_dispatch__"
  Ref describe;  // describe(function) -> (function to call instead, does it overwrite, is it a view), once for each
  Ref written;   // written(function, args, kwargs) -> [tensor, ...] that it overwrites completely
  Ref on_alarm;  // on_alarm(), after the operation for which the alarm is set
};

class LifetimeRecorder {
 public:
  LifetimeRecorder(CallSites sites, LifetimeCallbacks callbacks, int (*graph_task)())
      : sites_(std::move(sites)), callbacks_(std::move(callbacks)), graph_task_(graph_task) {}
  LifetimeRecorder(const LifetimeRecorder&) = delete;
  LifetimeRecorder& operator=(const LifetimeRecorder&) = delete;

  void follow(const std::vector<uintptr_t>& storages);  // those that existed before
  // Returns the result of the operation; NotImplemented if a subclass must handle it first. Error: PythonErrorSet.
  Ref run(PyObject* function, PyObject* types, PyObject* args, PyObject* kwargs);
  void look();  // notes storages that were freed, resized or moved since the last operation
  void set_context(uint32_t context) { context_ = context; }
  void set_alarm(uint32_t operation) { alarm_ = operation; }
  void end() { has_ended_ = true; }  // an operation that runs meanwhile notes nothing any more

  uint64_t own_bytes() const;  // malloc'd for these records
  const std::vector<RecordedOperation>& operations() const { return operations_; }
  const std::vector<RecordedEvent>& events() const { return events_; }
  const LiveStorages& storages() const { return storages_; }
  const CallSites& sites() const { return sites_; }

 private:
  struct Function {
    Ref callable;
    uint32_t number;
    bool overwrites, is_view;
  };
  bool has_dispatch_of_its_own(PyObject* types) const;
  uint32_t site_now(bool in_backward);
  const Function& known(PyObject* function);
  void note_inputs(PyObject* value, PyObject* overwritten, StorageEvent if_known, int depth);
  void note_overwritten(PyObject* tensors);
  void note_outputs(PyObject* value, int depth);
  void note(StorageEvent what, uint32_t storage, uint64_t value);
  void note_tensor(PyObject* tensor, StorageEvent if_new, StorageEvent if_known);
  uint32_t now() const { return static_cast<uint32_t>(operations_.size()); }

  CallSites sites_;
  LifetimeCallbacks callbacks_;
  int (*graph_task_)();
  LiveStorages storages_;
  std::unordered_map<PyObject*, Function> functions_;
  std::vector<Ref> kept_;  // keeps the functions, so that their addresses are not reused
  std::vector<RecordedOperation> operations_;
  std::vector<RecordedEvent> events_;
  uint32_t context_ = 0, alarm_ = UINT32_MAX;
  bool has_ended_ = false;
};

}  // namespace gradlife::heap
