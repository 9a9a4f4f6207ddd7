// The functions and types that each translation unit adds to the module.
#pragma once

#include "base/pyref.hpp"

namespace gradlife {

PyMethodDef* op_methods();           // of Tensor: add, mul_, view, sum, ... (functions.cpp)
PyMethodDef* op_functions();         // of the module: ones, zeros, tensor, from_numpy, cat, matmul, ... (functions.cpp)
extern PyNumberMethods op_numbers;   // + - * / ** @ neg and their in-place forms; bool, float, int, index
extern PyMappingMethods op_mapping;  // len, [], []=
PyObject* tensor_richcompare(PyObject* a, PyObject* b, int op);

}  // namespace gradlife
