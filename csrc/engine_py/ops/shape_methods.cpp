// Methods and functions that return views, other shapes, and several tensors from one.
#include "engine/ops/kernels/overlap.hpp"
#include "engine/ops/ops.hpp"
#include "engine_py/call/methods.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/types/storage_type.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

constexpr char clone_name[] = "clone", contiguous_name[] = "contiguous";

// clone, contiguous: the memory format is always contiguous.
template <Tensor (*op)(const Tensor&), const char* name>
PyObject* formatted(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args by_position(name, {}, 0, arguments, count, nullptr);  // takes none
    const Args args(name, {"memory_format"}, 0, arguments, count, names);
    return wrap(op(unwrap(self))).release();
  });
}

struct View {
  static constexpr const char *name = "view", *parameter = "size";
  static Tensor call(const Tensor& tensor, const Dims& sizes) { return ops::view(tensor, sizes); }
};
struct Reshape {
  static constexpr const char *name = "reshape", *parameter = "shape";
  static Tensor call(const Tensor& tensor, const Dims& sizes) { return ops::reshape(tensor, sizes); }
};
struct Expand {
  static constexpr const char *name = "expand", *parameter = "size";
  static Tensor call(const Tensor& tensor, const Dims& sizes) { return ops::expand(tensor, sizes); }
};
struct Permute {
  static constexpr const char *name = "permute", *parameter = "dims";
  static Tensor call(const Tensor& tensor, const Dims& dims) { return ops::permute(tensor, dims); }
};
struct Repeat {
  static constexpr const char *name = "repeat", *parameter = "repeats";
  static Tensor call(const Tensor& tensor, const Dims& times) { return ops::repeat(tensor, times); }
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

}  // namespace

const Operation shape_operations[] = {operation<with_sizes<Repeat>>("repeat"),
                                      operation<with_sizes<View>>("view"),
                                      operation<like_other<View>>("view_as"),
                                      operation<with_sizes<Reshape>>("reshape"),
                                      operation<with_sizes<Expand>>("expand"),
                                      operation<with_sizes<Permute>>("permute"),
                                      operation<transpose_method>("transpose"),
                                      operation<unary<ops::t>>("t"),
                                      operation<unsqueeze_method>("unsqueeze"),
                                      operation<squeeze_method>("squeeze"),
                                      operation<select_method>("select"),
                                      operation<narrow_method>("narrow"),
                                      operation<as_strided_method>("as_strided"),
                                      operation<unbind_method>("unbind"),
                                      operation<split_method>("split"),
                                      operation<chunk_method>("chunk"),
                                      operation<formatted<ops::clone, clone_name>>("clone"),
                                      operation<formatted<ops::contiguous, contiguous_name>>("contiguous"),
                                      {nullptr, nullptr, nullptr}};

namespace {

void set_to_nothing(const Tensor& target) { ops::set_in_place(target, make<Storage>(0), 0, {0}, nullptr, Tensor()); }

void set_to_tensor(const Tensor& target, const Args& args) {
  const Tensor source = args.tensor(0);
  require(source->dtype() == target->dtype(), "Could not set tensor of type ", ops::ctype_name(source->dtype()),
          " to a tensor of type ", ops::ctype_name(target->dtype()));
  if (!args.has(1) && !args.has(2)) {
    ops::set_in_place(target, source->storage(), source->offset(), source->sizes(), &source->strides(), source);
    return;
  }
  const Dims strides = args.has(3) ? args.dims(3) : Dims();
  ops::set_in_place(target, source->storage(), args.integer(1, 0), args.dims(2), args.has(3) ? &strides : nullptr,
                    source);
}

void set_to_storage(const Tensor& target, const Args& args) {
  const StoragePtr storage = unwrap_storage(args[0]);
  const Dims all{static_cast<int64_t>(storage->bytes() / item_size(target->dtype()))};
  const Dims strides = args.has(3) ? args.dims(3) : Dims();
  ops::set_in_place(target, storage, args.integer(1, 0), args.has(2) ? args.dims(2) : all,
                    args.has(3) ? &strides : nullptr, Tensor());
}

// set_(), set_(source), set_(source, storage_offset, size, stride): the source is a tensor or an untyped storage.
PyObject* set_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("set_", {"source", "storage_offset", "size", "stride"}, 0, arguments, count, names);
    const Tensor& target = unwrap(self);
    if (args[0] != nullptr && (args.has(1) != args.has(2) || (args.has(2) && !is_sequence(args[2]))))
      raise_python(PyExc_TypeError, "set_() received an invalid combination of arguments");
    if (args[0] == nullptr) {
      set_to_nothing(target);
    } else if (is_storage(args[0])) {
      set_to_storage(target, args);
    } else {
      set_to_tensor(target, args);
    }
    return Py_NewRef(self);
  });
}

}  // namespace

PyMethodDef resizing_methods[] = {{"set_", as_method(set_method), fast_call, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
