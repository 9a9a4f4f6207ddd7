// The functions and types that each translation unit adds to the module.
#pragma once

#include "base/pyref.hpp"

namespace gradlife {

PyMethodDef* op_methods();    // of Tensor: add, mul_, view, sum, ... (functions.cpp)
PyMethodDef* op_functions();  // of the module: ones, zeros, tensor, from_numpy, cat, matmul, ... (functions.cpp)
extern PyType_Slot operator_slots[];  // + - * / ** @ neg and their in-place forms; comparisons; bool, float, int, index
extern PyMappingMethods op_mapping;   // len, [], []=

}  // namespace gradlife
