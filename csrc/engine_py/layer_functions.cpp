// Losses and layers, for torch.nn.functional: it gives every argument, by position.
#include "engine/layers.hpp"
#include "engine/losses.hpp"
#include "engine_py/errors.hpp"
#include "engine_py/methods.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {
namespace {

// 0, 1 or 2, as PyTorch numbers them.
ops::Averaging averaging(const Args& args, size_t i) { return static_cast<ops::Averaging>(args.integer(i, 1)); }

Tensor optional(const Args& args, size_t i) { return args.has(i) ? args.tensor(i) : Tensor(); }

PyObject* mse_loss(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("mse_loss", {"input", "target", "reduction"}, 3, arguments, count, names);
    return wrap(ops::mse_loss(args.tensor(0), args.tensor(1), averaging(args, 2))).release();
  });
}

template <Tensor (*op)(const Tensor&, const Tensor&, ops::Averaging, double)>
PyObject* bent_loss(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("loss", {"input", "target", "reduction", "width"}, 4, arguments, count, names);
    return wrap(op(args.tensor(0), args.tensor(1), averaging(args, 2), args.real(3, 1))).release();
  });
}

PyObject* binary_cross_entropy(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("binary_cross_entropy", {"input", "target", "weight", "reduction"}, 4, arguments, count, names);
    return wrap(ops::binary_cross_entropy(args.tensor(0), args.tensor(1), optional(args, 2), averaging(args, 3)))
        .release();
  });
}

PyObject* with_logits(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("binary_cross_entropy_with_logits", {"input", "target", "weight", "pos_weight", "reduction"}, 5,
                    arguments, count, names);
    return wrap(ops::binary_cross_entropy_with_logits(args.tensor(0), args.tensor(1), optional(args, 2),
                                                      optional(args, 3), averaging(args, 4)))
        .release();
  });
}

PyObject* nll_loss(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("nll_loss_nd", {"input", "target", "weight", "reduction", "ignore_index"}, 5, arguments, count,
                    names);
    return wrap(ops::nll_loss(args.tensor(0), args.tensor(1), optional(args, 2), averaging(args, 3),
                              args.integer(4, -100)))
        .release();
  });
}

PyObject* linear(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("linear", {"input", "weight", "bias"}, 2, arguments, count, names);
    return wrap(ops::linear(args.tensor(0), args.tensor(1), optional(args, 2))).release();
  });
}

PyObject* embedding(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("embedding", {"weight", "indices", "padding_idx"}, 3, arguments, count, names);
    return wrap(ops::embedding(args.tensor(0), args.tensor(1), args.integer(2, -1))).release();
  });
}

PyObject* layer_norm(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("layer_norm", {"input", "normalized_shape", "weight", "bias", "eps"}, 5, arguments, count, names);
    return wrap(ops::layer_norm(args.tensor(0), args.dims(1), optional(args, 2), optional(args, 3), args.real(4, 1e-5)))
        .release();
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

PyMethodDef layer_functions[] = {{"_nn_mse_loss", as_method(mse_loss), fast_call, nullptr},
                                 {"_nn_smooth_l1_loss", as_method(bent_loss<ops::smooth_l1_loss>), fast_call, nullptr},
                                 {"_nn_huber_loss", as_method(bent_loss<ops::huber_loss>), fast_call, nullptr},
                                 {"_nn_binary_cross_entropy", as_method(binary_cross_entropy), fast_call, nullptr},
                                 {"_nn_binary_cross_entropy_with_logits", as_method(with_logits), fast_call, nullptr},
                                 {"_nn_nll_loss", as_method(nll_loss), fast_call, nullptr},
                                 {"_nn_linear", as_method(linear), fast_call, nullptr},
                                 {"_nn_embedding", as_method(embedding), fast_call, nullptr},
                                 {"_nn_layer_norm", as_method(layer_norm), fast_call, nullptr},
                                 {"_nn_batch_norm", as_method(batch_norm), fast_call, nullptr},
                                 {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
