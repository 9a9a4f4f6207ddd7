#include "engine_py/call/torch_function.hpp"

#include <array>
#include <utility>

#include "engine/policy/traits.hpp"
#include "engine_py/call/args.hpp"
#include "engine_py/call/methods.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"

namespace gradlife {
namespace {

constexpr size_t most_functions = 640;
thread_local bool is_switched_off = false;

struct Guarded {
  const char* name;
  FastMethod function;
};
std::array<Guarded, most_functions> guarded_functions;

bool one_overrides(PyObject* argument) {
  if (overrides(argument)) return true;
  if (!is_sequence(argument)) return false;
  PyObject** items = PySequence_Fast_ITEMS(argument);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(argument); ++i)
    if (overrides(items[i])) return true;
  return false;
}

bool any_overrides(PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  if (!state().has_overriding_types || is_switched_off) return false;
  const Py_ssize_t all = count + (names != nullptr ? PyTuple_GET_SIZE(names) : 0);
  for (Py_ssize_t i = 0; i < all; ++i)
    if (one_overrides(arguments[i])) return true;
  return false;
}

// handler(function, positional arguments, named ones)
PyObject* ask_classes(PyObject* module, const char* name, PyObject* const* arguments, Py_ssize_t count,
                      PyObject* names) {
  return guarded([&] {
    const Ref function = checked(PyObject_GetAttrString(module, name));
    const Ref positional = checked(PyTuple_New(count));
    for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(positional.get(), i, Py_NewRef(arguments[i]));
    const Ref named = checked(PyDict_New());
    for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i)
      checked_status(PyDict_SetItem(named.get(), PyTuple_GET_ITEM(names, i), arguments[count + i]));
    return checked(PyObject_CallFunctionObjArgs(state().torch_function, function.get(), positional.get(), named.get(),
                                                nullptr))
        .release();
  });
}

// One function of its own for each, since CPython does not say which one it called.
template <size_t index>
PyObject* guard(PyObject* module, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  const Guarded& row = guarded_functions[index];
  if (any_overrides(arguments, count, names)) return ask_classes(module, row.name, arguments, count, names);
  return row.function(module, arguments, count, names);
}

template <size_t... indexes>
std::array<FastMethod, sizeof...(indexes)> all_guards(std::index_sequence<indexes...>) {
  return {guard<indexes>...};
}

// From now on classes are asked whether they override.
PyObject* expect_classes(PyObject*, PyObject*) {
  state().has_overriding_types = true;
  return Py_NewRef(Py_None);
}

// Gives back what it was.
PyObject* switch_off(PyObject*, PyObject* off) {
  return guarded([&] {
    const int is_off = PyObject_IsTrue(off);
    checked_status(is_off);
    return PyBool_FromLong(std::exchange(is_switched_off, is_off != 0));
  });
}

PyObject* overrides_function(PyObject*, PyObject* object) {
  return guarded([&] { return PyBool_FromLong(!is_switched_off && one_overrides(object)); });
}

}  // namespace

bool overrides(PyObject* object) {
  const ModuleState& own = state();
  const Policy& policy = *current_policy();
  if (!has(policy, traits::has_torch_function)) return false;
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  if (!own.has_overriding_types || is_switched_off || type == own.tensor_class) return false;
  if (!PyType_IsSubtype(Py_TYPE(object), own.tensor_base)) return false;
  const Ref mark = Ref::steal(PyObject_GetAttrString(type, "_overrides_torch_function"));
  if (!mark) PyErr_Clear();
  return mark.get() == Py_True;
}

void let_classes_override(std::vector<PyMethodDef>& functions) {
  static const auto guards = all_guards(std::make_index_sequence<most_functions>());
  size_t next = 0;
  for (PyMethodDef& row : functions) {
    if (row.ml_name == nullptr || row.ml_flags != fast_call) continue;
    require(next < most_functions, "more functions than may be overridden");
    const auto original = reinterpret_cast<FastMethod>(reinterpret_cast<void (*)()>(row.ml_meth));
    guarded_functions[next] = {row.ml_name, original};
    row.ml_meth = as_method(guards[next++]);
  }
}

PyMethodDef overriding_functions[] = {{"_expect_overriding_types", expect_classes, METH_NOARGS, nullptr},
                                      {"_switch_torch_function_off", switch_off, METH_O, nullptr},
                                      {"_overrides_torch_function", overrides_function, METH_O, nullptr},
                                      {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
