// Methods that test a property of a tensor, or return the tensor because it already has it.
#include "engine/ops/kernels/strided_loops.hpp"
#include "engine/ops/ops.hpp"
#include "engine_py/call/methods.hpp"
#include "engine_py/call/warnings.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

template <bool (*is)(const TensorImpl&)>
PyObject* fact(PyObject* self, PyObject* const*, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    refuse_arguments(fact<is>, count, names);
    return PyBool_FromLong(is(*unwrap(self)));
  });
}

bool is_floating_tensor(const TensorImpl& tensor) { return is_floating(tensor.dtype()); }
bool is_complex_tensor(const TensorImpl& tensor) { return is_complex(tensor.dtype()); }

bool is_conjugate(const TensorImpl& tensor) { return tensor.is_conjugate(); }

}  // namespace

const Operation predicate_operations[] = {operation<fact<is_complex_tensor>>("is_complex"),
                                          operation<fact<is_floating_tensor>>("is_floating_point"),
                                          operation<fact<is_conjugate>>("is_conj"),
                                          operation<unary<ops::conj>>("conj"),
                                          operation<unary<ops::resolve_conj>>("resolve_conj"),
                                          {nullptr, nullptr, nullptr}};

PyMethodDef fact_functions[] = {{"view_as_real", as_method(as_function<unary<ops::view_as_real>>), fast_call, nullptr},
                                {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
