// Methods and functions that put elements in other places: flip, roll, repeat, tril, diagonal, sort, unfold, ...
#include "engine/rearranging.hpp"
#include "engine_py/errors.hpp"
#include "engine_py/methods.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {
namespace {

using ops::Form;

// `flip(0, 1)`, `flip((0, 1))`, `flip(dims=(0, 1))`.
template <Tensor (*op)(const Tensor&, const Dims&)>
PyObject* with_dims(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names, const char* function,
                    const char* parameter) {
  return guarded([&] {
    if (names != nullptr) {
      const Args args(function, {parameter}, 1, arguments, count, names);
      return wrap(op(unwrap(self), args.dims(0))).release();
    }
    if (count == 0)
      raise_python(PyExc_TypeError, "%s() missing 1 required positional arguments: \"%s\"", function, parameter);
    for (Py_ssize_t i = 0; i < count; ++i)
      if (!PyIndex_Check(arguments[i]) && !(count == 1 && is_sequence(arguments[i])))
        raise_python(PyExc_TypeError,
                     "%s(): argument '%s' must be tuple of ints, but found element of type %.200s at "
                     "pos %zd",
                     function, parameter, Py_TYPE(arguments[i])->tp_name, i);
    return wrap(op(unwrap(self), parse_sizes(arguments, count))).release();
  });
}

PyObject* flip_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return with_dims<ops::flip>(self, arguments, count, names, "flip", "dims");
}
PyObject* repeat_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return with_dims<ops::repeat>(self, arguments, count, names, "repeat", "repeats");
}
PyObject* tile_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return with_dims<ops::tile>(self, arguments, count, names, "tile", "dims");
}

Tensor upside_down(const Tensor& a) {
  require(a->dim() >= 1, "Input must be >= 1-d.");
  return ops::flip(a, {0});
}
Tensor left_right(const Tensor& a) {
  require(a->dim() >= 2, "Input must be >= 2-d.");
  return ops::flip(a, {1});
}

template <Tensor (*op)(const Tensor&)>
PyObject* unary(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    refuse_arguments(arguments, count, names);
    return wrap(op(unwrap(self))).release();
  });
}

PyObject* roll_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("roll", {"shifts", "dims"}, 1, arguments, count, names);
    return wrap(ops::roll(unwrap(self), args.dims(0), args.has(1) ? args.dims(1) : Dims())).release();
  });
}

Tensor interleaved(const Tensor& a, const Args& args) {
  const int64_t dim = args.integer(1, 0);
  const int64_t* given_dim = args.has(1) ? &dim : nullptr;
  if (is_tensor(args[0])) return ops::repeat_interleave(a, args.tensor(0), given_dim);
  return ops::repeat_interleave(a, args.integer(0, 0), given_dim);
}

PyObject* repeat_interleave_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("repeat_interleave", {"repeats", "dim", "output_size"}, 1, arguments, count, names);
    return wrap(interleaved(unwrap(self), args)).release();
  });
}

// Alone, the repeats say how often each position comes.
PyObject* repeat_interleave_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("repeat_interleave", {"input", "repeats", "dim", "output_size"}, 1, arguments, count, names);
    if (!args.has(1)) return wrap(ops::repeated_positions(args.tensor(0))).release();
    return call_on_input(repeat_interleave_method, arguments, count, names);
  });
}

template <Tensor (*op)(const Tensor&, int64_t, Form), Form form>
PyObject* triangle(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("tril", {"diagonal"}, 0, arguments, count, names);
    Tensor result = op(unwrap(self), args.integer(0, 0), form);
    return form == Form::in_place ? Py_NewRef(self) : wrap(std::move(result)).release();
  });
}

PyObject* diagonal_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("diagonal", {"offset", "dim1", "dim2"}, 0, arguments, count, names);
    return wrap(ops::diagonal(unwrap(self), args.integer(0, 0), args.integer(1, 0), args.integer(2, 1))).release();
  });
}

PyObject* diag_embed_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("diag_embed", {"offset", "dim1", "dim2"}, 0, arguments, count, names);
    return wrap(ops::diag_embed(unwrap(self), args.integer(0, 0), args.integer(1, -2), args.integer(2, -1))).release();
  });
}

PyObject* diag_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("diag", {"diagonal"}, 0, arguments, count, names);
    return wrap(ops::diag(unwrap(self), args.integer(0, 0))).release();
  });
}

PyObject* unfold_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("unfold", {"dimension", "size", "step"}, 3, arguments, count, names);
    return wrap(ops::unfold(unwrap(self), args.integer(0, 0), args.integer(1, 0), args.integer(2, 1))).release();
  });
}

PyObject* sort_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("sort", {"dim", "descending", "stable"}, 0, arguments, count, names);
    const bool stable = args.flag(2, false);
    const ops::Sorted sorted =
        ops::sort(unwrap(self), args.integer(0, -1), args.flag(1, false), args.has(2) ? &stable : nullptr);
    return wrap_named("sort", {sorted.values, sorted.indices}).release();
  });
}

PyObject* argsort_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("argsort", {"dim", "descending", "stable"}, 0, arguments, count, names);
    return wrap(ops::argsort(unwrap(self), args.integer(0, -1), args.flag(1, false))).release();
  });
}

Tensor sorted_rows(const Tensor& a) { return ops::sort(a, 0, false).values; }

PyObject* topk_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("topk", {"k", "dim", "largest", "sorted"}, 1, arguments, count, names);
    const ops::Sorted sorted = ops::topk(unwrap(self), args.integer(0, 0), args.integer(1, -1), args.flag(2, true));
    return wrap_named("topk", {sorted.values, sorted.indices}).release();
  });
}

PyObject* kthvalue_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("kthvalue", {"k", "dim", "keepdim"}, 1, arguments, count, names);
    const ops::Sorted sorted =
        ops::kthvalue(unwrap(self), args.integer(0, 0), args.integer(1, -1), args.flag(2, false));
    return wrap_named("kthvalue", {sorted.values, sorted.indices}).release();
  });
}

PyObject* movedim_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("movedim", {"source", "destination"}, 2, arguments, count, names);
    return wrap(ops::movedim(unwrap(self), args.dims(0), args.dims(1))).release();
  });
}

PyObject* swap_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("swapaxes", {"axis0", "axis1"}, 2, arguments, count, names);
    return wrap(ops::transpose(unwrap(self), args.integer(0, 0), args.integer(1, 0))).release();
  });
}

PyObject* unflatten_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("unflatten", {"dim", "sizes"}, 2, arguments, count, names);
    return wrap(ops::unflatten(unwrap(self), args.integer(0, 0), args.dims(1))).release();
  });
}

// The places of a split, also from a tensor of them.
Dims parse_places(const Args& args) {
  if (!is_tensor(args[0])) return args.dims(0);
  Dims places;
  const Tensor given = ops::contiguous(ops::to_dtype(args.tensor(0), DType::int64));
  for (int64_t i = 0; i < given->numel(); ++i) places.push_back(given->data<int64_t>()[i]);
  return places;
}

PyObject* tensor_split_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("tensor_split", {"indices_or_sections", "dim"}, 1, arguments, count, names);
    const Tensor& tensor = unwrap(self);
    const int64_t dim = args.integer(1, 0);
    if (is_sequence(args[0]) || (is_tensor(args[0]) && args.tensor(0)->dim() == 1))
      return wrap_tuple(ops::tensor_split_at(tensor, parse_places(args), dim)).release();
    const int64_t sections = is_tensor(args[0]) ? ops::item(args.tensor(0)).integer : args.integer(0, 0);
    return wrap_tuple(ops::tensor_split(tensor, sections, dim)).release();
  });
}

PyObject* split_with_sizes_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("split_with_sizes", {"split_sizes", "dim"}, 1, arguments, count, names);
    return wrap_tuple(ops::split_sizes(unwrap(self), args.dims(0), args.integer(1, 0))).release();
  });
}

PyObject* unsafe_split_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("unsafe_split", {"split_size", "dim"}, 1, arguments, count, names);
    return wrap_tuple(ops::unsafe_split(unwrap(self), args.integer(0, 0), args.integer(1, 0))).release();
  });
}

PyObject* unsafe_split_sizes_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("unsafe_split_with_sizes", {"split_sizes", "dim"}, 1, arguments, count, names);
    return wrap_tuple(ops::unsafe_split_sizes(unwrap(self), args.dims(0), args.integer(1, 0))).release();
  });
}

PyObject* unsafe_chunk_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("unsafe_chunk", {"chunks", "dim"}, 1, arguments, count, names);
    return wrap_tuple(ops::unsafe_chunk(unwrap(self), args.integer(0, 0), args.integer(1, 0))).release();
  });
}

}  // namespace

const Operation rearranging_operations[] = {operation<flip_method>("flip"),
                                            operation<unary<upside_down>>("flipud"),
                                            operation<unary<left_right>>("fliplr"),
                                            operation<roll_method>("roll"),
                                            operation<repeat_method>("repeat"),
                                            operation<tile_method>("tile"),
                                            {"repeat_interleave", repeat_interleave_method, repeat_interleave_function},
                                            operation<triangle<ops::tril, Form::plain_copy>>("tril"),
                                            operation<triangle<ops::triu, Form::plain_copy>>("triu"),
                                            operation<diagonal_method>("diagonal"),
                                            operation<diag_embed_method>("diag_embed"),
                                            operation<diag_method>("diag"),
                                            operation<unary<ops::trace>>("trace"),
                                            operation<unfold_method>("unfold"),
                                            operation<sort_method>("sort"),
                                            operation<argsort_method>("argsort"),
                                            operation<unary<sorted_rows>>("msort"),
                                            operation<topk_method>("topk"),
                                            operation<kthvalue_method>("kthvalue"),
                                            operation<movedim_method>("movedim"),
                                            operation<movedim_method>("moveaxis"),
                                            operation<swap_method>("swapaxes"),
                                            operation<swap_method>("swapdims"),
                                            operation<unflatten_method>("unflatten"),
                                            operation<tensor_split_method>("tensor_split"),
                                            operation<split_with_sizes_method>("split_with_sizes"),
                                            operation<unsafe_split_method>("unsafe_split"),
                                            operation<unsafe_split_sizes_method>("unsafe_split_with_sizes"),
                                            operation<unsafe_chunk_method>("unsafe_chunk"),
                                            {nullptr, nullptr, nullptr}};

PyMethodDef rearranging_in_place_methods[] = {
    {"tril_", as_method(triangle<ops::tril, Form::in_place>), fast_call, nullptr},
    {"triu_", as_method(triangle<ops::triu, Form::in_place>), fast_call, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
