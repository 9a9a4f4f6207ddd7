// Functions of lists of tensors.
#include "engine/reduction_ops.hpp"
#include "engine_py/errors.hpp"
#include "engine_py/methods.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {
namespace {

Ref wrap_list(const TensorList& tensors) {
  Ref list = checked(PyList_New(static_cast<Py_ssize_t>(tensors.size())));
  for (size_t i = 0; i < tensors.size(); ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), wrap(tensors[i]).release());
  return list;
}

// One number for each tensor; false where these are no numbers.
bool parse_numbers(PyObject* object, std::vector<Scalar>* numbers) {
  const Ref items = checked(PySequence_Fast(object, ""));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    Scalar number;
    if (!parse_number(PySequence_Fast_GET_ITEM(items.get(), i), &number)) return false;
    numbers->push_back(number);
  }
  return true;
}

template <ops::Extreme which>
PyObject* bounded(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    constexpr const char* name = which == ops::Extreme::max ? "_foreach_maximum" : "_foreach_minimum";
    const Args args(name, {"self", "other"}, 2, arguments, count, names);
    const TensorList inputs = args.tensors(0);
    std::vector<Scalar> numbers;
    if (!is_sequence(args[1])) {
      numbers.push_back(args.number(1, 0));
      return wrap_list(ops::bounded_list(which, inputs, numbers, true)).release();
    }
    if (parse_numbers(args[1], &numbers)) return wrap_list(ops::bounded_list(which, inputs, numbers, false)).release();
    return wrap_list(ops::larger_or_smaller(which, inputs, args.tensors(1))).release();
  });
}

}  // namespace

PyMethodDef list_functions[] = {{"_foreach_maximum", as_method(bounded<ops::Extreme::max>), fast_call, nullptr},
                                {"_foreach_minimum", as_method(bounded<ops::Extreme::min>), fast_call, nullptr},
                                {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
