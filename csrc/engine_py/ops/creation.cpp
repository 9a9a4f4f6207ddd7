// Functions and methods that create tensors of a given size.
#include "engine/ops/kernels/strided_loops.hpp"
#include "engine/ops/ops.hpp"
#include "engine_py/call/methods.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

// The options that every factory takes only by name. Those about devices and layouts are read and ignored.
struct Options {
  bool has_dtype = false;
  DType dtype = DType::float32;
  bool requires_grad = false;
  Dims size;
  bool has_size = false;
};

Options parse_options(const char* function, PyObject* const* values, PyObject* names, DType default_dtype) {
  const Args args(function, {"size", "dtype", "device", "requires_grad", "layout", "pin_memory", "memory_format"}, 0,
                  values, 0, names);
  args.require_cpu(2);
  Options options;
  options.has_dtype = args.has(1);
  options.dtype = args.dtype(1, default_dtype);
  options.requires_grad = args.flag(3, false);
  options.has_size = args.has(0);
  if (options.has_size) options.size = args.dims(0);
  return options;
}

// `ones(2, 3)`, `ones((2, 3))` and `ones(size=(2, 3))`.
Dims sizes_of(const char* function, const Options& options, PyObject* const* arguments, Py_ssize_t count) {
  if (count == 0 && !options.has_size)
    raise_python(PyExc_TypeError, "%s() missing 1 required positional arguments: \"size\"", function);
  if (count == 0) return options.size;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!PyIndex_Check(arguments[i]) && !(count == 1 && is_sequence(arguments[i])))
      raise_python(PyExc_TypeError, "%s(): argument 'size' (position %zd) must be tuple of ints, not %.200s", function,
                   i + 1, Py_TYPE(arguments[i])->tp_name);
  return parse_sizes(arguments, count);
}

template <class First>
struct Factory {
  const char* name;
  Tensor (*make)(const First& sizes_or_tensor, DType dtype);
};

constexpr Factory<Dims> zeros{"zeros", [](const Dims& sizes, DType dtype) { return ops::full(sizes, 0, dtype); }};
constexpr Factory<Dims> ones{"ones", [](const Dims& sizes, DType dtype) { return ops::full(sizes, 1, dtype); }};
constexpr Factory<Dims> rand{"rand", ops::rand}, randn{"randn", ops::randn};
constexpr Factory<Dims> uninitialized{"empty", [](const Dims& sizes, DType dtype) {
                                        ops::require_sizes(sizes);
                                        return empty(sizes, dtype);
                                      }};

template <const Factory<Dims>& factory>
Tensor filled_like(const Tensor& tensor, DType dtype) {
  Tensor result = ops::empty_like(tensor, dtype);
  kernels::copy(*result, *factory.make(tensor->sizes(), dtype));
  return result;
}

constexpr Factory<Tensor> zeros_like{"zeros_like",
                                     [](const Tensor& a, DType dtype) { return ops::full_like(a, 0, dtype); }};
constexpr Factory<Tensor> ones_like{"ones_like",
                                    [](const Tensor& a, DType dtype) { return ops::full_like(a, 1, dtype); }};
constexpr Factory<Tensor> empty_like{"empty_like", ops::empty_like};
constexpr Factory<Tensor> rand_like{"rand_like", filled_like<rand>}, randn_like{"randn_like", filled_like<randn>};

std::string default_form(const char* name) { return std::string(name) + ".default"; }

template <const Factory<Dims>& factory>
Tensor made(const Dims& sizes, DType dtype) {
  const auto make = [&] { return factory.make(sizes, dtype); };
  if (operation_watcher() == nullptr) return make();
  if (factory.name == uninitialized.name) return lowered("empty.memory_format", make, sizes, dtype);
  return lowered(default_form(factory.name).c_str(), make, sizes, dtype);
}

template <const Factory<Tensor>& factory>
Tensor made_like(const Tensor& tensor, DType dtype) {
  const auto make = [&] { return factory.make(tensor, dtype); };
  if (operation_watcher() == nullptr) return make();
  const std::string name = default_form(factory.name);
  const std::optional<DType> other = dtype == tensor->dtype() ? std::nullopt : std::optional<DType>(dtype);
  return lowered(name.c_str(), make, tensor, other);
}

template <const Factory<Dims>& factory>
PyObject* sized(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Options options = parse_options(factory.name, arguments + count, names, DType::float32);
    return finished_tensor(made<factory>(sizes_of(factory.name, options, arguments, count), options.dtype),
                           options.requires_grad);
  });
}

const Tensor& like_what(const char* function, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 1) raise_python(PyExc_TypeError, "%s() takes 1 positional argument but %zd were given", function, count);
  if (!is_tensor(arguments[0]))
    raise_python(PyExc_TypeError, "%s(): argument 'input' (position 1) must be Tensor, not %.200s", function,
                 Py_TYPE(arguments[0])->tp_name);
  return unwrap(arguments[0]);
}

// With the memory layout of the tensor that they resemble.
template <const Factory<Tensor>& factory>
PyObject* like(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Tensor& tensor = like_what(factory.name, arguments, count);
    const Options options = parse_options(factory.name, arguments + count, names, tensor->dtype());
    return finished_tensor(made_like<factory>(tensor, options.dtype), options.requires_grad);
  });
}

DType dtype_of_number(const Scalar& value) {
  return value.kind == Scalar::Kind::real ? DType::float32 : value.natural_dtype();
}

// full(size, fill_value) and full_like(input, fill_value), by the first argument.
PyObject* full_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("full", {"size", "fill_value", "dtype", "device", "requires_grad", "layout"}, 2, arguments, count,
                    names);
    const Scalar value = args.number(1, 0);
    const bool requires_grad = args.flag(4, false);
    return finished_tensor(ops::full(args.dims(0), value, args.dtype(2, dtype_of_number(value))), requires_grad);
  });
}

PyObject* arange_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    // One number is the end, not the start.
    PyObject* const none = Py_None;
    std::array<PyObject*, 16> shifted{none};
    const Py_ssize_t named = names != nullptr ? PyTuple_GET_SIZE(names) : 0;
    const bool only_end = count == 1 && named < 12;
    if (only_end) std::copy(arguments, arguments + count + named, shifted.begin() + 1);
    const Args args("arange", {"start", "end", "step", "dtype", "device", "requires_grad"}, 0,
                    only_end ? shifted.data() : arguments, only_end ? 2 : count, names);
    if (!args.has(1)) raise_python(PyExc_TypeError, "arange() missing 1 required positional arguments: \"end\"");
    const Scalar start = args.number(0, 0), end = args.number(1, 0), step = args.number(2, 1);
    const bool has_float = start.is_real() || end.is_real() || step.is_real();
    const bool requires_grad = args.flag(5, false);
    const DType dtype = args.dtype(3, has_float ? DType::float32 : DType::int64);
    return finished_tensor(ops::arange(start, end, step, dtype), requires_grad);
  });
}

// randint(high, size) and randint(low, high, size).
PyObject* randint_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const bool has_low = count == 0 || (count >= 2 && PyIndex_Check(arguments[1]) && !is_sequence(arguments[1]));
    std::array<PyObject*, 16> shifted{nullptr};
    const Py_ssize_t named = names != nullptr ? PyTuple_GET_SIZE(names) : 0;
    if (!has_low && count + named < 15) {
      std::copy(arguments, arguments + count + named, shifted.begin() + 1);
      shifted[0] = Py_None;
      arguments = shifted.data();
      ++count;
    }
    const Args args("randint", {"low", "high", "size", "dtype", "device", "requires_grad"}, 3, arguments, count, names);
    args.require_cpu(4);
    const bool requires_grad = args.flag(5, false);
    return finished_tensor(
        ops::randint(args.integer(0, 0), args.integer(1, 0), args.dims(2), args.dtype(3, DType::int64)), requires_grad);
  });
}

PyObject* uniform_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("uniform_", {"from", "to"}, 0, arguments, count, names);
    ops::uniform_in_place(unwrap(self), args.real(0, 0), args.real(1, 1));
    return Py_NewRef(self);
  });
}

// Any number of 64 bits, with a sign or without.
uint64_t seed_of(PyObject* seed) {
  if (PyBool_Check(seed) || !PyIndex_Check(seed))
    raise_python(PyExc_RuntimeError, "manual_seed expected a long, but got %s", Py_TYPE(seed)->tp_name);
  const Ref number = checked(PyNumber_Index(seed));
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (overflow == 0) return static_cast<uint64_t>(value);
  const unsigned long long unsigned_value = overflow > 0 ? PyLong_AsUnsignedLongLong(number.get()) : 0;
  if (overflow > 0 && PyErr_Occurred() == nullptr) return unsigned_value;
  PyErr_Clear();
  raise_python(PyExc_ValueError, "Overflow when unpacking long long");
}

PyObject* manual_seed_function(PyObject*, PyObject* seed) {
  return guarded([&] { ops::seed_generator(seed_of(seed)); });
}

PyObject* initial_seed_function(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(ops::generator_seed()); }

}  // namespace

PyMethodDef creation_methods[] = {{"uniform_", as_method(uniform_method), fast_call, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};

PyMethodDef creation_functions[] = {{"zeros", as_method(sized<zeros>), fast_call, nullptr},
                                    {"ones", as_method(sized<ones>), fast_call, nullptr},
                                    {"empty", as_method(sized<uninitialized>), fast_call, nullptr},
                                    {"rand", as_method(sized<rand>), fast_call, nullptr},
                                    {"randn", as_method(sized<randn>), fast_call, nullptr},
                                    {"zeros_like", as_method(like<zeros_like>), fast_call, nullptr},
                                    {"ones_like", as_method(like<ones_like>), fast_call, nullptr},
                                    {"empty_like", as_method(like<empty_like>), fast_call, nullptr},
                                    {"rand_like", as_method(like<rand_like>), fast_call, nullptr},
                                    {"randn_like", as_method(like<randn_like>), fast_call, nullptr},
                                    {"full", as_method(full_function), fast_call, nullptr},
                                    {"arange", as_method(arange_function), fast_call, nullptr},
                                    {"randint", as_method(randint_function), fast_call, nullptr},
                                    {"manual_seed", manual_seed_function, METH_O, nullptr},
                                    {"initial_seed", initial_seed_function, METH_NOARGS, nullptr},
                                    {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
