// Methods and functions that remove dimensions, or normalise along one.
#include "engine/reduction_ops.hpp"
#include "engine_py/dim_args.hpp"
#include "engine_py/errors.hpp"
#include "engine_py/methods.hpp"
#include "engine_py/state.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {
namespace {

struct Sum {
  static constexpr const char* name = "sum";
  static Tensor all(const Tensor& a, const DType* dtype) { return ops::sum(a, dtype); }
  static Tensor some(const Tensor& a, const Dims& dims, bool keepdim, const DType* dtype) {
    return ops::sum(a, dims, keepdim, dtype);
  }
};
struct Mean {
  static constexpr const char* name = "mean";
  static Tensor all(const Tensor& a, const DType* dtype) { return ops::mean(a, dtype); }
  static Tensor some(const Tensor& a, const Dims& dims, bool keepdim, const DType* dtype) {
    return ops::mean(a, dims, keepdim, dtype);
  }
};

template <class Op>
PyObject* reduction(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(Op::name, {"dim", "keepdim", "dtype"}, 0, arguments, count, names);
    const Tensor& tensor = unwrap(self);
    const GivenDType dtype(args, 2);
    const bool keepdim = args.flag(1, false);
    if (args[0] == nullptr && args[1] == nullptr) return wrap(Op::all(tensor, dtype.get())).release();
    return wrap(Op::some(tensor, dims_or_all(args, 0), keepdim, dtype.get())).release();
  });
}

PyObject* prod_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("prod", {"dim", "keepdim", "dtype"}, 0, arguments, count, names);
    const Tensor& tensor = unwrap(self);
    const GivenDType dtype(args, 2);
    if (args[0] == nullptr) return wrap(ops::prod(tensor, dtype.get())).release();
    if (!args.has(0)) args.wrong_type(0, "int");
    return wrap(ops::prod(tensor, args.integer(0, 0), args.flag(1, false), dtype.get())).release();
  });
}

// max(), max(other), max(dim, keepdim)
template <ops::Extreme which>
PyObject* extremum_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const char* name = which == ops::Extreme::max ? "max" : "min";
    const Tensor& tensor = unwrap(self);
    const bool has_other =
        (count > 0 && is_tensor(arguments[0])) ||
        (names != nullptr && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "other") == 0);
    if (has_other) {
      const Args args(name, {"other"}, 1, arguments, count, names);
      return wrap(ops::larger_or_smaller(which, tensor, args.tensor(0))).release();
    }
    const Args args(name, {"dim", "keepdim"}, 0, arguments, count, names);
    if (args[0] == nullptr) return wrap(ops::extremum(which, tensor)).release();
    if (!args.has(0)) args.wrong_type(0, "int");
    const auto [values, indices] = ops::extremum(which, tensor, args.integer(0, 0), args.flag(1, false));
    return wrap_named(name, {values, indices}).release();
  });
}

template <ops::Extreme which>
PyObject* extremum_of_dims_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const char* name = which == ops::Extreme::max ? "amax" : "amin";
    const Args args(name, {"dim", "keepdim"}, 0, arguments, count, names);
    return wrap(ops::extremum_of_dims(which, unwrap(self), dims_or_all(args, 0), args.flag(1, false))).release();
  });
}

template <ops::Extreme which>
PyObject* index_of_extremum_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const char* name = which == ops::Extreme::max ? "argmax" : "argmin";
    const Args args(name, {"dim", "keepdim"}, 0, arguments, count, names);
    std::optional<int64_t> dim;
    if (args.has(0)) dim = args.integer(0, 0);
    return wrap(ops::index_of_extremum(which, unwrap(self), dim, args.flag(1, false))).release();
  });
}

template <ops::Extreme which>
PyObject* larger_or_smaller_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(which == ops::Extreme::max ? "maximum" : "minimum", {"other"}, 1, arguments, count, names);
    return wrap(ops::larger_or_smaller(which, unwrap(self), args.tensor(0))).release();
  });
}

// The arguments of var and its kin: (unbiased), (dim, unbiased, keepdim), or (dim, *, correction, keepdim).
struct SpreadArguments {
  ops::OptionalDims dims;
  ops::Correction correction;
  bool keepdim;

  SpreadArguments(const char* name, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (count > 0 && PyBool_Check(arguments[0])) {
      const Args args(name, {"unbiased"}, 1, arguments, count, names);
      correction = Scalar(args.flag(0, true) ? 1 : 0);
      keepdim = false;
      return;
    }
    const Args args(name, {"dim", "unbiased", "keepdim", "correction"}, 0, arguments, count, names);
    dims = optional_dims(args, 0);
    keepdim = args.flag(2, false);
    if (args.has(3)) correction = args.number(3, 1);
    // The older signatures say how to correct even where the caller does not.
    if (args.has(1) || (dims && args[3] == nullptr)) correction = Scalar(args.flag(1, true) ? 1 : 0);
  }
};

void warn_without_freedom(const char* name, const TensorImpl& input, const TensorImpl& result,
                          const SpreadArguments& given) {
  const double factor = static_cast<double>(input.numel()) / static_cast<double>(std::max<int64_t>(1, result.numel()));
  const double correction = given.correction ? given.correction->to<double>() : 1;
  if (result.numel() == 0 || factor > correction || state().warn == nullptr) return;
  const std::string text =
      concat(name,
             "(): degrees of freedom is <= 0. Correction should be strictly less than the reduction "
             "factor (input numel divided by output numel).");
  checked(PyObject_CallFunction(state().warn, "Os", PyExc_UserWarning, text.c_str()));
}

using Spread = Tensor (*)(const Tensor&, const ops::OptionalDims&, const ops::Correction&, bool);
using SpreadAndMean = ops::TwoTensors (*)(const Tensor&, const ops::OptionalDims&, const ops::Correction&, bool);

template <Spread op>
PyObject* spread_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const char* name = op == &ops::var ? "var" : "std";
    const SpreadArguments given(name, arguments, count, names);
    const Tensor input = unwrap(self);
    Tensor result = op(input, given.dims, given.correction, given.keepdim);
    warn_without_freedom(name, *input, *result, given);
    return wrap(std::move(result)).release();
  });
}

template <SpreadAndMean op>
PyObject* spread_and_mean_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const char* name = op == &ops::var_mean ? "var_mean" : "std_mean";
    const SpreadArguments given(name, arguments, count, names);
    const Tensor input = unwrap(self);
    const auto [spread, mean] = op(input, given.dims, given.correction, given.keepdim);
    warn_without_freedom(name, *input, *spread, given);
    return wrap_tuple({spread, mean}).release();
  });
}

template <Tensor (*op)(const Tensor&, int64_t, const DType*)>
PyObject* along_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(op == &ops::softmax ? "softmax" : "log_softmax", {"dim", "dtype"}, 1, arguments, count, names);
    return wrap(op(unwrap(self), args.integer(0, 0), GivenDType(args, 1).get())).release();
  });
}

PyObject* logsumexp_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("logsumexp", {"dim", "keepdim"}, 1, arguments, count, names);
    return wrap(ops::logsumexp(unwrap(self), args.dims(0), args.flag(1, false))).release();
  });
}

constexpr ops::Extreme max = ops::Extreme::max;
constexpr ops::Extreme min = ops::Extreme::min;

}  // namespace

Ref wrap_named(const char* kind, const TensorList& tensors) {
  const Ref values = wrap_tuple(tensors);
  return checked(PyObject_CallFunction(state().named_result, "sO", kind, values.get()));
}

const Operation reduction_operations[] = {operation<reduction<Sum>>("sum"),
                                          operation<reduction<Mean>>("mean"),
                                          operation<prod_method>("prod"),
                                          operation<extremum_method<max>>("max"),
                                          operation<extremum_method<min>>("min"),
                                          operation<extremum_of_dims_method<max>>("amax"),
                                          operation<extremum_of_dims_method<min>>("amin"),
                                          operation<index_of_extremum_method<max>>("argmax"),
                                          operation<index_of_extremum_method<min>>("argmin"),
                                          operation<larger_or_smaller_method<max>>("maximum"),
                                          operation<larger_or_smaller_method<min>>("minimum"),
                                          operation<spread_method<ops::var>>("var"),
                                          operation<spread_method<ops::std>>("std"),
                                          operation<along_method<ops::softmax>>("softmax"),
                                          operation<along_method<ops::log_softmax>>("log_softmax"),
                                          operation<logsumexp_method>("logsumexp"),
                                          {nullptr, nullptr, nullptr}};

PyMethodDef reduction_functions[] = {
    {"var_mean", as_method(as_function<spread_and_mean_method<ops::var_mean>>), fast_call, nullptr},
    {"std_mean", as_method(as_function<spread_and_mean_method<ops::std_mean>>), fast_call, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
