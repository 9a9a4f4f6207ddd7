// Activations with parameters, for torch.nn.functional: it gives every argument, by position.
#include "engine/activations.hpp"
#include "engine/unary.hpp"
#include "engine_py/errors.hpp"
#include "engine_py/methods.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {
namespace {

using One = Tensor (*)(const Tensor&, const Scalar&);
using Two = Tensor (*)(const Tensor&, const Scalar&, const Scalar&);
using Three = Tensor (*)(const Tensor&, const Scalar&, const Scalar&, const Scalar&);

// The change of a tensor gives back the object that it was given.
template <bool in_place>
PyObject* result(const Args& args, const Tensor& tensor) {
  return in_place ? Py_NewRef(args[0]) : wrap(tensor).release();
}

template <One op, bool in_place = false>
PyObject* with_one(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("activation", {"input", "parameter"}, 2, arguments, count, names);
    return result<in_place>(args, op(args.tensor(0), args.number(1, 0)));
  });
}

template <Two op, bool in_place = false>
PyObject* with_two(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("activation", {"input", "first", "second"}, 3, arguments, count, names);
    return result<in_place>(args, op(args.tensor(0), args.number(1, 0), args.number(2, 0)));
  });
}

template <Three op, bool in_place = false>
PyObject* with_three(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("activation", {"input", "first", "second", "third"}, 4, arguments, count, names);
    return result<in_place>(args, op(args.tensor(0), args.number(1, 0), args.number(2, 0), args.number(3, 0)));
  });
}

template <Tensor (*op)(const Tensor&), bool in_place = false>
PyObject* with_none(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("activation", {"input"}, 1, arguments, count, names);
    return result<in_place>(args, op(args.tensor(0)));
  });
}

template <const ops::UnaryRule& rule>
Tensor ruled(const Tensor& tensor) {
  return ops::apply(rule, tensor);
}
template <const ops::UnaryRule& rule>
Tensor ruled_in_place(const Tensor& tensor) {
  return ops::apply_in_place(rule, tensor);
}

template <Tensor (*op)(const Tensor&, bool)>
PyObject* gelu_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("gelu", {"input", "by_tanh"}, 2, arguments, count, names);
    return wrap(op(args.tensor(0), args.flag(1, false))).release();
  });
}

}  // namespace

PyMethodDef activation_functions[] = {
    {"_nn_softplus", as_method(with_two<ops::softplus>), fast_call, nullptr},
    {"_nn_elu", as_method(with_three<ops::elu>), fast_call, nullptr},
    {"_nn_elu_", as_method(with_three<ops::elu_in_place, true>), fast_call, nullptr},
    {"_nn_celu", as_method(with_one<ops::celu>), fast_call, nullptr},
    {"_nn_celu_", as_method(with_one<ops::celu_in_place, true>), fast_call, nullptr},
    {"_nn_leaky_relu", as_method(with_one<ops::leaky_relu>), fast_call, nullptr},
    {"_nn_leaky_relu_", as_method(with_one<ops::leaky_relu_in_place, true>), fast_call, nullptr},
    {"_nn_hardtanh", as_method(with_two<ops::hardtanh>), fast_call, nullptr},
    {"_nn_hardtanh_", as_method(with_two<ops::hardtanh_in_place, true>), fast_call, nullptr},
    {"_nn_threshold", as_method(with_two<ops::threshold>), fast_call, nullptr},
    {"_nn_threshold_", as_method(with_two<ops::threshold_in_place, true>), fast_call, nullptr},
    {"_nn_softshrink", as_method(with_one<ops::softshrink>), fast_call, nullptr},
    {"_nn_hardswish", as_method(with_none<ops::hardswish>), fast_call, nullptr},
    {"_nn_hardswish_", as_method(with_none<ops::hardswish_in_place, true>), fast_call, nullptr},
    {"_nn_log_sigmoid", as_method(with_none<ops::log_sigmoid>), fast_call, nullptr},
    {"_nn_silu", as_method(with_none<ruled<ops::silu_rule>>), fast_call, nullptr},
    {"_nn_silu_", as_method(with_none<ruled_in_place<ops::silu_rule>, true>), fast_call, nullptr},
    {"_nn_mish", as_method(with_none<ruled<ops::mish_rule>>), fast_call, nullptr},
    {"_nn_mish_", as_method(with_none<ruled_in_place<ops::mish_rule>, true>), fast_call, nullptr},
    {"_nn_gelu", as_method(gelu_function<ops::gelu>), fast_call, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
