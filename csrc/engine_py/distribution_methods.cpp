// Random numbers as Python calls for them.
#include "engine/ops.hpp"
#include "engine/random.hpp"
#include "engine_py/drawing.hpp"
#include "engine_py/errors.hpp"
#include "engine_py/methods.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {
namespace {

struct Uniform {
  static constexpr const char* name = "uniform_";
  static constexpr const char* parameters[] = {"from", "to"};
  static constexpr double defaults[] = {0, 1};
  static void draw(const Tensor& target, double from, double to) { ops::uniform_in_place(target, from, to); }
};
struct Normal {
  static constexpr const char* name = "normal_";
  static constexpr const char* parameters[] = {"mean", "std"};
  static constexpr double defaults[] = {0, 1};
  static void draw(const Tensor& target, double mean, double deviation) {
    ops::normal_in_place(target, mean, deviation);
  }
};
struct LogNormal {
  static constexpr const char* name = "log_normal_";
  static constexpr const char* parameters[] = {"mean", "std"};
  static constexpr double defaults[] = {1, 2};
  static void draw(const Tensor& target, double mean, double deviation) {
    ops::log_normal_in_place(target, mean, deviation);
  }
};
struct Cauchy {
  static constexpr const char* name = "cauchy_";
  static constexpr const char* parameters[] = {"median", "sigma"};
  static constexpr double defaults[] = {0, 1};
  static void draw(const Tensor& target, double median, double width) { ops::cauchy_in_place(target, median, width); }
};

template <class D>
PyObject* draw_two(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(D::name, {D::parameters[0], D::parameters[1], "generator"}, 0, arguments, count, names);
    const DrawingFrom generator(args, 2);
    D::draw(unwrap(self), args.real(0, D::defaults[0]), args.real(1, D::defaults[1]));
    return Py_NewRef(self);
  });
}

PyObject* exponential_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("exponential_", {"lambd", "generator"}, 0, arguments, count, names);
    const DrawingFrom generator(args, 1);
    ops::exponential_in_place(unwrap(self), args.real(0, 1));
    return Py_NewRef(self);
  });
}

PyObject* geometric_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("geometric_", {"p", "generator"}, 1, arguments, count, names);
    const DrawingFrom generator(args, 1);
    ops::geometric_in_place(unwrap(self), args.real(0, 0.5));
    return Py_NewRef(self);
  });
}

PyObject* bernoulli_in_place_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("bernoulli_", {"p", "generator"}, 0, arguments, count, names);
    const DrawingFrom generator(args, 1);
    if (args.has(0) && is_tensor(args[0])) {
      ops::bernoulli_in_place(unwrap(self), args.tensor(0));
    } else {
      ops::bernoulli_in_place(unwrap(self), args.real(0, 0.5));
    }
    return Py_NewRef(self);
  });
}

// random_(), random_(to), random_(from, to)
PyObject* random_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("random_", {"from", "to", "generator"}, 0, arguments, count, names);
    const DrawingFrom generator(args, 2);
    const Tensor& target = unwrap(self);
    if (args.has(0) && args.has(1)) {
      ops::random_in_place(target, args.integer(0, 0), args.integer(1, 0));
    } else if (args.has(0) || args.has(1)) {
      ops::random_in_place(target, args.integer(args.has(0) ? 0 : 1, 0));
    } else {
      ops::random_in_place(target);
    }
    return Py_NewRef(self);
  });
}

PyObject* bernoulli_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("bernoulli", {"p", "generator"}, 0, arguments, count, names);
    const DrawingFrom generator(args, 1);
    const Tensor& tensor = unwrap(self);
    return wrap(args.has(0) ? ops::bernoulli(tensor, args.real(0, 0.5)) : ops::bernoulli(tensor)).release();
  });
}

Tensor normal_of_size(const Args& args) {
  if (!args.has(2)) raise_python(PyExc_TypeError, "normal() of two numbers: missing the argument \"size\"");
  const Dims sizes = args.dims(2);
  ops::require_sizes(sizes);
  Tensor result = empty(sizes, args.dtype(3, DType::float32));
  ops::normal_in_place(result, args.real(0, 0), args.real(1, 1));
  if (args.flag(4, false)) set_requires_grad(result, true);
  return result;
}

// Mean and deviation are tensors or numbers; two numbers need a size.
PyObject* normal_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("normal", {"mean", "std", "size", "dtype", "requires_grad", "device", "generator"}, 1, arguments,
                    count, names);
    const DrawingFrom generator(args, 6);
    const bool has_tensor_mean = is_tensor(args[0]);
    const bool has_tensor_deviation = args.has(1) && is_tensor(args[1]);
    if (has_tensor_mean && has_tensor_deviation) return wrap(ops::normal(args.tensor(0), args.tensor(1))).release();
    if (has_tensor_mean) return wrap(ops::normal(args.tensor(0), args.real(1, 1))).release();
    if (has_tensor_deviation) return wrap(ops::normal(args.real(0, 0), args.tensor(1))).release();
    return wrap(normal_of_size(args)).release();
  });
}

}  // namespace

const Operation distribution_operations[] = {operation<bernoulli_method>("bernoulli"), {nullptr, nullptr, nullptr}};

PyMethodDef distribution_methods[] = {{"uniform_", as_method(draw_two<Uniform>), fast_call, nullptr},
                                      {"normal_", as_method(draw_two<Normal>), fast_call, nullptr},
                                      {"log_normal_", as_method(draw_two<LogNormal>), fast_call, nullptr},
                                      {"cauchy_", as_method(draw_two<Cauchy>), fast_call, nullptr},
                                      {"exponential_", as_method(exponential_method), fast_call, nullptr},
                                      {"geometric_", as_method(geometric_method), fast_call, nullptr},
                                      {"bernoulli_", as_method(bernoulli_in_place_method), fast_call, nullptr},
                                      {"random_", as_method(random_method), fast_call, nullptr},
                                      {nullptr, nullptr, 0, nullptr}};

PyMethodDef distribution_functions[] = {{"normal", as_method(normal_function), fast_call, nullptr},
                                        {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
