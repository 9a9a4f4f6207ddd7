// Wrappers of tensors, storages and nodes: creating them, finding them again, and what each identity policy does when
// a wrapper loses its last Python reference.
//
//   rewrap     every access creates a new wrapper; the impl knows none
//   cached     the impl remembers its wrapper without owning it; the dying wrapper clears that
//   resurrect  like cached, but if a wrapper dies while C++ still holds the impl, the impl takes ownership of it,
//              and the next access returns it without an incref
//   coupled    the impl owns its wrapper exactly while it has another owner than the wrapper
//   mutual     both own each other forever
#pragma once

#include "base/pyref.hpp"
#include "engine/graph/node.hpp"
#include "engine/policy/managed.hpp"
#include "engine/tensor/tensor.hpp"

namespace gradlife {

// Returns a new reference to the wrapper of a tensor (None for an undefined one). Errors as PythonError.
Ref wrap(const Tensor& tensor);
Ref wrap(Tensor&& tensor);
// Creates a wrapper of class `type` (a subclass of Tensor) for a tensor that has none yet.
Ref wrap_as(Tensor&& tensor, PyTypeObject* type);
Ref wrap_storage(const StoragePtr& storage);
PyTypeObject* node_type(const Node& node);  // borrowed, e.g. MulBackward0; types/node_type.cpp
Ref wrap_node(const NodePtr& node);         // None for no node; the context for a custom Function's

// Whether it is the wrapper of a C++ node (types/node_type.cpp).
bool is_node_wrapper(PyObject* object);
bool is_tensor(PyObject* object);
// TypeError if it is not a tensor; RuntimeError if its impl is gone.
const Tensor& unwrap(PyObject* object);
// Empty for None.
Tensor unwrap_optional(PyObject* object);
TensorList unwrap_list(PyObject* sequence);
Ref wrap_list(const TensorList& tensors);

// Calls the finalizer of a wrapper that is being freed. Whether it made a reference to it.
bool is_kept_by_finalizer(PyObject* self);
Ref wrap_dims(const Dims& dims);  // a torch.Size
Ref wrap_dtype(DType dtype);
bool parse_dtype(PyObject* object, DType* dtype);  // false: not a dtype
int64_t parse_integer(PyObject* object);
Dims parse_dims(PyObject* sequence);  // of Python ints

}  // namespace gradlife
