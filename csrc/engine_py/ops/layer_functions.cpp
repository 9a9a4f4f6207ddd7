// Losses and layers for torch.nn.functional, which passes every argument by position.
#include "engine/ops/layers.hpp"
#include "engine/ops/reduction_ops.hpp"
#include "engine_py/call/methods.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

// 0, 1 or 2, as PyTorch numbers them.
ops::Averaging averaging(const Args& args, size_t i) { return static_cast<ops::Averaging>(args.integer(i, 1)); }

Tensor optional(const Args& args, size_t i) { return args.has(i) ? args.tensor(i) : Tensor(); }

PyObject* nll_loss(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("nll_loss_nd", {"input", "target", "weight", "reduction", "ignore_index"}, 5, arguments, count,
                    names);
    return wrap(ops::nll_loss(args.tensor(0), args.tensor(1), optional(args, 2), averaging(args, 3),
                              args.integer(4, -100)))
        .release();
  });
}

PyObject* threshold(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("threshold", {"input", "threshold", "value"}, 3, arguments, count, names);
    return wrap(ops::threshold(args.tensor(0), args.number(1, 0), args.number(2, 0))).release();
  });
}

PyObject* linear(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("linear", {"input", "weight", "bias"}, 2, arguments, count, names);
    return wrap(ops::linear(args.tensor(0), args.tensor(1), optional(args, 2))).release();
  });
}

PyObject* batch_norm(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("batch_norm",
                    {"input", "running_mean", "running_var", "weight", "bias", "training", "momentum", "eps"}, 8,
                    arguments, count, names);
    const ops::BatchNormTensors given{optional(args, 1), optional(args, 2), optional(args, 3), optional(args, 4)};
    return wrap(ops::batch_norm(args.tensor(0), given, args.flag(5, false), args.real(6, 0.1), args.real(7, 1e-5)))
        .release();
  });
}

}  // namespace

PyMethodDef layer_functions[] = {{"_nn_threshold", as_method(threshold), fast_call, nullptr},
                                 {"_nn_nll_loss", as_method(nll_loss), fast_call, nullptr},
                                 {"_nn_linear", as_method(linear), fast_call, nullptr},
                                 {"_nn_batch_norm", as_method(batch_norm), fast_call, nullptr},
                                 {nullptr, nullptr, 0, nullptr}};

namespace {

// Reads one number for each tensor; false if they are not numbers.
bool parse_numbers(PyObject* object, std::vector<Scalar>* numbers) {
  const Ref items = checked(PySequence_Fast(object, ""));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    Scalar number;
    if (!parse_number(PySequence_Fast_GET_ITEM(items.get(), i), &number)) return false;
    numbers->push_back(number);
  }
  return true;
}

PyObject* foreach_maximum(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("_foreach_maximum", {"self", "other"}, 2, arguments, count, names);
    const TensorList inputs = args.tensors(0);
    std::vector<Scalar> numbers;
    if (!is_sequence(args[1])) {
      numbers.push_back(args.number(1, 0));
      return wrap_list(ops::maximum_of_list(inputs, numbers, true)).release();
    }
    if (!parse_numbers(args[1], &numbers)) args.wrong_type(1, "tuple of Scalars");
    return wrap_list(ops::maximum_of_list(inputs, numbers, false)).release();
  });
}

}  // namespace

PyMethodDef list_functions[] = {{"_foreach_maximum", as_method(foreach_maximum), fast_call, nullptr},
                                {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
