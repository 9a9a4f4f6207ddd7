// Modes of the thread: inference mode, a listener to in-place changes; and caches that do not count as owners.
#include "engine/backward/views.hpp"
#include "engine/graph/autograd.hpp"
#include "engine/graph/error_nodes.hpp"
#include "engine_py/api/api.hpp"
#include "engine_py/call/args.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/user_code.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

PyObject* is_inference_mode_enabled(PyObject*, PyObject*) { return PyBool_FromLong(inference_mode()); }

PyObject* set_inference_mode_function(PyObject*, PyObject* enabled) {
  return guarded([&] { set_inference_mode(is_true(enabled)); });
}

PyObject* is_view_replay_enabled(PyObject*, PyObject*) { return PyBool_FromLong(view_replay_enabled()); }

PyObject* set_view_replay_function(PyObject*, PyObject* enabled) {
  return guarded([&] { set_view_replay_enabled(is_true(enabled)); });
}

class PyChangeListener final : public ChangeListener {
 public:
  explicit PyChangeListener(PyObject* callable) : callable_(Handle::borrow(callable)) {}
  void before_change(const Tensor& tensor) override {
    const Ref keep = Ref::borrow(static_cast<PyObject*>(callable_.get()));
    checked(call_user_code(keep.get(), wrap(tensor).get()));
  }

 private:
  Handle callable_;
};

// _set_change_listener(callable or None): called with a tensor before this thread changes it in place.
PyObject* set_change_listener_function(PyObject*, PyObject* callable) {
  thread_local std::unique_ptr<PyChangeListener> of_thread;
  return guarded([&] {
    auto made = callable != Py_None ? std::make_unique<PyChangeListener>(callable) : nullptr;
    set_change_listener(made.get());
    std::swap(of_thread, made);
  });
}

bool are_cached_tensors_enabled = false;

PyObject* set_cached_tensors_enabled(PyObject*, PyObject* enabled) {
  return guarded([&] { are_cached_tensors_enabled = is_true(enabled); });
}

PyObject* add_cached_tensor(PyObject*, PyObject* tensor) {
  return guarded([&] {
    require(are_cached_tensors_enabled, "cached tensors are not enabled");
    unwrap(tensor)->set_cached(true);
  });
}

PyObject* remove_cached_tensor(PyObject*, PyObject* tensor) {
  return guarded([&] { unwrap(tensor)->set_cached(false); });
}

PyObject* is_cached_tensor(PyObject*, PyObject* tensor) {
  return guarded([&] { return PyBool_FromLong(unwrap(tensor)->is_cached()); });
}

// _delayed_error(text, tensors), _undefined_grad(tensors): the tensors behind a node that raises or drops the gradient.
PyObject* delayed_error_function(PyObject*, PyObject* arguments) {
  return guarded([&] {
    const char* text;
    PyObject* tensors;
    if (!PyArg_ParseTuple(arguments, "sO", &text, &tensors)) throw PythonError();
    return wrap_tuple(with_delayed_error(unwrap_list(tensors), text)).release();
  });
}

PyObject* undefined_grad_function(PyObject*, PyObject* tensors) {
  return guarded([&] { return wrap_tuple(without_gradient(unwrap_list(tensors))).release(); });
}

// _unsafe_set_version_counter(tensors, versions): undoes the count of in-place changes since.
PyObject* set_version_counter_function(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *tensors, *versions;
    if (!PyArg_ParseTuple(arguments, "O!O!", &PyTuple_Type, &tensors, &PyTuple_Type, &versions)) throw PythonError();
    require(PyTuple_GET_SIZE(tensors) == PyTuple_GET_SIZE(versions), "tensors and versions must have the same size");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); ++i) {
      const long version = PyLong_AsLong(PyTuple_GET_ITEM(versions, i));
      if (version == -1 && PyErr_Occurred() != nullptr) throw PythonError();
      require(version >= 0, "Cannot set a version_counter to a value below 0: ", version);
      unwrap(PyTuple_GET_ITEM(tensors, i))->version_counter()->value = static_cast<uint32_t>(version);
    }
  });
}

}  // namespace

PyMethodDef mode_functions[] = {{"_unsafe_set_version_counter", set_version_counter_function, METH_VARARGS, nullptr},
                                {"is_inference_mode_enabled", is_inference_mode_enabled, METH_NOARGS, nullptr},
                                {"_set_inference_mode", set_inference_mode_function, METH_O, nullptr},
                                {"_is_view_replay_enabled", is_view_replay_enabled, METH_NOARGS, nullptr},
                                {"_set_view_replay_enabled", set_view_replay_function, METH_O, nullptr},
                                {"_set_change_listener", set_change_listener_function, METH_O, nullptr},
                                {"_set_cached_tensors_enabled", set_cached_tensors_enabled, METH_O, nullptr},
                                {"_add_cached_tensor", add_cached_tensor, METH_O, nullptr},
                                {"_remove_cached_tensor", remove_cached_tensor, METH_O, nullptr},
                                {"_is_cached_tensor", is_cached_tensor, METH_O, nullptr},
                                {"_delayed_error", delayed_error_function, METH_VARARGS, nullptr},
                                {"_undefined_grad", undefined_grad_function, METH_O, nullptr},
                                {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
