// The Python type of storages.
#pragma once

#include "base/pyref.hpp"
#include "engine/tensor/tensor.hpp"

namespace gradlife {

// tp_traverse of a wrapper that its impl would not keep alive.
int visit_storage_references(PyObject* self, visitproc visit, void* arg);
bool is_storage(PyObject* object);  // an untyped one
StoragePtr unwrap_storage(PyObject* object);
Ref make_storage_meta();
Ref make_storage_base(const Ref& meta);     // torch._C.StorageBase
Ref make_storage_type(PyTypeObject* base);  // torch.UntypedStorage

}  // namespace gradlife
