#include "engine_py/wrappers/wrapper.hpp"

#include "base/events.hpp"
#include "engine/graph/autograd.hpp"
#include "engine/policy/release_texts.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"
#include "engine_py/wrappers/attributeless_tensor.hpp"
#include "engine_py/wrappers/closure.hpp"
#include "engine_py/wrappers/objects.hpp"

namespace gradlife {

Ref find_wrapper(Managed& impl) {
  PyObject* wrapper = static_cast<PyObject*>(impl.wrapper());
  if (wrapper == nullptr) return {};
  if (impl.identity() != Identity::resurrect || !impl.owns_wrapper()) return Ref::borrow(wrapper);
  // Returned again, without an incref: the impl's reference becomes the caller's, and the wrapper owns the impl again.
  impl.set_owns_wrapper(false);
  impl.retain();
  head_of(wrapper)->impl = &impl;
  head_of(wrapper)->owns_impl = true;
  record(EventKind::flipped, impl, "wrapper owns impl");
  return Ref::steal(wrapper);
}

Ref new_wrapper(Managed* impl, PyTypeObject* type) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) {
    impl->release();
    throw PythonError();
  }
  head_of(self)->impl = impl;
  head_of(self)->owns_impl = true;
  if (impl->identity() != Identity::rewrap) impl->set_wrapper(self);
  if (impl->identity() == Identity::coupled && impl->use_count() > 1) Py_INCREF(self);
  if (impl->identity() == Identity::mutual) {
    Py_INCREF(self);
    impl->set_owns_wrapper(true);
  }
  record(EventKind::wrapped, *impl);
  return Ref::steal(self);
}

bool is_kept_by_impl(PyObject* self) {
  const WrapperObject* head = head_of(self);
  return head->impl != nullptr && head->owns_impl && head->impl->wrapper() == self &&
         head->impl->identity() == Identity::resurrect && head->impl->use_count() > 1;
}

bool resurrect_wrapper(PyObject* self) {
  if (!is_kept_by_impl(self)) return false;
  Managed* impl = head_of(self)->impl;
  _Py_NewReference(self);
  impl->set_owns_wrapper(true);
  head_of(self)->owns_impl = false;
  // OneFlow's proposal clears the dying object's pointer; PyTorch left a borrowed one.
  if (impl->policy().is_oneflow) head_of(self)->impl = nullptr;
  record(EventKind::resurrected, *impl, impl->policy().is_oneflow ? "data emptied" : "data borrowed");
  record(EventKind::flipped, *impl, "impl owns wrapper");
  impl->release();
  return true;
}

// The first step of a dying wrapper: weak-reference callbacks and finalisers of its attributes may ask for the impl's
// wrapper again, and must get a new one.
void forget_wrapper(PyObject* self) {
  Managed* impl = head_of(self)->impl;
  if (impl == nullptr || impl->wrapper() != self) return;
  impl->set_wrapper(nullptr);
  impl->set_owns_wrapper(false);
}

void remember_wrapper(PyObject* self) {
  Managed* impl = head_of(self)->impl;
  if (impl == nullptr || impl->wrapper() != nullptr || impl->identity() == Identity::rewrap) return;
  impl->set_wrapper(self);
  if (impl->identity() == Identity::coupled && impl->use_count() > 1) Py_INCREF(self);
}

void leave_impl(PyObject* self) {
  WrapperObject* head = head_of(self);
  forget_wrapper(self);
  Managed* impl = head->impl;
  head->impl = nullptr;
  if (impl == nullptr || !head->owns_impl) return;
  record(EventKind::dropped, *impl);
  impl->release();
}

namespace {

PyTypeObject* tensor_class() { return reinterpret_cast<PyTypeObject*>(state().tensor_class); }

}  // namespace

Ref wrap(Tensor&& tensor) {
  if (!tensor) return Ref::borrow(Py_None);
  if (awaits_closure(*tensor)) close_over(tensor);
  if (Ref known = find_wrapper(*tensor)) return known;
  return wrap_as(std::move(tensor), tensor_class());
}

Ref wrap(const Tensor& tensor) { return wrap(Tensor(tensor)); }

// Up to 1.1 a new wrapper of a tensor takes a control block of its own over the tensor's node, if that is part of a
// context.
void take_own_block(const Tensor& tensor) {
  AutogradMeta* meta = tensor->meta();
  if (meta == nullptr || !meta->grad_fn || !meta->grad_fn->has_python_context()) return;
  const FunctionOwnership ownership = meta->grad_fn->policy().function_ownership;
  if (ownership == FunctionOwnership::ctx_owns_node || ownership == FunctionOwnership::refcount_check)
    meta->grad_fn = NodePtr::share(meta->grad_fn.get());
}

Ref wrap_as(Tensor&& tensor, PyTypeObject* type) {
  take_own_block(tensor);
  if (!tensor->policy().is_oneflow) return new_wrapper(tensor.detach(), type);
  type = bare_class_of(type);
  Ref wrapper = new_wrapper(tensor.detach(), type);
  if (is_bare(type)) PyObject_GC_UnTrack(wrapper.get());
  return wrapper;
}

Ref wrap_storage(const StoragePtr& storage) {
  if (!storage) return Ref::borrow(Py_None);
  if (Ref known = find_wrapper(*storage)) return known;
  return new_wrapper(StoragePtr(storage).detach(), state().storage_type);
}

Ref wrap_node(const NodePtr& node) {
  if (!node) return Ref::borrow(Py_None);
  const bool is_oneflow = node->policy().is_oneflow;
  if (!is_oneflow && node->has_python_context()) return Ref::borrow(static_cast<PyObject*>(node->python_context()));
  if (Ref known = find_wrapper(*node)) return known;
  return new_wrapper(NodePtr(node).detach(), is_oneflow ? state().oneflow_node_type : node_type(*node));
}

bool is_tensor(PyObject* object) { return PyObject_TypeCheck(object, state().tensor_base) != 0; }

const Tensor& unwrap(PyObject* object) {
  if (!is_tensor(object)) raise_python(PyExc_TypeError, "expected a Tensor, but got %.200s", Py_TYPE(object)->tp_name);
  WrapperObject* head = head_of(object);
  if (head->impl == nullptr)
    raise_python(PyExc_RuntimeError, "%s for argument #0 'self'", text_for(*current_policy(), texts::undefined_tensor));
  // A Tensor is one pointer to an impl, and so is this field: it is lent out as an owner.
  static_assert(sizeof(Tensor) == sizeof(Managed*));
  return *reinterpret_cast<const Tensor*>(&head->impl);
}

Tensor unwrap_optional(PyObject* object) { return object == nullptr || object == Py_None ? Tensor() : unwrap(object); }

bool is_kept_by_finalizer(PyObject* self) {
  if (Py_TYPE(self)->tp_finalize == nullptr) return false;
  PyObject_GC_Track(self);
  const bool is_kept = PyObject_CallFinalizerFromDealloc(self) < 0;
  if (!is_kept) PyObject_GC_UnTrack(self);
  return is_kept;
}

Ref wrap_list(const TensorList& tensors) {
  Ref list = checked(PyList_New(static_cast<Py_ssize_t>(tensors.size())));
  for (size_t i = 0; i < tensors.size(); ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), wrap(tensors[i]).release());
  return list;
}

TensorList unwrap_list(PyObject* sequence) {
  const Ref fast = checked(PySequence_Fast(sequence, "expected a sequence of Tensors"));
  TensorList tensors;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); ++i)
    tensors.push_back(unwrap_optional(PySequence_Fast_GET_ITEM(fast.get(), i)));
  return tensors;
}

Ref wrap_dims(const Dims& dims) {
  Ref values = make_tuple(dims.size(), [&](size_t i) { return checked(PyLong_FromLongLong(dims[i])); });
  if (state().size_type == nullptr) return values;
  // Without its own __new__, which checks each size.
  const Ref arguments = checked(PyTuple_Pack(1, values.get()));
  return checked(PyTuple_Type.tp_new(state().size_type, arguments.get(), nullptr));
}

int64_t parse_integer(PyObject* object) {
  const Ref number = checked(PyNumber_Index(object));
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (overflow != 0) raise_python(PyExc_ValueError, "Overflow when unpacking long long");
  if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  return value;
}

Dims parse_dims(PyObject* sequence) {
  if (PyLong_Check(sequence)) return Dims{parse_integer(sequence)};
  const Ref fast = checked(PySequence_Fast(sequence, "expected a sequence of ints"));
  Dims dims;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); ++i)
    dims.push_back(parse_integer(PySequence_Fast_GET_ITEM(fast.get(), i)));
  return dims;
}

Ref wrap_dtype(DType dtype) { return Ref::borrow(state().dtypes[static_cast<size_t>(dtype)]); }

bool parse_dtype(PyObject* object, DType* dtype) {
  for (size_t i = 0; i < dtype_count; ++i) {
    if (state().dtypes[i] != object) continue;
    *dtype = static_cast<DType>(i);
    return true;
  }
  return false;
}

}  // namespace gradlife
