#include "engine_py/call/torch_function.hpp"

#include <array>
#include <cstring>
#include <utility>

#include "base/immortal.hpp"
#include "engine/policy/traits.hpp"
#include "engine_py/call/args.hpp"
#include "engine_py/call/methods.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"
#include "engine_py/wrappers/attributeless_tensor.hpp"

namespace gradlife {
namespace {

constexpr size_t max_rows = 640;
thread_local bool is_switched_off = false, has_mode = false;

struct Guarded {
  const char* name;
  PyCFunction function;

  PyObject* call(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) const {
    const auto fast = reinterpret_cast<FastMethod>(reinterpret_cast<void (*)()>(function));
    return fast(self, arguments, count, names);
  }
};
std::array<Guarded, max_rows> guarded_functions, guarded_methods, guarded_plain_methods;

// Members of a tensor that Python code can override.
constexpr const char* never_asked[] = {"as_subclass",    "_use_count",
                                       "_fix_weakref",   "__init_subclass__",
                                       "__dict__",       "_make_bare_class",
                                       "_make_subclass", "_register_hook_dict",
                                       "tensor",         "set_"};

bool is_never_asked(const char* name) {
  for (const char* own : never_asked)
    if (std::strcmp(own, name) == 0) return true;
  return false;
}

bool one_overrides(PyObject* argument) {
  if (overrides(argument)) return true;
  if (!is_sequence(argument)) return false;
  PyObject** items = PySequence_Fast_ITEMS(argument);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(argument); ++i)
    if (overrides(items[i])) return true;
  return false;
}

bool is_nobody_asked() { return !has_mode && (!state().has_overriding_types || is_switched_off); }

bool one_overrides(PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  if (has_mode) return true;
  const Py_ssize_t all = count + (names != nullptr ? PyTuple_GET_SIZE(names) : 0);
  for (Py_ssize_t i = 0; i < all; ++i)
    if (one_overrides(arguments[i])) return true;
  return false;
}

// What PyTorch asks about: functions and methods in C++, attributes, methods in Python. For the last two `types` names
// plain tensors, too; only methods in Python pass named arguments when there are none.
enum class Asked { function, attribute, in_python };

// handler(function, positional arguments, named ones or None, whether `types` names plain tensors)
PyObject* ask(const Ref& function, PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names,
              Asked asked = Asked::function) {
  const Py_ssize_t first = self != nullptr ? 1 : 0;
  const Ref positional = checked(PyTuple_New(count + first));
  if (self != nullptr) PyTuple_SET_ITEM(positional.get(), 0, Py_NewRef(self));
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(positional.get(), i + first, Py_NewRef(arguments[i]));
  const Py_ssize_t name_count = names != nullptr ? PyTuple_GET_SIZE(names) : 0;
  const Ref named = asked == Asked::in_python || name_count > 0 ? checked(PyDict_New()) : Ref::borrow(Py_None);
  for (Py_ssize_t i = 0; i < name_count; ++i)
    checked_status(PyDict_SetItem(named.get(), PyTuple_GET_ITEM(names, i), arguments[count + i]));
  return checked(PyObject_CallFunctionObjArgs(state().torch_function, function.get(), positional.get(), named.get(),
                                              asked == Asked::function ? Py_False : Py_True, nullptr))
      .release();
}

Ref method_named(const char* name) {
  return checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(state().tensor_base), name));
}

[[gnu::noinline]] PyObject* call_function(PyObject* module, PyObject* const* arguments, Py_ssize_t count,
                                          PyObject* names, size_t index) {
  const Guarded& row = guarded_functions[index];
  if (is_nobody_asked() || !one_overrides(arguments, count, names)) return row.call(module, arguments, count, names);
  return guarded(
      [&] { return ask(checked(PyObject_GetAttrString(module, row.name)), nullptr, arguments, count, names); });
}

[[gnu::noinline]] PyObject* call_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names,
                                        size_t index) {
  const Guarded& row = guarded_methods[index];
  if (is_nobody_asked() || !(overrides(self) || one_overrides(arguments, count, names)))
    return row.call(self, arguments, count, names);
  return guarded([&] { return ask(method_named(row.name), self, arguments, count, names); });
}

// A method with one argument or none.
[[gnu::noinline]] PyObject* call_plain_method(PyObject* self, PyObject* argument, size_t index) {
  const Guarded& row = guarded_plain_methods[index];
  if (!overrides(self)) return row.function(self, argument);
  return guarded([&] {
    return ask(method_named(row.name), self, &argument, argument != nullptr, nullptr,
               argument == nullptr ? Asked::attribute : Asked::function);
  });
}

// A separate function for each row, because CPython does not say which one it called. They only add the index: with the
// bodies in them, their 1,920 instances were 1 MB of code.
template <size_t index>
PyObject* guard_function(PyObject* module, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return call_function(module, arguments, count, names, index);
}

template <size_t index>
PyObject* guard_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return call_method(self, arguments, count, names, index);
}

template <size_t index>
PyObject* guard_plain_method(PyObject* self, PyObject* argument) {
  return call_plain_method(self, argument, index);
}

template <size_t... indexes>
PyCFunction guard_at(size_t index, bool is_method, bool is_plain, std::index_sequence<indexes...>) {
  static constexpr FastMethod functions[] = {guard_function<indexes>...};
  static constexpr FastMethod methods[] = {guard_method<indexes>...};
  static constexpr PyCFunction plain_methods[] = {guard_plain_method<indexes>...};
  return is_plain ? plain_methods[index] : as_method(is_method ? methods[index] : functions[index]);
}

PyObject* ask_attribute(const char* name, const char* how, PyObject* self, PyObject* value) {
  const Ref attribute = method_named(name);
  return ask(checked(PyObject_GetAttrString(attribute.get(), how)), self, &value, value != nullptr, nullptr,
             Asked::attribute);
}

PyObject* guarded_get(PyObject* self, void* row) {
  const auto* original = static_cast<const PyGetSetDef*>(row);
  if (!overrides(self)) return original->get(self, original->closure);
  return guarded([&] { return ask_attribute(original->name, "__get__", self, nullptr); });
}

int guarded_set(PyObject* self, PyObject* value, void* row) {
  const auto* original = static_cast<const PyGetSetDef*>(row);
  if (!overrides(self)) return original->set(self, value, original->closure);
  return guarded(-1, [&] {
    const char* how = value != nullptr ? "__set__" : "__delete__";
    const Ref done = Ref::steal(ask_attribute(original->name, how, self, value));
    return 0;
  });
}

// Returns the previous value.
PyObject* switch_off(PyObject*, PyObject* off) {
  return guarded([&] { return PyBool_FromLong(std::exchange(is_switched_off, is_true(off))); });
}

// Says whether a TorchFunctionMode receives the calls of this thread; returns the previous value.
PyObject* watch_functions(PyObject*, PyObject* on) {
  return guarded([&] { return PyBool_FromLong(std::exchange(has_mode, is_true(on))); });
}

PyObject* overrides_function(PyObject*, PyObject* object) {
  return guarded([&] { return PyBool_FromLong(one_overrides(object)); });
}

}  // namespace

bool has_function(PyTypeObject* type) {
  return _PyType_Lookup(type, state().torch_function_name) != state().disabled_torch_function;
}

bool overrides(PyObject* object) {
  const ModuleState& own = state();
  PyTypeObject* type = Py_TYPE(object);
  if (is_nobody_asked() || (reinterpret_cast<PyObject*>(type) == own.tensor_class && !has_mode)) return false;
  if (!PyType_IsSubtype(type, own.tensor_base) || is_bare(type)) return false;
  return has_mode || (has(*current_policy(), traits::has_torch_function) && has_function(type));
}

bool one_overrides(std::initializer_list<PyObject*> arguments) {
  return !is_nobody_asked() && one_overrides(arguments.begin(), static_cast<Py_ssize_t>(arguments.size()), nullptr);
}

PyObject* ask_classes(const char* method, std::initializer_list<PyObject*> arguments) {
  const bool is_in_python =
      std::strncmp(method, "__r", 3) == 0 || std::strncmp(method, "pow", 3) == 0 || std::strcmp(method, "__len__") == 0;
  const Asked asked = is_in_python ? Asked::in_python : arguments.size() == 1 ? Asked::attribute : Asked::function;
  return ask(method_named(method), nullptr, arguments.begin(), static_cast<Py_ssize_t>(arguments.size()), nullptr,
             asked);
}

void let_classes_override(std::vector<PyMethodDef>& rows, bool are_methods) {
  size_t counts[2] = {};
  for (PyMethodDef& row : rows) {
    const bool is_plain = row.ml_flags == METH_NOARGS || row.ml_flags == METH_O;
    if (row.ml_name == nullptr || is_never_asked(row.ml_name)) continue;
    if (row.ml_flags != fast_call && !(are_methods && is_plain)) continue;
    const size_t index = counts[is_plain ? 1 : 0]++;
    require(index < max_rows, "more functions than may be overridden");
    auto& kept = is_plain ? guarded_plain_methods : are_methods ? guarded_methods : guarded_functions;
    kept[index] = {row.ml_name, row.ml_meth};
    row.ml_meth = guard_at(index, are_methods, is_plain, std::make_index_sequence<max_rows>());
  }
}

PyGetSetDef* let_classes_override(const PyGetSetDef* attributes) {
  std::vector<PyGetSetDef> rows;
  for (; attributes->name != nullptr; ++attributes) {
    rows.push_back(*attributes);
    if (is_never_asked(attributes->name)) continue;
    setter set = attributes->set != nullptr ? guarded_set : nullptr;
    rows.back() = {attributes->name, guarded_get, set, attributes->doc, const_cast<PyGetSetDef*>(attributes)};
  }
  rows.push_back({nullptr, nullptr, nullptr, nullptr, nullptr});
  return immortal(std::move(rows)).data();
}

PyMethodDef overriding_functions[] = {{"_switch_torch_function_off", switch_off, METH_O, nullptr},
                                      {"_overrides_torch_function", overrides_function, METH_O, nullptr},
                                      {"_watch_functions", watch_functions, METH_O, nullptr},
                                      {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
