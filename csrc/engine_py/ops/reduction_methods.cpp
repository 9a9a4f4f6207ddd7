// Methods and functions that remove dimensions, or normalise along one.
#include "engine/ops/reduction_ops.hpp"
#include "engine_py/call/methods.hpp"
#include "engine_py/call/warnings.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"
#include "engine_py/ops/dim_args.hpp"
#include "engine_py/wrappers/wrapper.hpp"

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

// max(), max(dim, keepdim)
PyObject* max_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("max", {"dim", "keepdim"}, 0, arguments, count, names);
    const Tensor& tensor = unwrap(self);
    if (args[0] == nullptr) return wrap(ops::max(tensor)).release();
    if (!args.has(0)) args.wrong_type(0, "int");
    const auto [values, indices] = ops::max(tensor, args.integer(0, 0), args.flag(1, false));
    return wrap_named("max", {values, indices}).release();
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
    // The older signatures determine the correction even if the caller does not.
    if (args.has(1) || (dims && args[3] == nullptr)) correction = Scalar(args.flag(1, true) ? 1 : 0);
  }
};

void warn_without_freedom(const char* name, const TensorImpl& input, const TensorImpl& result,
                          const SpreadArguments& given) {
  const double factor = static_cast<double>(input.numel()) / static_cast<double>(std::max<int64_t>(1, result.numel()));
  const double correction = given.correction ? given.correction->to<double>() : 1;
  if (result.numel() == 0 || factor > correction) return;
  warn(PyExc_UserWarning,
       concat(name,
              "(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input "
              "numel divided by output numel).")
           .c_str());
}

PyObject* var_mean_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const SpreadArguments given("var_mean", arguments, count, names);
    const Tensor input = unwrap(self);
    const auto [variance, mean] = ops::var_mean(input, given.dims, given.correction, given.keepdim);
    warn_without_freedom("var_mean", *input, *variance, given);
    return wrap_tuple({variance, mean}).release();
  });
}

PyObject* softmax_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("softmax", {"dim", "dtype"}, 1, arguments, count, names);
    return wrap(ops::softmax(unwrap(self), args.integer(0, 0), GivenDType(args, 1).get())).release();
  });
}

PyObject* logsumexp_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("logsumexp", {"dim", "keepdim"}, 1, arguments, count, names);
    return wrap(ops::logsumexp(unwrap(self), args.dims(0), args.flag(1, false))).release();
  });
}

}  // namespace

Ref wrap_named(const char* kind, const TensorList& tensors) {
  const Ref values = wrap_tuple(tensors);
  return checked(PyObject_CallFunction(state().named_result, "sO", kind, values.get()));
}

const Operation reduction_operations[] = {
    operation<reduction<Sum>>("sum"), operation<reduction<Mean>>("mean"),   operation<prod_method>("prod"),
    operation<max_method>("max"),     operation<softmax_method>("softmax"), operation<logsumexp_method>("logsumexp"),
    {nullptr, nullptr, nullptr}};

PyMethodDef reduction_functions[] = {{"var_mean", as_method(as_function<var_mean_method>), fast_call, nullptr},
                                     {nullptr, nullptr, 0, nullptr}};

namespace {

struct All {
  static constexpr const char* name = "all";
  static Tensor whole(const Tensor& a) { return ops::all(a); }
  static Tensor some(const Tensor& a, const Dims& dims, bool keepdim) { return ops::all_of_dims(a, dims, keepdim); }
};
struct Any {
  static constexpr const char* name = "any";
  static Tensor whole(const Tensor& a) { return ops::any(a); }
  static Tensor some(const Tensor& a, const Dims& dims, bool keepdim) { return ops::any_of_dims(a, dims, keepdim); }
};

template <class Op>
PyObject* quantifier(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(Op::name, {"dim", "keepdim"}, 0, arguments, count, names);
    const Tensor& tensor = unwrap(self);
    const bool keepdim = args.flag(1, false);
    if (!args.has(0)) return wrap(keepdim ? Op::some(tensor, {}, true) : Op::whole(tensor)).release();
    const Dims dims = args.dims(0);
    // An empty list means no dimensions here, not all.
    return wrap(dims.empty() ? ops::to_dtype(tensor, DType::boolean) : Op::some(tensor, dims, keepdim)).release();
  });
}

}  // namespace

const Operation scan_operations[] = {
    operation<quantifier<All>>("all"), operation<quantifier<Any>>("any"), {nullptr, nullptr, nullptr}};

}  // namespace gradlife
