// Methods and functions that multiply vectors and matrices, and add their products to a tensor.
#include "engine/product_ops.hpp"
#include "engine_py/errors.hpp"
#include "engine_py/methods.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {
namespace {

using Added = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const ops::Factors&);

struct Matrices {
  static constexpr const char* name = "addmm";
  static constexpr const char* first = "mat1";
  static constexpr const char* second = "mat2";
  static constexpr Added call = ops::addmm;
  static constexpr Added change = ops::addmm_in_place;
};
struct MatrixVector {
  static constexpr const char* name = "addmv";
  static constexpr const char* first = "mat";
  static constexpr const char* second = "vec";
  static constexpr Added call = ops::addmv;
  static constexpr Added change = ops::addmv_in_place;
};
struct Vectors {
  static constexpr const char* name = "addr";
  static constexpr const char* first = "vec1";
  static constexpr const char* second = "vec2";
  static constexpr Added call = ops::addr;
  static constexpr Added change = ops::addr_in_place;
};
struct Batches {
  static constexpr const char* name = "baddbmm";
  static constexpr const char* first = "batch1";
  static constexpr const char* second = "batch2";
  static constexpr Added call = ops::baddbmm;
  static constexpr Added change = ops::baddbmm_in_place;
};
struct SummedBatches {
  static constexpr const char* name = "addbmm";
  static constexpr const char* first = "batch1";
  static constexpr const char* second = "batch2";
  static constexpr Added call = ops::addbmm;
  static constexpr Added change = ops::addbmm_in_place;
};

template <class Op>
PyObject* added(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(Op::name, {Op::first, Op::second, "beta", "alpha"}, 2, arguments, count, names);
    const ops::Factors factors{args.number(2, 1), args.number(3, 1)};
    return wrap(Op::call(unwrap(self), args.tensor(0), args.tensor(1), factors)).release();
  });
}

template <class Op>
PyObject* added_in_place(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(Op::name, {Op::first, Op::second, "beta", "alpha"}, 2, arguments, count, names);
    Op::change(unwrap(self), args.tensor(0), args.tensor(1), {args.number(2, 1), args.number(3, 1)});
    return Py_NewRef(self);
  });
}

struct Outer {
  static constexpr const char* name = "outer";
  static constexpr const char* other = "vec2";
  static Tensor call(const Tensor& a, const Tensor& b) { return ops::outer(a, b); }
};
struct Inner {
  static constexpr const char* name = "inner";
  static constexpr const char* other = "other";
  static Tensor call(const Tensor& a, const Tensor& b) { return ops::inner(a, b); }
};
struct Vdot {
  static constexpr const char* name = "vdot";
  static constexpr const char* other = "other";
  static Tensor call(const Tensor& a, const Tensor& b) { return ops::vdot(a, b); }
};

template <class Op>
PyObject* product(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(Op::name, {Op::other}, 1, arguments, count, names);
    return wrap(Op::call(unwrap(self), args.tensor(0))).release();
  });
}

Dims counting_from(int64_t start, int64_t count) {
  Dims dims;
  for (int64_t i = 0; i < count; ++i) dims.push_back(start + i);
  return dims;
}

// The dimensions of both sides: so many last and first ones, or a pair of lists.
std::pair<Dims, Dims> contracted_dims(PyObject* dims, size_t fewest) {
  if (!is_sequence(dims)) {
    const int64_t count = parse_integer(dims);
    require(count >= 0, "tensordot expects dims >= 0, but got dims=", count);
    require(count <= static_cast<int64_t>(fewest), "tensordot expects dims < ndim_a or ndim_b, but got dims=", count);
    return {counting_from(-count, count), counting_from(0, count)};
  }
  const Ref pair = checked(PySequence_Fast(dims, ""));
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(pair.get());
  if (count < 2) fail(ErrorKind::value, "not enough values to unpack (expected 2, got ", count, ")");
  if (count > 2) fail(ErrorKind::value, "too many values to unpack (expected 2)");
  PyObject* first = PySequence_Fast_GET_ITEM(pair.get(), 0);
  PyObject* second = PySequence_Fast_GET_ITEM(pair.get(), 1);
  for (PyObject* each : {first, second})
    if (!is_sequence(each))
      raise_python(PyExc_TypeError, "tensordot(): the dimensions must be tuples of ints, not %s",
                   Py_TYPE(each)->tp_name);
  return {parse_dims(first), parse_dims(second)};
}

PyObject* tensordot_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("tensordot", {"a", "b", "dims"}, 2, arguments, count, names);
    const Tensor a = args.tensor(0);
    const Tensor b = args.tensor(1);
    const Ref two = checked(PyLong_FromLong(2));
    const auto [first, second] = contracted_dims(args.has(2) ? args[2] : two.get(), std::min(a->dim(), b->dim()));
    return wrap(ops::tensordot(a, b, first, second)).release();
  });
}

}  // namespace

const Operation product_operations[] = {
    operation<added<Matrices>>("addmm"),  operation<added<MatrixVector>>("addmv"),   operation<added<Vectors>>("addr"),
    operation<added<Batches>>("baddbmm"), operation<added<SummedBatches>>("addbmm"), operation<product<Outer>>("outer"),
    operation<product<Outer>>("ger"),     operation<product<Inner>>("inner"),        operation<product<Vdot>>("vdot"),
    {nullptr, nullptr, nullptr}};

PyMethodDef product_functions[] = {{"tensordot", as_method(tensordot_function), fast_call, nullptr},
                                   {nullptr, nullptr, 0, nullptr}};

PyMethodDef product_in_place_methods[] = {{"addmm_", as_method(added_in_place<Matrices>), fast_call, nullptr},
                                          {"addmv_", as_method(added_in_place<MatrixVector>), fast_call, nullptr},
                                          {"addr_", as_method(added_in_place<Vectors>), fast_call, nullptr},
                                          {"baddbmm_", as_method(added_in_place<Batches>), fast_call, nullptr},
                                          {"addbmm_", as_method(added_in_place<SummedBatches>), fast_call, nullptr},
                                          {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
