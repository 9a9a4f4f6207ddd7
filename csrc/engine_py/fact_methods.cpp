// Methods that say what a tensor is, or give it back since it is that already.
#include "engine/kernels.hpp"
#include "engine/ops.hpp"
#include "engine_py/errors.hpp"
#include "engine_py/methods.hpp"
#include "engine_py/warnings.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {
namespace {

template <bool (*is)(const TensorImpl&)>
PyObject* fact(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    refuse_arguments(arguments, count, names);
    return PyBool_FromLong(is(*unwrap(self)));
  });
}

bool never(const TensorImpl&) { return false; }
bool is_floating_tensor(const TensorImpl& tensor) { return is_floating(tensor.dtype()); }
bool is_complex_tensor(const TensorImpl& tensor) { return is_complex(tensor.dtype()); }
bool is_signed(const TensorImpl& tensor) { return tensor.dtype() != DType::boolean; }

PyObject* is_nonzero(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    refuse_arguments(arguments, count, names);
    const Tensor& tensor = unwrap(self);
    require(tensor->numel() != 0, "Boolean value of Tensor with no values is ambiguous");
    require(tensor->numel() == 1, "Boolean value of Tensor with more than one value is ambiguous");
    return PyBool_FromLong(ops::item(tensor).to<bool>());
  });
}

PyObject* is_same_size(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("is_same_size", {"other"}, 1, arguments, count, names);
    return PyBool_FromLong(unwrap(self)->sizes() == args.tensor(0)->sizes());
  });
}

bool is_same_window(const TensorImpl& a, const TensorImpl& b) {
  return a.storage() == b.storage() && a.offset() == b.offset() && a.sizes() == b.sizes() && a.strides() == b.strides();
}

PyObject* is_set_to(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("is_set_to", {"tensor"}, 1, arguments, count, names);
    return PyBool_FromLong(is_same_window(*unwrap(self), *args.tensor(0)));
  });
}

PyObject* itself(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    refuse_arguments(arguments, count, names);
    return Py_NewRef(self);
  });
}

template <Tensor (*op)(const Tensor&)>
PyObject* of_complex(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    refuse_arguments(arguments, count, names);
    return wrap(op(unwrap(self))).release();
  });
}

PyObject* to_complex(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    refuse_arguments(arguments, count, names);
    warn_of_lost_history(unwrap(self));
    const std::complex<double> number = ops::item(unwrap(self)).to<std::complex<double>>();
    return PyComplex_FromDoubles(number.real(), number.imag());
  });
}

PyObject* complex_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("complex", {"real", "imag"}, 2, arguments, count, names);
    return wrap(ops::complex(args.tensor(0), args.tensor(1))).release();
  });
}

bool is_conjugate(const TensorImpl& tensor) { return tensor.is_conjugate(); }

PyObject* get_device(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    refuse_arguments(arguments, count, names);
    unwrap(self);
    return PyLong_FromLong(-1);  // the CPU has no number
  });
}

PyObject* sum_to_size(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    if (names != nullptr) refuse_arguments(arguments, 0, names);
    return wrap(ops::sum_to_size(unwrap(self), parse_sizes(arguments, count))).release();
  });
}

}  // namespace

const Operation fact_operations[] = {operation<fact<is_complex_tensor>>("is_complex"),
                                     operation<fact<is_floating_tensor>>("is_floating_point"),
                                     operation<fact<is_signed>>("is_signed"),
                                     operation<fact<is_conjugate>>("is_conj"),
                                     operation<fact<never>>("is_neg"),
                                     operation<fact<never>>("is_distributed"),
                                     operation<is_nonzero>("is_nonzero"),
                                     operation<is_same_size>("is_same_size"),
                                     operation<get_device>("get_device"),
                                     operation<of_complex<ops::conj>>("conj"),
                                     operation<of_complex<ops::angle>>("angle"),
                                     operation<of_complex<ops::conj_physical>>("conj_physical"),
                                     operation<of_complex<ops::resolve_conj>>("resolve_conj"),
                                     operation<itself>("resolve_neg"),
                                     {nullptr, nullptr, nullptr}};

PyMethodDef fact_functions[] = {
    {"view_as_real", as_method(as_function<of_complex<ops::view_as_real>>), fast_call, nullptr},
    {"view_as_complex", as_method(as_function<of_complex<ops::view_as_complex>>), fast_call, nullptr},
    {"real", as_method(as_function<of_complex<ops::real>>), fast_call, nullptr},
    {"imag", as_method(as_function<of_complex<ops::imag>>), fast_call, nullptr},
    {"complex", as_method(complex_function), fast_call, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyMethodDef fact_methods[] = {{"__complex__", as_method(to_complex), fast_call, nullptr},
                              {"is_set_to", as_method(is_set_to), fast_call, nullptr},
                              {"is_shared", as_method(fact<never>), fast_call, nullptr},
                              {"is_pinned", as_method(fact<never>), fast_call, nullptr},
                              {"sum_to_size", as_method(sum_to_size), fast_call, nullptr},
                              {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
