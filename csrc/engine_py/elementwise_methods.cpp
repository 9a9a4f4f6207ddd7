// Element-wise functions as Python calls them: methods, functions of the module, and in-place forms of both.
#include "engine/activations.hpp"
#include "engine/elementwise.hpp"
#include "engine/unary.hpp"
#include "engine_py/errors.hpp"
#include "engine_py/methods.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {
namespace {

template <const ops::UnaryRule& rule>
PyObject* unary(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    refuse_arguments(arguments, count, names);
    return wrap(ops::apply(rule, unwrap(self))).release();
  });
}

template <const ops::UnaryRule& rule>
PyObject* unary_in_place(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    refuse_arguments(arguments, count, names);
    ops::apply_in_place(rule, unwrap(self));
    return Py_NewRef(self);
  });
}

PyObject* positive(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    refuse_arguments(arguments, count, names);
    require(unwrap(self)->dtype() != DType::boolean, "The `+` operator, on a bool tensor is not supported.");
    return Py_NewRef(self);
  });
}

using Pair = Tensor (*)(const Tensor&, const Tensor&);

template <Pair op>
PyObject* pair(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("operation", {"other"}, 1, arguments, count, names);
    return wrap(op(unwrap(self), args.tensor(0))).release();
  });
}

template <Pair op>
PyObject* pair_in_place(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("operation", {"other"}, 1, arguments, count, names);
    op(unwrap(self), args.tensor(0));
    return Py_NewRef(self);
  });
}

PyObject* lerp_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("lerp", {"end", "weight"}, 2, arguments, count, names);
    Scalar weight;
    if (parse_number(args[1], &weight)) return wrap(ops::lerp(unwrap(self), args.tensor(0), weight)).release();
    return wrap(ops::lerp(unwrap(self), args.tensor(0), args.tensor(1))).release();
  });
}

PyObject* lerp_in_place_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("lerp_", {"end", "weight"}, 2, arguments, count, names);
    Scalar weight;
    if (parse_number(args[1], &weight)) {
      ops::lerp_in_place(unwrap(self), args.tensor(0), weight);
    } else {
      ops::lerp_in_place(unwrap(self), args.tensor(0), args.tensor(1));
    }
    return Py_NewRef(self);
  });
}

using Triple = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const Scalar&);

template <Triple op>
PyObject* triple(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("operation", {"tensor1", "tensor2", "value"}, 2, arguments, count, names);
    return wrap(op(unwrap(self), args.tensor(0), args.tensor(1), args.number(2, 1))).release();
  });
}

template <Triple op>
PyObject* triple_in_place(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("operation", {"tensor1", "tensor2", "value"}, 2, arguments, count, names);
    op(unwrap(self), args.tensor(0), args.tensor(1), args.number(2, 1));
    return Py_NewRef(self);
  });
}

PyObject* logit_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("logit", {"eps"}, 0, arguments, count, names);
    const Scalar margin = args.number(0, 0);
    return wrap(ops::logit(unwrap(self), args.has(0) ? &margin : nullptr)).release();
  });
}

PyObject* logit_in_place_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("logit_", {"eps"}, 0, arguments, count, names);
    const Scalar margin = args.number(0, 0);
    ops::logit_in_place(unwrap(self), args.has(0) ? &margin : nullptr);
    return Py_NewRef(self);
  });
}

PyObject* hardshrink_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("hardshrink", {"lambd"}, 0, arguments, count, names);
    return wrap(ops::hardshrink(unwrap(self), args.number(0, 0.5))).release();
  });
}

}  // namespace

const Operation elementwise_operations[] = {operation<unary<ops::tan_rule>>("tan"),
                                            operation<unary<ops::sinh_rule>>("sinh"),
                                            operation<unary<ops::cosh_rule>>("cosh"),
                                            operation<unary<ops::asin_rule>>("asin"),
                                            operation<unary<ops::asin_rule>>("arcsin"),
                                            operation<unary<ops::acos_rule>>("acos"),
                                            operation<unary<ops::acos_rule>>("arccos"),
                                            operation<unary<ops::atan_rule>>("atan"),
                                            operation<unary<ops::atan_rule>>("arctan"),
                                            operation<unary<ops::asinh_rule>>("asinh"),
                                            operation<unary<ops::asinh_rule>>("arcsinh"),
                                            operation<unary<ops::acosh_rule>>("acosh"),
                                            operation<unary<ops::acosh_rule>>("arccosh"),
                                            operation<unary<ops::atanh_rule>>("atanh"),
                                            operation<unary<ops::atanh_rule>>("arctanh"),
                                            operation<unary<ops::deg2rad_rule>>("deg2rad"),
                                            operation<unary<ops::rad2deg_rule>>("rad2deg"),
                                            operation<unary<ops::log2_rule>>("log2"),
                                            operation<unary<ops::log10_rule>>("log10"),
                                            operation<unary<ops::log1p_rule>>("log1p"),
                                            operation<unary<ops::expm1_rule>>("expm1"),
                                            operation<unary<ops::exp2_rule>>("exp2"),
                                            operation<unary<ops::rsqrt_rule>>("rsqrt"),
                                            operation<unary<ops::erf_rule>>("erf"),
                                            operation<unary<ops::erfc_rule>>("erfc"),
                                            operation<positive>("positive"),
                                            operation<pair<ops::atan2>>("atan2"),
                                            operation<pair<ops::atan2>>("arctan2"),
                                            operation<pair<ops::hypot>>("hypot"),
                                            operation<pair<ops::logaddexp>>("logaddexp"),
                                            operation<pair<ops::xlogy>>("xlogy"),
                                            operation<lerp_method>("lerp"),
                                            operation<triple<ops::addcmul>>("addcmul"),
                                            operation<triple<ops::addcdiv>>("addcdiv"),
                                            operation<logit_method>("logit"),
                                            operation<hardshrink_method>("hardshrink"),
                                            {nullptr, nullptr, nullptr}};

const Operation elementwise_in_place_operations[] = {operation<unary_in_place<ops::tan_rule>>("tan_"),
                                                     operation<unary_in_place<ops::sinh_rule>>("sinh_"),
                                                     operation<unary_in_place<ops::cosh_rule>>("cosh_"),
                                                     operation<unary_in_place<ops::asin_rule>>("asin_"),
                                                     operation<unary_in_place<ops::acos_rule>>("acos_"),
                                                     operation<unary_in_place<ops::atan_rule>>("atan_"),
                                                     operation<unary_in_place<ops::asinh_in_place_rule>>("asinh_"),
                                                     operation<unary_in_place<ops::acosh_in_place_rule>>("acosh_"),
                                                     operation<unary_in_place<ops::atanh_in_place_rule>>("atanh_"),
                                                     operation<unary_in_place<ops::deg2rad_rule>>("deg2rad_"),
                                                     operation<unary_in_place<ops::rad2deg_rule>>("rad2deg_"),
                                                     operation<unary_in_place<ops::log2_rule>>("log2_"),
                                                     operation<unary_in_place<ops::log10_rule>>("log10_"),
                                                     operation<unary_in_place<ops::log1p_rule>>("log1p_"),
                                                     operation<unary_in_place<ops::expm1_rule>>("expm1_"),
                                                     operation<unary_in_place<ops::exp2_rule>>("exp2_"),
                                                     operation<unary_in_place<ops::rsqrt_rule>>("rsqrt_"),
                                                     operation<unary_in_place<ops::erf_rule>>("erf_"),
                                                     operation<unary_in_place<ops::erfc_rule>>("erfc_"),
                                                     operation<logit_in_place_method>("logit_"),
                                                     operation<pair_in_place<ops::xlogy_in_place>>("xlogy_"),
                                                     {nullptr, nullptr, nullptr}};

PyMethodDef elementwise_in_place_methods[] = {
    {"atan2_", as_method(pair_in_place<ops::atan2_in_place>), fast_call, nullptr},
    {"hypot_", as_method(pair_in_place<ops::hypot_in_place>), fast_call, nullptr},
    {"lerp_", as_method(lerp_in_place_method), fast_call, nullptr},
    {"addcmul_", as_method(triple_in_place<ops::addcmul_in_place>), fast_call, nullptr},
    {"addcdiv_", as_method(triple_in_place<ops::addcdiv_in_place>), fast_call, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
