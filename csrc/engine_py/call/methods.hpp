// The operations for Python: each is a method of Tensor, most are functions of the module, too.
#pragma once

#include "engine_py/call/args.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {

// One operation: a method of Tensor, and a function of the module that takes the tensor first (as `input`) or nothing.
struct Operation {
  const char* name;
  FastMethod method;
  FastMethod function;
};

// Calls the method on the first argument, or on the one named `input`.
PyObject* call_on_input(FastMethod method, PyObject* const* arguments, Py_ssize_t count, PyObject* names);

template <FastMethod method>
PyObject* as_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return call_on_input(method, arguments, count, names);
}

// TypeError if a call of a method without parameters gets arguments.
void refuse_arguments(FastMethod method, Py_ssize_t count, PyObject* names);

// A method without arguments, from an operation on one tensor.
template <Tensor (*op)(const Tensor&)>
PyObject* unary(PyObject* self, PyObject* const*, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    refuse_arguments(unary<op>, count, names);
    return wrap(op(unwrap(self))).release();
  });
}

template <FastMethod method>
constexpr Operation operation(const char* name) {
  return {name, method, as_function<method>};
}

// Tables end with a null name. Operations become methods and functions, the other tables only what their names say.
extern const Operation arithmetic_operations[];  // arithmetic_methods.cpp
extern const Operation shape_operations[];       // shape_methods.cpp
extern const Operation reduction_operations[];   // reduction_methods.cpp
extern PyMethodDef reduction_functions[];        // reduction_methods.cpp: var_mean, ...: no methods
extern const Operation scan_operations[];        // scan_methods.cpp
extern PyMethodDef creation_methods[];
extern PyMethodDef resizing_methods[];
extern const Operation predicate_operations[];  // predicate_methods.cpp
extern PyMethodDef fact_functions[];
extern const Operation in_place_operations[];  // in_place_methods.cpp
extern PyMethodDef in_place_methods[];         // in_place_methods.cpp
extern PyMethodDef value_methods[];            // value_methods.cpp
extern PyMethodDef creation_functions[];
extern PyMethodDef layer_functions[];  // layer_functions.cpp: the same
extern PyMethodDef list_functions[];   // list_functions.cpp
extern PyMethodDef data_functions[];   // from_data.cpp: tensor, as_tensor, from_numpy

// Returns the tuple `torch.return_types.KIND` of an operation with named results.
Ref wrap_named(const char* kind, const TensorList& tensors);

constexpr int fast_call = METH_FASTCALL | METH_KEYWORDS;

// Wraps a new tensor, which may have to require grad.
PyObject* finished_tensor(Tensor tensor, bool requires_grad);
// Makes a tensor from nested sequences of numbers. `dtype`: nullptr for the one that the numbers suggest.
Tensor tensor_from_data(PyObject* data, const DType* dtype);
// Makes a tensor that shares the array's memory. TypeError and ValueError as in PyTorch.
Tensor tensor_from_array(PyObject* array);
bool is_array(PyObject* object);
Ref array_of(PyObject* self);  // shares memory, which the array keeps alive

}  // namespace gradlife
