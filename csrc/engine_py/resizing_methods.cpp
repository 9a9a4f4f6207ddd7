// Methods that give their tensor another size, another memory, or another window on its memory.
#include "engine/resizing.hpp"

#include "engine/ops.hpp"
#include "engine/overlap.hpp"
#include "engine/seen_in_place.hpp"
#include "engine_py/errors.hpp"
#include "engine_py/methods.hpp"
#include "engine_py/storage_type.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {
namespace {

// `resize_(2, 3)`, `resize_((2, 3))`, `resize_(size=(2, 3))`; the memory format is always the plain one.
PyObject* resize_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const bool has_list = count == 0 || is_sequence(arguments[0]);
    const Args args("resize_", {"size", "memory_format"}, has_list ? 1 : 0, arguments + (has_list ? 0 : count),
                    has_list ? count : 0, names);
    for (Py_ssize_t i = 0; !has_list && i < count; ++i)
      if (!PyIndex_Check(arguments[i]))
        raise_python(PyExc_TypeError, "resize_(): argument 'size' (position %zd) must be tuple of ints, not %.200s",
                     i + 1, Py_TYPE(arguments[i])->tp_name);
    ops::resize_in_place(unwrap(self), has_list ? args.dims(0) : parse_sizes(arguments, count));
    return Py_NewRef(self);
  });
}

PyObject* resize_as_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("resize_as_", {"the_template", "memory_format"}, 1, arguments, count, names);
    ops::resize_in_place(unwrap(self), args.tensor(0)->sizes());
    return Py_NewRef(self);
  });
}

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

PyObject* transpose_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("transpose_", {"dim0", "dim1"}, 2, arguments, count, names);
    ops::transpose_in_place(unwrap(self), args.integer(0, 0), args.integer(1, 0));
    return Py_NewRef(self);
  });
}

PyObject* swap_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("swapaxes_", {"axis0", "axis1"}, 2, arguments, count, names);
    ops::transpose_in_place(unwrap(self), args.integer(0, 0), args.integer(1, 0));
    return Py_NewRef(self);
  });
}

PyObject* t_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    refuse_arguments(arguments, count, names);
    ops::t_in_place(unwrap(self));
    return Py_NewRef(self);
  });
}

PyObject* unsqueeze_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("unsqueeze_", {"dim"}, 1, arguments, count, names);
    ops::unsqueeze_in_place(unwrap(self), args.integer(0, 0));
    return Py_NewRef(self);
  });
}

PyObject* squeeze_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("squeeze_", {"dim"}, 0, arguments, count, names);
    const Tensor& target = unwrap(self);
    if (!args.has(0)) {
      ops::squeeze_in_place(target);
    } else if (is_sequence(args[0])) {
      ops::squeeze_in_place(target, args.dims(0));
    } else {
      ops::squeeze_in_place(target, args.integer(0, 0));
    }
    return Py_NewRef(self);
  });
}

PyObject* as_strided_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("as_strided_", {"size", "stride", "storage_offset"}, 2, arguments, count, names);
    const Tensor& target = unwrap(self);
    ops::as_strided_in_place(target, args.dims(0), args.dims(1), optional_integer(args, 2));
    return Py_NewRef(self);
  });
}

}  // namespace

const Operation resizing_operations[] = {operation<resize_as_method>("resize_as_"),
                                         operation<as_strided_method>("as_strided_"),
                                         {nullptr, nullptr, nullptr}};

PyMethodDef resizing_methods[] = {{"resize_", as_method(resize_method), fast_call, nullptr},
                                  {"set_", as_method(set_method), fast_call, nullptr},
                                  {"transpose_", as_method(transpose_method), fast_call, nullptr},
                                  {"swapaxes_", as_method(swap_method), fast_call, nullptr},
                                  {"swapdims_", as_method(swap_method), fast_call, nullptr},
                                  {"t_", as_method(t_method), fast_call, nullptr},
                                  {"unsqueeze_", as_method(unsqueeze_method), fast_call, nullptr},
                                  {"squeeze_", as_method(squeeze_method), fast_call, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
