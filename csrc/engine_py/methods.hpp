// The operations as Python calls them: each a method of Tensor, most of them functions of the module too.
#pragma once

#include "engine_py/args.hpp"

namespace gradlife {

// Tables that make up the methods of Tensor and, with the tensor as first argument (`input`), the module's functions.
extern PyMethodDef arithmetic_methods[];  // arithmetic_methods.cpp
extern PyMethodDef in_place_methods[];    // in_place_methods.cpp
extern PyMethodDef shape_methods[];       // shape_methods.cpp
extern PyMethodDef value_methods[];       // value_methods.cpp: methods only
extern PyMethodDef creation_methods[];    // creation.cpp: methods only (new_zeros, ...)
extern PyMethodDef creation_functions[];  // creation.cpp
extern PyMethodDef data_functions[];      // from_data.cpp: tensor, as_tensor, from_numpy

constexpr int fast_call = METH_FASTCALL | METH_KEYWORDS;

// A tensor of nested sequences of numbers. `dtype`: nullptr for the one that the numbers suggest.
Tensor tensor_from_data(PyObject* data, const DType* dtype);
// Shares the array's memory. Errors (TypeError, ValueError) as PyTorch's.
Tensor tensor_from_array(PyObject* array);
bool is_array(PyObject* object);
Ref array_of(const Tensor& tensor);  // sharing memory, kept alive by the array

}  // namespace gradlife
