// Methods and functions that clamp, round, and tell what elements are.
#include "engine/clamping.hpp"
#include "engine_py/errors.hpp"
#include "engine_py/methods.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {
namespace {

// The bounds of one call: numbers, or tensors.
struct Bounds {
  bool are_tensors = false;
  ops::OptionalNumber min, max;
  Tensor min_tensor, max_tensor;

  Bounds(const char* name, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    const Args args(name, {"min", "max"}, 0, arguments, count, names);
    const bool has_number = is_number(args, 0) || is_number(args, 1);
    are_tensors = !has_number && (args.has(0) || args.has(1));
    if (are_tensors) {
      if (args.has(0)) min_tensor = args.tensor(0);
      if (args.has(1)) max_tensor = args.tensor(1);
    } else {
      min = number(args, 0);
      max = number(args, 1);
    }
  }

 private:
  static bool is_number(const Args& args, size_t i) { return args.has(i) && !is_tensor(args[i]); }
  // Beside a number, a tensor of no dimensions and no history counts as one too.
  static ops::OptionalNumber number(const Args& args, size_t i) {
    if (!args.has(i)) return std::nullopt;
    if (!is_tensor(args[i])) return args.number(i, 0);
    const Tensor& tensor = args.tensor(i);
    if (tensor->dim() != 0 || requires_grad(tensor)) args.wrong_type(i, "Number");
    return ops::item(tensor);
  }
};

PyObject* clamp_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Bounds bounds("clamp", arguments, count, names);
    const Tensor& tensor = unwrap(self);
    if (bounds.are_tensors) return wrap(ops::clamp(tensor, bounds.min_tensor, bounds.max_tensor)).release();
    return wrap(ops::clamp(tensor, bounds.min, bounds.max)).release();
  });
}

PyObject* clamp_in_place_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Bounds bounds("clamp_", arguments, count, names);
    const Tensor& tensor = unwrap(self);
    if (bounds.are_tensors) {
      ops::clamp_in_place(tensor, bounds.min_tensor, bounds.max_tensor);
    } else {
      ops::clamp_in_place(tensor, bounds.min, bounds.max);
    }
    return Py_NewRef(self);
  });
}

struct Min {
  static constexpr const char* name = "min";
  static constexpr const char* method = "clamp_min";
  template <class Bound>
  static Tensor call(const Tensor& a, const Bound& bound) {
    return ops::clamp_min(a, bound);
  }
  template <class Bound>
  static void change(const Tensor& a, const Bound& bound) {
    ops::clamp_min_in_place(a, bound);
  }
};
struct Max {
  static constexpr const char* name = "max";
  static constexpr const char* method = "clamp_max";
  template <class Bound>
  static Tensor call(const Tensor& a, const Bound& bound) {
    return ops::clamp_max(a, bound);
  }
  template <class Bound>
  static void change(const Tensor& a, const Bound& bound) {
    ops::clamp_max_in_place(a, bound);
  }
};

template <class Side>
PyObject* one_bound(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(Side::method, {Side::name}, 1, arguments, count, names);
    if (is_tensor(args[0])) return wrap(Side::call(unwrap(self), args.tensor(0))).release();
    return wrap(Side::call(unwrap(self), args.number(0, 0))).release();
  });
}

template <class Side>
PyObject* one_bound_in_place(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(Side::method, {Side::name}, 1, arguments, count, names);
    if (is_tensor(args[0])) {
      Side::change(unwrap(self), args.tensor(0));
    } else {
      Side::change(unwrap(self), args.number(0, 0));
    }
    return Py_NewRef(self);
  });
}

template <ops::Rounding how>
PyObject* rounding(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    refuse_arguments(arguments, count, names);
    return wrap(ops::rounded(how, unwrap(self))).release();
  });
}

template <ops::Rounding how>
PyObject* rounding_in_place(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    refuse_arguments(arguments, count, names);
    ops::rounded_in_place(how, unwrap(self));
    return Py_NewRef(self);
  });
}

PyObject* sgn_in_place_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    refuse_arguments(arguments, count, names);
    ops::sgn_in_place(unwrap(self));
    return Py_NewRef(self);
  });
}

// `decimals` is given by name only.
PyObject* round_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    if (count > 0) refuse_arguments(arguments, count, names);
    const Args args("round", {"decimals"}, 0, arguments, count, names);
    if (!args.has(0)) return wrap(ops::rounded(ops::Rounding::round, unwrap(self))).release();
    return wrap(ops::round_to(unwrap(self), args.integer(0, 0))).release();
  });
}

PyObject* round_in_place_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    if (count > 0) refuse_arguments(arguments, count, names);
    const Args args("round_", {"decimals"}, 0, arguments, count, names);
    if (args.has(0)) {
      ops::round_to_in_place(unwrap(self), args.integer(0, 0));
    } else {
      ops::rounded_in_place(ops::Rounding::round, unwrap(self));
    }
    return Py_NewRef(self);
  });
}

template <ops::Class which>
PyObject* is_of_class(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    refuse_arguments(arguments, count, names);
    return wrap(ops::is_of_class(which, unwrap(self))).release();
  });
}

PyObject* isreal_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    refuse_arguments(arguments, count, names);
    return wrap(ops::full(unwrap(self)->sizes(), Scalar::boolean(true), DType::boolean)).release();
  });
}

PyObject* isclose_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("isclose", {"other", "rtol", "atol", "equal_nan"}, 1, arguments, count, names);
    return wrap(ops::isclose(unwrap(self), args.tensor(0), args.real(1, 1e-5), args.real(2, 1e-8), args.flag(3, false)))
        .release();
  });
}

using ops::Class;
using ops::Rounding;

}  // namespace

const Operation bounds_operations[] = {operation<clamp_method>("clamp"),
                                       operation<clamp_method>("clip"),
                                       operation<one_bound<Min>>("clamp_min"),
                                       operation<one_bound<Max>>("clamp_max"),
                                       operation<rounding<Rounding::floor>>("floor"),
                                       operation<rounding<Rounding::ceil>>("ceil"),
                                       operation<rounding<Rounding::trunc>>("trunc"),
                                       operation<rounding<Rounding::trunc>>("fix"),
                                       operation<rounding<Rounding::frac>>("frac"),
                                       operation<rounding<Rounding::sign>>("sign"),
                                       operation<round_method>("round"),
                                       operation<is_of_class<Class::nan>>("isnan"),
                                       operation<is_of_class<Class::infinite>>("isinf"),
                                       operation<is_of_class<Class::finite>>("isfinite"),
                                       operation<is_of_class<Class::positive_infinite>>("isposinf"),
                                       operation<is_of_class<Class::negative_infinite>>("isneginf"),
                                       operation<isreal_method>("isreal"),
                                       operation<isclose_method>("isclose"),
                                       {nullptr, nullptr, nullptr}};

PyMethodDef bounds_in_place_methods[] = {{"clamp_", as_method(clamp_in_place_method), fast_call, nullptr},
                                         {"clip_", as_method(clamp_in_place_method), fast_call, nullptr},
                                         {"clamp_min_", as_method(one_bound_in_place<Min>), fast_call, nullptr},
                                         {"clamp_max_", as_method(one_bound_in_place<Max>), fast_call, nullptr},
                                         {"floor_", as_method(rounding_in_place<Rounding::floor>), fast_call, nullptr},
                                         {"ceil_", as_method(rounding_in_place<Rounding::ceil>), fast_call, nullptr},
                                         {"trunc_", as_method(rounding_in_place<Rounding::trunc>), fast_call, nullptr},
                                         {"fix_", as_method(rounding_in_place<Rounding::trunc>), fast_call, nullptr},
                                         {"frac_", as_method(rounding_in_place<Rounding::frac>), fast_call, nullptr},
                                         {"sign_", as_method(rounding_in_place<Rounding::sign>), fast_call, nullptr},
                                         {"sgn_", as_method(sgn_in_place_method), fast_call, nullptr},
                                         {"round_", as_method(round_in_place_method), fast_call, nullptr},
                                         {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
