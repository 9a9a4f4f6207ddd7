// Methods and functions that give views, other shapes, and several tensors from one.
#include "engine/ops.hpp"
#include "engine_py/errors.hpp"
#include "engine_py/methods.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {
namespace {

template <Tensor (*op)(const Tensor&)>
PyObject* unary(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    refuse_arguments(arguments, count, names);
    return wrap(op(unwrap(self))).release();
  });
}

// clone, contiguous: the memory format is always the plain one.
template <Tensor (*op)(const Tensor&)>
PyObject* formatted(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("clone", {"memory_format"}, 0, arguments, count, names);
    return wrap(op(unwrap(self))).release();
  });
}

struct View {
  static constexpr const char* name = "view";
  static constexpr const char* parameter = "size";
  static Tensor call(const Tensor& tensor, const Dims& sizes) { return ops::view(tensor, sizes); }
};
struct Reshape {
  static constexpr const char* name = "reshape";
  static constexpr const char* parameter = "shape";
  static Tensor call(const Tensor& tensor, const Dims& sizes) { return ops::reshape(tensor, sizes); }
};
struct Expand {
  static constexpr const char* name = "expand";
  static constexpr const char* parameter = "size";
  static Tensor call(const Tensor& tensor, const Dims& sizes) { return ops::expand(tensor, sizes); }
};
struct Permute {
  static constexpr const char* name = "permute";
  static constexpr const char* parameter = "dims";
  static Tensor call(const Tensor& tensor, const Dims& dims) { return ops::permute(tensor, dims); }
};

// `view(2, 3)`, `view((2, 3))`, `view(size=(2, 3))`.
template <class Op>
PyObject* with_sizes(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    if (names != nullptr) {
      const Args args(Op::name, {Op::parameter}, 1, arguments, count, names);
      return wrap(Op::call(unwrap(self), args.dims(0))).release();
    }
    if (count == 0)
      raise_python(PyExc_TypeError, "%s() missing 1 required positional arguments: \"%s\"", Op::name, Op::parameter);
    for (Py_ssize_t i = 0; i < count; ++i)
      if (!PyIndex_Check(arguments[i]) && !(count == 1 && is_sequence(arguments[i])))
        raise_python(PyExc_TypeError,
                     "%s(): argument '%s' must be tuple of ints, but found element of type %.200s at pos %zd", Op::name,
                     Op::parameter, Py_TYPE(arguments[i])->tp_name, i);
    return wrap(Op::call(unwrap(self), parse_sizes(arguments, count))).release();
  });
}

template <class Op>
PyObject* like_other(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(Op::name, {"other"}, 1, arguments, count, names);
    return wrap(Op::call(unwrap(self), args.tensor(0)->sizes())).release();
  });
}

PyObject* transpose_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("transpose", {"dim0", "dim1"}, 2, arguments, count, names);
    return wrap(ops::transpose(unwrap(self), args.integer(0, 0), args.integer(1, 0))).release();
  });
}

PyObject* unsqueeze_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("unsqueeze", {"dim"}, 1, arguments, count, names);
    return wrap(ops::unsqueeze(unwrap(self), args.integer(0, 0))).release();
  });
}

PyObject* squeeze_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("squeeze", {"dim"}, 0, arguments, count, names);
    const Tensor& tensor = unwrap(self);
    if (!args.has(0)) return wrap(ops::squeeze(tensor)).release();
    if (is_sequence(args[0])) return wrap(ops::squeeze(tensor, args.dims(0))).release();
    return wrap(ops::squeeze(tensor, args.integer(0, 0))).release();
  });
}

PyObject* select_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("select", {"dim", "index"}, 2, arguments, count, names);
    return wrap(ops::select(unwrap(self), args.integer(0, 0), args.integer(1, 0))).release();
  });
}

PyObject* narrow_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("narrow", {"dim", "start", "length"}, 3, arguments, count, names);
    return wrap(ops::narrow(unwrap(self), args.integer(0, 0), args.integer(1, 0), args.integer(2, 0))).release();
  });
}

PyObject* flatten_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("flatten", {"start_dim", "end_dim"}, 0, arguments, count, names);
    return wrap(ops::flatten(unwrap(self), args.integer(0, 0), args.integer(1, -1))).release();
  });
}

PyObject* as_strided_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("as_strided", {"size", "stride", "storage_offset"}, 2, arguments, count, names);
    const Tensor& tensor = unwrap(self);
    return wrap(ops::as_strided(tensor, args.dims(0), args.dims(1), optional_integer(args, 2))).release();
  });
}

PyObject* unbind_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("unbind", {"dim"}, 0, arguments, count, names);
    return wrap_tuple(ops::unbind(unwrap(self), args.integer(0, 0))).release();
  });
}

PyObject* split_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("split", {"split_size_or_sections", "dim"}, 1, arguments, count, names);
    const int64_t dim = args.integer(1, 0);
    if (is_sequence(args[0])) return wrap_tuple(ops::split_sizes(unwrap(self), args.dims(0), dim)).release();
    return wrap_tuple(ops::split(unwrap(self), args.integer(0, 0), dim)).release();
  });
}

PyObject* chunk_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("chunk", {"chunks", "dim"}, 1, arguments, count, names);
    return wrap_tuple(ops::chunk(unwrap(self), args.integer(0, 0), args.integer(1, 0))).release();
  });
}

Tensor raveled(const Tensor& tensor) { return ops::view(ops::contiguous(tensor), {-1}); }

}  // namespace

const Operation shape_operations[] = {operation<with_sizes<View>>("view"),
                                      operation<like_other<View>>("view_as"),
                                      operation<with_sizes<Reshape>>("reshape"),
                                      operation<like_other<Reshape>>("reshape_as"),
                                      operation<with_sizes<Expand>>("expand"),
                                      operation<with_sizes<Expand>>("broadcast_to"),
                                      operation<like_other<Expand>>("expand_as"),
                                      operation<with_sizes<Permute>>("permute"),
                                      operation<transpose_method>("transpose"),
                                      operation<unary<ops::t>>("t"),
                                      operation<unsqueeze_method>("unsqueeze"),
                                      operation<squeeze_method>("squeeze"),
                                      operation<select_method>("select"),
                                      operation<narrow_method>("narrow"),
                                      operation<flatten_method>("flatten"),
                                      operation<unary<raveled>>("ravel"),
                                      operation<as_strided_method>("as_strided"),
                                      operation<unbind_method>("unbind"),
                                      operation<split_method>("split"),
                                      operation<chunk_method>("chunk"),
                                      operation<formatted<ops::clone>>("clone"),
                                      operation<formatted<ops::contiguous>>("contiguous"),
                                      {nullptr, nullptr, nullptr}};

}  // namespace gradlife
