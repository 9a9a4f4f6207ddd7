// Methods and functions that count, measure, or run along a dimension.
#include "engine_py/dim_args.hpp"
#include "engine_py/errors.hpp"
#include "engine_py/methods.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {
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
    // A list of none is none here, not all.
    return wrap(dims.empty() ? ops::to_dtype(tensor, DType::boolean) : Op::some(tensor, dims, keepdim)).release();
  });
}

PyObject* count_nonzero_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("count_nonzero", {"dim"}, 0, arguments, count, names);
    return wrap(ops::count_nonzero(unwrap(self), dims_or_all(args, 0))).release();
  });
}

template <Tensor (*op)(const Tensor&, const ops::OptionalDims&, bool, const DType*)>
PyObject* without_nans(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(op == &ops::nansum ? "nansum" : "nanmean", {"dim", "keepdim", "dtype"}, 0, arguments, count, names);
    return wrap(op(unwrap(self), optional_dims(args, 0), args.flag(1, false), GivenDType(args, 2).get())).release();
  });
}

// The order of a norm that is given as text, or not at all. Error: one of matrices.
Scalar named_order(const TensorImpl& input, const Args& args, const ops::OptionalDims& dims) {
  std::string order = "fro";
  if (args[0] != nullptr) {
    const Ref name = checked(PyUnicode_AsUTF8String(args[0]));
    order = PyBytes_AS_STRING(name.get());
  }
  const size_t count = dims ? dims->size() : 2;
  if (order == "fro" && count <= 2) return 2;
  require(order == "fro" || order == "nuc", "linalg.matrix_norm: Order ", order, " not supported.");
  require(input.dim() >= 2, "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.");
  std::string listed;
  if (dims)
    for (int64_t dim : *dims) listed += concat(" ", dim);
  require(count == 2, "linalg.matrix_norm: dim must be a 2-tuple. Got", listed);
  fail(ErrorKind::not_implemented, "gradlife's engine has no norm of singular values");
}

PyObject* norm_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("norm", {"p", "dim", "keepdim", "dtype"}, 0, arguments, count, names);
    const ops::OptionalDims dims = optional_dims(args, 1);
    const bool is_named = args[0] == nullptr || PyUnicode_Check(args[0]);
    const Scalar order = is_named ? named_order(*unwrap(self), args, dims) : args.number(0, 2.0);
    return wrap(ops::vector_norm(unwrap(self), order, dims, args.flag(2, false), GivenDType(args, 3).get())).release();
  });
}

PyObject* vector_norm_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("linalg_vector_norm", {"x", "ord", "dim", "keepdim", "dtype"}, 1, arguments, count, names);
    const Tensor input = args.tensor(0);
    return wrap(ops::vector_norm(input, args.number(1, 2), optional_dims(args, 2), args.flag(3, false),
                                 GivenDType(args, 4).get()))
        .release();
  });
}

PyObject* dist_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("dist", {"other", "p"}, 1, arguments, count, names);
    return wrap(ops::dist(unwrap(self), args.tensor(0), args.number(1, 2))).release();
  });
}

template <Tensor (*op)(const Tensor&, int64_t, const DType*)>
PyObject* running(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const char* name = op == &ops::cumsum ? "cumsum" : "cumprod";
    const Args args(name, {"dim", "dtype"}, 1, arguments, count, names);
    return wrap(op(unwrap(self), args.integer(0, 0), GivenDType(args, 1).get())).release();
  });
}

template <Tensor (*op)(const Tensor&, int64_t, const DType*)>
PyObject* running_in_place(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(op == &ops::cumsum_in_place ? "cumsum_" : "cumprod_", {"dim", "dtype"}, 1, arguments, count, names);
    op(unwrap(self), args.integer(0, 0), GivenDType(args, 1).get());
    return Py_NewRef(self);
  });
}

PyObject* logcumsumexp_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("logcumsumexp", {"dim"}, 1, arguments, count, names);
    return wrap(ops::logcumsumexp(unwrap(self), args.integer(0, 0))).release();
  });
}

PyObject* diff_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("diff", {"n", "dim", "prepend", "append"}, 0, arguments, count, names);
    const Tensor before = args.has(2) ? args.tensor(2) : Tensor();
    const Tensor after = args.has(3) ? args.tensor(3) : Tensor();
    return wrap(ops::diff(unwrap(self), args.integer(0, 1), args.integer(1, -1), before, after)).release();
  });
}

}  // namespace

const Operation running_operations[] = {operation<quantifier<All>>("all"),
                                        operation<quantifier<Any>>("any"),
                                        operation<count_nonzero_method>("count_nonzero"),
                                        operation<without_nans<ops::nansum>>("nansum"),
                                        operation<without_nans<ops::nanmean>>("nanmean"),
                                        operation<norm_method>("norm"),
                                        operation<dist_method>("dist"),
                                        operation<running<ops::cumsum>>("cumsum"),
                                        operation<running<ops::cumprod>>("cumprod"),
                                        operation<logcumsumexp_method>("logcumsumexp"),
                                        operation<diff_method>("diff"),
                                        {nullptr, nullptr, nullptr}};

PyMethodDef running_functions[] = {{"_linalg_vector_norm", as_method(vector_norm_function), fast_call, nullptr},
                                   {nullptr, nullptr, 0, nullptr}};

PyMethodDef running_in_place_methods[] = {
    {"cumsum_", as_method(running_in_place<ops::cumsum_in_place>), fast_call, nullptr},
    {"cumprod_", as_method(running_in_place<ops::cumprod_in_place>), fast_call, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
