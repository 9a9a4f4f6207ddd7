// Profiles and axes, from Python.
#include "engine/policy/policy.hpp"
#include "engine_py/api/api.hpp"
#include "engine_py/interpreter/errors.hpp"

namespace gradlife {
namespace {

Ref policy_dict(const Policy& policy) {
  Ref axes = checked(PyDict_New());
  for (const Axis& axis : policy_axes()) {
    const Ref value = checked(PyUnicode_FromString(axis_value(policy, axis.name)));
    checked_status(PyDict_SetItemString(axes.get(), axis.name, value.get()));
  }
  return checked(Py_BuildValue("sO", policy.profile.c_str(), axes.get()));
}

// Returns a policy from a profile's name and a dict of axes. ValueError lists the valid values.
const Policy* parse_policy(PyObject* arguments) {
  const char* name;
  PyObject* axes;
  if (!PyArg_ParseTuple(arguments, "sO!", &name, &PyDict_Type, &axes)) throw PythonError();
  const Policy* base = find_profile(name);
  if (base == nullptr) raise_python(PyExc_ValueError, "there is no profile '%s'", name);
  Policy policy = *base;
  PyObject *axis, *value;
  for (Py_ssize_t position = 0; PyDict_Next(axes, &position, &axis, &value);) {
    const char* axis_text = PyUnicode_AsUTF8(axis);
    const char* value_text = axis_text != nullptr ? PyUnicode_AsUTF8(value) : nullptr;
    if (value_text == nullptr) throw PythonError();
    if (!set_axis(policy, axis_text, value_text))
      raise_python(PyExc_ValueError, "there is no policy '%s' on an axis '%s'", value_text, axis_text);
  }
  return intern_policy(policy);
}

PyObject* profiles_function(PyObject*, PyObject*) {
  return guarded([&] {
    Ref all = checked(PyList_New(0));
    for (const Policy& policy : profiles()) checked_status(PyList_Append(all.get(), policy_dict(policy).get()));
    return all.release();
  });
}

PyObject* axes_function(PyObject*, PyObject*) {
  return guarded([&] {
    Ref all = checked(PyDict_New());
    for (const Axis& axis : policy_axes()) {
      Ref values = checked(PyList_New(0));
      for (const char* value : axis.values)
        checked_status(PyList_Append(values.get(), checked(PyUnicode_FromString(value)).get()));
      checked_status(PyDict_SetItemString(all.get(), axis.name, values.get()));
    }
    return all.release();
  });
}

PyObject* current_function(PyObject*, PyObject*) {
  return guarded([&] { return policy_dict(*current_policy()).release(); });
}

PyObject* release_function(PyObject*, PyObject*) {
  const Policy& policy = *current_policy();
  return Py_BuildValue("si", policy.is_oneflow ? "oneflow" : "torch", policy.release);
}

PyObject* set_default_function(PyObject*, PyObject* arguments) {
  return guarded([&] { set_default_policy(parse_policy(arguments)); });
}

void free_nothing(PyObject*) {}

// _enter_policy(profile, axes) -> a token for _leave_policy: the thread's policy before, None for the default.
PyObject* enter_function(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    const Policy* policy = parse_policy(arguments);
    const Policy* previous = set_thread_policy(policy);
    if (previous == nullptr) return Py_NewRef(Py_None);
    PyObject* token = PyCapsule_New(const_cast<Policy*>(previous), "gradlife.policy", free_nothing);
    if (token == nullptr) set_thread_policy(previous);
    return token;
  });
}

PyObject* leave_function(PyObject*, PyObject* token) {
  return guarded([&] {
    const void* previous = token == Py_None ? nullptr : PyCapsule_GetPointer(token, "gradlife.policy");
    if (previous == nullptr && PyErr_Occurred() != nullptr) throw PythonError();
    set_thread_policy(static_cast<const Policy*>(previous));
  });
}

}  // namespace

PyMethodDef policy_functions[] = {{"_profiles", profiles_function, METH_NOARGS, nullptr},
                                  {"_policy_axes", axes_function, METH_NOARGS, nullptr},
                                  {"_current_policy", current_function, METH_NOARGS, nullptr},
                                  {"_current_release", release_function, METH_NOARGS, nullptr},
                                  {"_set_default_policy", set_default_function, METH_VARARGS, nullptr},
                                  {"_enter_policy", enter_function, METH_VARARGS, nullptr},
                                  {"_leave_policy", leave_function, METH_O, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
