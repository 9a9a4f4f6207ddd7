// All Python objects that the module owns: the module's state.
#pragma once

#include <vector>

#include "base/pyref.hpp"
#include "engine/graph/node.hpp"

namespace gradlife {

struct ModuleState {
  PyTypeObject* tensor_base = nullptr;  // C type
  PyTypeObject* tensor_meta = nullptr;  // metaclass of Tensor and its subclasses
  PyTypeObject* storage_base = nullptr;
  PyTypeObject* storage_type = nullptr;   // UntypedStorage
  PyTypeObject* function_base = nullptr;  // contexts of custom Functions
  PyTypeObject* oneflow_node_type = nullptr;
  PyTypeObject* saved_tensor_types[3] = {};  // see saved_tensor.hpp
  PyTypeObject* size_type = nullptr;         // torch.Size, registered by Python
  PyTypeObject* dtype_type = nullptr;
  PyObject* dtypes[dtype_count] = {};  // in the order of DType
  PyTypeObject* input_metadata_type = nullptr;
  PyObject* node_types = nullptr;           // dict: node name -> wrapper type
  PyObject* torch_function_name = nullptr;  // "__torch_function__"
  // Registered by gradlife.engine, which implements in Python what needs no C++.
  PyObject* tensor_class = nullptr;  // Tensor
  PyObject* hooks_helper = nullptr;  // (dict, callable) -> RemovableHandle
  PyObject* cpu_device = nullptr;
  PyObject* strided_layout = nullptr;
  PyObject* parked_wrapper = nullptr;           // the last dead OneFlow wrapper, whose memory is not freed yet
  PyObject* warn = nullptr;                     // (category, text)
  bool has_overriding_types = false;            // whether some subclass of Tensor overrides functions
  PyObject* disabled_torch_function = nullptr;  // of a class that overrides none
  PyObject* torch_function = nullptr;           // (function, arguments, named arguments): asks the classes
  PyObject* torch_dispatch = nullptr;           // (name, arguments): asks the innermost dispatch mode
  PyObject* named_result = nullptr;             // (kind, tuple) -> torch.return_types.KIND
};

ModuleState& state();

}  // namespace gradlife
