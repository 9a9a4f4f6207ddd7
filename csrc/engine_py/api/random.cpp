// The state of the random number generator as integers.
#include "engine/ops/ops.hpp"
#include "engine/policy/error.hpp"
#include "engine_py/api/api.hpp"
#include "engine_py/interpreter/errors.hpp"

namespace gradlife {
namespace {

PyObject* generator_state_function(PyObject*, PyObject*) {
  return guarded([&] {
    const ops::GeneratorState state = ops::generator_state();
    return make_tuple(state.size(), [&](size_t i) { return checked(PyLong_FromLongLong(state[i])); }).release();
  });
}

PyObject* set_generator_state_function(PyObject*, PyObject* words) {
  return guarded([&] {
    ops::GeneratorState state = {};
    if (!PyTuple_Check(words) || PyTuple_GET_SIZE(words) != static_cast<Py_ssize_t>(state.size())) {
      fail(ErrorKind::type, "a state of the random number generator is a tuple of ", state.size(), " integers");
    }
    for (size_t i = 0; i < state.size(); ++i) {
      state[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(words, static_cast<Py_ssize_t>(i)));
      if (state[i] == -1 && PyErr_Occurred() != nullptr) throw PythonError();
    }
    ops::set_generator_state(state);
  });
}

}  // namespace

PyMethodDef random_functions[] = {{"_generator_state", generator_state_function, METH_NOARGS, nullptr},
                                  {"_set_generator_state", set_generator_state_function, METH_O, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
