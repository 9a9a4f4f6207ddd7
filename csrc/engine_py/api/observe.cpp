// Observing the engine: live counts, events, ownership. It changes nothing.
#include <thread>
#include <vector>

#include "base/collector_paused.hpp"
#include "base/counters.hpp"
#include "base/events.hpp"
#include "engine/graph/autograd.hpp"
#include "engine_py/api/api.hpp"
#include "engine_py/functions/function.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"
#include "engine_py/types/node_type.hpp"
#include "engine_py/wrappers/objects.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

PyObject* live_counts_function(PyObject*, PyObject*) {
  return guarded([&] {
    Ref counts = checked(PyDict_New());
    for (size_t kind = 0; kind < kind_count; ++kind) {
      const Ref value = checked(PyLong_FromLongLong(live_counters[kind].load()));
      checked_status(PyDict_SetItemString(counts.get(), kind_name(static_cast<Kind>(kind)), value.get()));
    }
    return counts.release();
  });
}

PyObject* live_bytes_function(PyObject*, PyObject*) { return PyLong_FromLongLong(live_storage_bytes.load()); }

// (sequence, kind, object id, object kind, name, detail, strong, weak, nanoseconds) of each event kept.
PyObject* events_function(PyObject*, PyObject*) {
  return guarded([&] {
    Ref all = checked(PyList_New(0));
    for (const Event& event : recorded_events()) {
      const Ref row = checked(Py_BuildValue("KsKsszIIK", static_cast<unsigned long long>(event.sequence),
                                            event_name(event.kind), static_cast<unsigned long long>(event.object),
                                            kind_name(event.object_kind), event.name, event.detail, event.strong,
                                            event.weak, static_cast<unsigned long long>(event.nanoseconds)));
      checked_status(PyList_Append(all.get(), row.get()));
    }
    return all.release();
  });
}

PyObject* clear_events_function(PyObject*, PyObject*) {
  clear_events();
  return Py_NewRef(Py_None);
}

PyObject* log_events_function(PyObject*, PyObject* enabled) {
  return guarded([&] { enable_events(is_true(enabled)); });
}

// Returns the engine object behind a Python one, borrowed; nullptr if it has none.
Managed* managed_of(PyObject* object) {
  if (is_tensor(object) || PyObject_TypeCheck(object, state().storage_base) != 0) return head_of(object)->impl;
  if (PyObject_TypeCheck(object, state().function_base) != 0) return node_of_context(object).get();
  return is_node_wrapper(object) ? head_of(object)->impl : nullptr;
}

PyObject* object_id_function(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    const Managed* managed = managed_of(object);
    if (managed == nullptr) return Py_NewRef(Py_None);
    return PyLong_FromUnsignedLongLong(managed->id());
  });
}

PyObject* use_count_function(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    const Managed* managed = managed_of(object);
    if (managed == nullptr)
      raise_python(PyExc_TypeError, "%.200s has no engine object behind it", Py_TYPE(object)->tp_name);
    return PyLong_FromUnsignedLong(managed->use_count());
  });
}

// Collects (label, ownership, target id or None, type name, address of a Python object or None) rows.
class EdgeRows final : public OwnedVisitor {
 public:
  explicit EdgeRows(PyObject* rows) : rows_(rows) {}
  void managed(const char* label, Managed* target, Ownership ownership, int64_t) override {
    append(Py_BuildValue("ssKsO", label, ownership_name(ownership), static_cast<unsigned long long>(target->id()),
                         target->name(), Py_None));
  }
  void object(const char* label, Object* target, Ownership ownership) override {
    PyObject* object = static_cast<PyObject*>(target);
    append(Py_BuildValue("ssOsN", label, ownership_name(ownership), Py_None, Py_TYPE(object)->tp_name,
                         PyLong_FromVoidPtr(object)));
  }

 private:
  void append(PyObject* row) {
    const Ref owned = checked(row);
    checked_status(PyList_Append(rows_, owned.get()));
  }
  PyObject* rows_;
};

// The references between wrapper and impl: (wrapper to impl, impl to wrapper); "": none.
std::pair<const char*, const char*> wrapper_ties(const Managed& managed) {
  switch (managed.identity()) {
    case Identity::rewrap:
      return {"strong", ""};
    case Identity::cached:
      return {"strong", "borrowed"};
    case Identity::resurrect:
      if (managed.owns_wrapper()) return {managed.policy().is_oneflow ? "" : "borrowed", "strong"};
      return {"strong", "borrowed"};
    case Identity::coupled:
      return {"strong", managed.use_count() > 1 ? "coupled" : "borrowed"};
    case Identity::mutual:
      return {"strong", "strong"};
  }
  return {"", ""};
}

Ref wrapper_row(const Managed& managed) {
  PyObject* wrapper = static_cast<PyObject*>(managed.wrapper());
  if (wrapper == nullptr) return Ref::borrow(Py_None);
  const auto [to_impl, to_wrapper] = wrapper_ties(managed);
  return checked(Py_BuildValue("sNnss", Py_TYPE(wrapper)->tp_name, PyLong_FromVoidPtr(wrapper), Py_REFCNT(wrapper),
                               to_impl, to_wrapper));
}

// Returns every live engine object: (id, kind, name, strong, weak, identity, wrapper or None, what it holds).
PyObject* live_graph_function(PyObject*, PyObject*) {
  return guarded([&] {
    const CollectorPaused paused;
    static constexpr const char* identities[] = {"rewrap", "cached", "resurrect", "coupled", "mutual"};
    Ref all = checked(PyList_New(0));
    for (const Managed* object = Managed::first_live(); object != nullptr; object = object->next_live()) {
      const Ref edges = checked(PyList_New(0));
      EdgeRows rows(edges.get());
      const uint32_t strong = object->use_count();
      const uint32_t weak = object->weak_count();
      const Ref wrapper = wrapper_row(*object);
      object->visit_owned(rows);
      const Ref row = checked(Py_BuildValue(
          "KssIIsOO", static_cast<unsigned long long>(object->id()), kind_name(object->kind()), object->name(), strong,
          weak, identities[static_cast<size_t>(object->identity())], wrapper.get(), edges.get()));
      checked_status(PyList_Append(all.get(), row.get()));
    }
    return all.release();
  });
}

// `_drop_in_thread(t)` takes the history from t (it becomes a leaf) and destroys it in a native thread that does not
// hold the interpreter lock, as a framework's worker threads do.
void drop_elsewhere(NodePtr& node) {
  const Unlocked unlocked;
  std::thread([&node] { node.reset(); }).join();
}

PyObject* drop_in_thread_function(PyObject*, PyObject* tensor) {
  return guarded([&] {
    const Tensor& impl = unwrap(tensor);
    if (impl->meta() == nullptr) return;
    NodePtr node = std::move(impl->meta()->grad_fn);
    try {
      drop_elsewhere(node);
    } catch (...) {
      impl->meta()->grad_fn = std::move(node);  // no thread could be started
      throw;
    }
  });
}

// References that only a C++ static holds: released when the process's statics are destroyed, after the interpreter.
struct UntilExit {
  std::vector<Tensor> tensors;
};
UntilExit& until_exit() {
  static UntilExit holder;
  return holder;
}

PyObject* hold_until_exit_function(PyObject*, PyObject* tensor) {
  return guarded([&] { until_exit().tensors.push_back(unwrap(tensor)); });
}

}  // namespace

PyMethodDef observe_functions[] = {{"_live_counts", live_counts_function, METH_NOARGS, nullptr},
                                   {"_live_bytes", live_bytes_function, METH_NOARGS, nullptr},
                                   {"_events", events_function, METH_NOARGS, nullptr},
                                   {"_clear_events", clear_events_function, METH_NOARGS, nullptr},
                                   {"_log_events", log_events_function, METH_O, nullptr},
                                   {"_object_id", object_id_function, METH_O, nullptr},
                                   {"_use_count", use_count_function, METH_O, nullptr},
                                   {"_live_graph", live_graph_function, METH_NOARGS, nullptr},
                                   {"_drop_in_thread", drop_in_thread_function, METH_O, nullptr},
                                   {"_hold_until_exit", hold_until_exit_function, METH_O, nullptr},
                                   {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
