#include "engine_py/types/tensor_type.hpp"

#include <string>
#include <utility>
#include <vector>

#include "base/immortal.hpp"
#include "engine/graph/autograd.hpp"
#include "engine/ops/ops.hpp"
#include "engine/policy/traits.hpp"
#include "engine_py/call/args.hpp"
#include "engine_py/call/tables.hpp"
#include "engine_py/call/torch_function.hpp"
#include "engine_py/functions/function.hpp"
#include "engine_py/hooks/hooks.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"
#include "engine_py/types/storage_type.hpp"
#include "engine_py/wrappers/attributeless_tensor.hpp"
#include "engine_py/wrappers/closure.hpp"
#include "engine_py/wrappers/objects.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

TensorImpl* impl_of(PyObject* self) { return static_cast<TensorImpl*>(head_of(self)->impl); }

// Since 1.10 the collector may visit a tensor's node through the tensor if nobody else owns either.
int visit_sole_owned_node(TensorImpl& impl, visitproc visit, void* arg) {
  const AutogradMeta* meta = impl.meta();
  if (meta == nullptr || !meta->grad_fn || impl.use_count() != 1) return 0;
  const NodePtr& node = meta->grad_fn;
  if (const PyNode* custom = dynamic_cast<const PyNode*>(node.get())) {
    if (custom->is_solely_owned(node)) Py_VISIT(custom->context());
    return 0;
  }
  if (node->identity() == Identity::coupled && node->wrapper() != nullptr && node.use_count() == 2)
    Py_VISIT(static_cast<PyObject*>(node->wrapper()));
  return 0;
}

int visit_impl(TensorImpl& impl, visitproc visit, void* arg) {
  const Policy& policy = impl.policy();
  if (policy.is_oneflow) return 0;
  if (has(policy, traits::collector_sees_sole_owned_node)) {
    if (const int stop = visit_sole_owned_node(impl, visit, arg)) return stop;
  }
  if (impl.meta() == nullptr) return 0;
  if (const int stop = visit_closure(impl, visit, arg)) return stop;
  for (const auto& hook : impl.meta()->hooks) Py_VISIT(static_cast<PyObject*>(hook->traversable()));
  return 0;
}

}  // namespace

// Up to 1.13 the collector cleared the attributes before the wrapper was resurrected (issue 75932).
PyObject* taken_from_kept(PyObject* self) {
  const Policy& policy = head_of(self)->impl->policy();
  return has(policy, traits::attributes_cleared_before_resurrection) ? tensor_object(self)->dict : nullptr;
}

int visit_tensor_references(PyObject* self, visitproc visit, void* arg) {
  if (const int stop = visit_slots(self, state().tensor_base, visit, arg)) return stop;
  TensorObject* object = tensor_object(self);
  Py_VISIT(object->dict);
  Py_VISIT(object->backward_hooks);
  Py_VISIT(object->post_accumulate_grad_hooks);
  if (TensorImpl* impl = impl_of(self); impl != nullptr && object->head.owns_impl) return visit_impl(*impl, visit, arg);
  return 0;
}

namespace {

// A wrapper that its impl would keep is not garbage, whatever its own references say.
int tensor_traverse(PyObject* self, visitproc visit, void* arg) {
  if (is_bare(Py_TYPE(self)) || is_kept_by_impl(self)) return 0;
  Py_VISIT(Py_TYPE(self));
  return visit_tensor_references(self, visit, arg);
}

// Up to 2.9 a dying wrapper clears the hooks before its accumulator, although that of a tensor unpacked from a saved
// slot belongs to a leaf that lives: since 2.0 the leaf's own hooks, too.
void clear_accumulator_hooks(TensorImpl& impl) {
  if (impl.meta() == nullptr || !has(impl.policy(), traits::dying_tensor_clears_hooks)) return;
  const NodePtr accumulator = impl.meta()->grad_accumulator.lock();
  if (!accumulator) return;
  const auto pre_hooks = std::exchange(accumulator->pre_hooks, {});
  const auto tensor_hooks = std::exchange(accumulator->tensor_hooks, {});
  const Tensor& leaf = static_cast<AccumulateGrad&>(*accumulator).variable();
  if (!has(impl.policy(), traits::tensor_hooks_come_first) || leaf->meta() == nullptr) return;
  const auto hooks = std::exchange(leaf->meta()->hooks, {});
}

void take_apart(PyObject* self) {
  TensorObject* object = tensor_object(self);
  Py_CLEAR(object->dict);
  Py_CLEAR(object->backward_hooks);
  Py_CLEAR(object->post_accumulate_grad_hooks);
  if (TensorImpl* impl = impl_of(self); impl != nullptr && object->head.owns_impl) {
    clear_accumulator_hooks(*impl);
    leave_gradient(*impl);
  }
  leave_impl(self);
}

int tensor_clear(PyObject* self) {
  TensorImpl* impl = impl_of(self);
  if (is_kept_by_impl(self)) {
    if (taken_from_kept(self) != nullptr) Py_CLEAR(tensor_object(self)->dict);
    return 0;
  }
  if (impl != nullptr && head_of(self)->owns_impl) clear_closure(*impl);
  take_apart(self);
  return 0;
}

// OneFlow 0.8 alternates between two addresses when a gradient is read repeatedly (issue 9500): a dead wrapper's memory
// is freed one death late. Its class is kept until then, because freeing needs its memory layout.
void free_memory(PyObject* self, bool is_late) {
  PyObject* freed = self;
  if (is_late) std::swap(freed, state().parked_wrapper);
  if (freed == nullptr) return;
  PyTypeObject* type = Py_TYPE(freed);
  PyObject_GC_Del(freed);
  Py_DECREF(type);
}

void free_tensor(PyObject* self) {
  const Managed* impl = head_of(self)->impl;
  const bool is_late = impl != nullptr && impl->policy().is_oneflow && impl->identity() == Identity::cached;
  if (tensor_object(self)->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
  clear_slots(self, state().tensor_base);
  take_apart(self);
  free_memory(self, is_late);
}

// Dealloc of Tensor and of every subclass: type.__new__ would give subclasses one of their own, which finalises before
// we can check whether the wrapper is resurrected.
void tensor_dealloc(PyObject* self) {
  if (resurrect_wrapper(self)) return;
  PyObject_GC_UnTrack(self);
  forget_wrapper(self);
  Py_TRASHCAN_BEGIN(self, tensor_dealloc) if (is_kept_by_finalizer(self)) { remember_wrapper(self); }
  else {
    free_tensor(self);
  }
  Py_TRASHCAN_END
}

int tensor_meta_init(PyObject* self, PyObject* arguments, PyObject* keywords) {
  if (PyType_Type.tp_init(self, arguments, keywords) < 0) return -1;
  PyTypeObject* type = reinterpret_cast<PyTypeObject*>(self);
  type->tp_dealloc = tensor_dealloc;
  type->tp_traverse = tensor_traverse;
  if (state().tensor_class != nullptr && has_function(type)) state().has_overriding_types = true;
  return 0;
}

// Names of arguments may have half characters, which have no UTF-8.
const char* utf8(PyObject* text) {
  const char* found = PyUnicode_AsUTF8(text);
  if (found == nullptr) throw PythonError();
  return found;
}

[[noreturn]] void refuse_construction(PyObject* arguments, PyObject* keywords) {
  std::string given;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i)
    given += concat(given.empty() ? "" : ", ", short_name(PyTuple_GET_ITEM(arguments, i)));
  PyObject *name, *value;
  for (Py_ssize_t at = 0; keywords != nullptr && PyDict_Next(keywords, &at, &name, &value);)
    given += concat(given.empty() ? "" : ", ", utf8(name), "=", short_name(value));
  if (PyTuple_GET_SIZE(arguments) == 0) given += ", ";
  raise_python(
      PyExc_TypeError,
      "new() received an invalid combination of arguments - got (%s), but expected one of:\n * (*, torch.device "
      "device = None)\n * (torch.Storage storage)\n * (Tensor other)\n * (tuple of ints size, *, torch.device "
      "device = None)\n * (object data, *, torch.device device = None)\n",
      given.c_str());
}

// Numbers for a size: no bools, and no tensors or arrays, which may have an index, too.
bool is_integer(PyObject* object) {
  return PyIndex_Check(object) && !PyBool_Check(object) && !PySequence_Check(object) && !is_tensor(object);
}

// Whether the legacy constructor takes this value by this name.
bool takes_by_name(const std::string& name, PyObject* value) {
  return name == "data" || (name == "size" && is_sequence(value)) || (name == "other" && is_tensor(value)) ||
         (name == "storage" && is_storage(value));
}

// `Tensor(2, 3)`, `Tensor(torch.Size([2, 3]))` and `Tensor(size=(2, 3))`.
Tensor uninitialized(PyObject* given) {
  for (Py_ssize_t i = 0; PyTuple_CheckExact(given) && i < PyTuple_GET_SIZE(given); ++i)
    if (!is_integer(PyTuple_GET_ITEM(given, i)))
      raise_python(PyExc_TypeError,
                   "new(): argument 'size' failed to unpack the object at pos %zd with error \"type must be tuple of "
                   "ints,but got %s\"",
                   i + 1, short_name(PyTuple_GET_ITEM(given, i)));
  const Dims sizes = parse_dims(given);
  ops::require_sizes(sizes);
  return empty(sizes, DType::float32);
}

// The data of PyTorch's legacy constructor become float32, whatever they are.
Tensor from_data(PyObject* data) {
  if ((!PySequence_Check(data) && !is_storage(data)) || is_tensor(data))
    raise_python(PyExc_TypeError, "new(): data must be a sequence (got %s)", Py_TYPE(data)->tp_name);
  const Ref module = checked(PyImport_ImportModule("gradlife._engine"));
  const Ref made = checked(PyObject_CallMethod(module.get(), "tensor", "OO", data, wrap_dtype(DType::float32).get()));
  return variable_data(unwrap(made.get()));
}

PyObject* tensor_new(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  return guarded([&] {
    if (type == state().tensor_base)
      raise_python(PyExc_RuntimeError, "Cannot directly construct TensorBase; subclass it and then construct that");
    const Py_ssize_t count = PyTuple_GET_SIZE(arguments);
    PyObject *value = count > 0 ? PyTuple_GET_ITEM(arguments, 0) : nullptr, *key, *item;
    std::string name;
    for (Py_ssize_t at = 0; keywords != nullptr && PyDict_Next(keywords, &at, &key, &item);) {
      if (PyUnicode_CompareWithASCIIString(key, "device") == 0) continue;
      name = utf8(key);
      if (value != nullptr || !takes_by_name(name, item)) refuse_construction(arguments, keywords);
      value = item;
    }
    if (value == nullptr) return wrap_as(empty({0}, DType::float32), type).release();
    if (count > 1 && !is_integer(value)) refuse_construction(arguments, keywords);
    if (is_tensor(value) && name != "data") return wrap_as(ops::view_as_itself(unwrap(value)), type).release();
    const bool is_size = name == "size" || Py_TYPE(value) == state().size_type;
    if (is_size || (is_integer(value) && name.empty()))
      return wrap_as(uninitialized(is_size ? value : arguments), type).release();
    return wrap_as(from_data(value), type).release();
  });
}

// Tensor is the one class that derives from TensorBase.
PyObject* refuse_subclass(PyObject* type, PyObject*, PyObject*) {
  // CPython puts `+=` here, too, and would take a NotImplemented from it for a result.
  reinterpret_cast<PyHeapTypeObject*>(type)->as_sequence.sq_inplace_concat = nullptr;
  const bool is_direct = reinterpret_cast<PyTypeObject*>(type)->tp_base == state().tensor_base;
  if (!is_direct || state().tensor_class == nullptr) return Py_NewRef(Py_None);
  PyErr_SetString(PyExc_RuntimeError, "Cannot subclass _TensorBase directly");
  return nullptr;
}

PyMethodDef subclass_method = {"__init_subclass__",
                               reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(refuse_subclass)),
                               METH_VARARGS | METH_KEYWORDS | METH_CLASS, nullptr};

PyMemberDef tensor_members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, dict), READONLY, nullptr},
                                {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weakrefs), READONLY, nullptr},
                                {nullptr, 0, 0, 0, nullptr}};

PyObject* get_false(PyObject*, void*) { return Py_NewRef(Py_False); }

// Joins the attributes and those that a tensor can have elsewhere, but not here.
PyGetSetDef* all_attributes() {
  std::vector<PyGetSetDef> rows;
  for (const PyGetSetDef* row = tensor_attributes; row->name != nullptr; ++row) rows.push_back(*row);
  for (const char* name : {"is_cuda", "is_ipu", "is_maia", "is_meta", "is_mkldnn", "is_mps", "is_mtia", "is_nested",
                           "is_quantized", "is_sparse", "is_sparse_csr", "is_vulkan", "is_xla", "is_xpu"})
    rows.push_back({name, get_false, nullptr, nullptr, nullptr});
  rows.push_back({nullptr, nullptr, nullptr, nullptr, nullptr});
  return let_classes_override(immortal(std::move(rows)).data());
}

// Joins the method tables of the type: operations and autograd methods.
PyMethodDef* all_methods() {
  std::vector<PyMethodDef> methods;
  for (PyMethodDef* table : {op_methods(), autograd_methods})
    for (; table->ml_name != nullptr; ++table) methods.push_back(*table);
  let_classes_override(methods, true);
  methods.push_back(subclass_method);
  methods.push_back({nullptr, nullptr, 0, nullptr});
  return immortal(std::move(methods)).data();
}

}  // namespace

Ref make_tensor_meta() {
  static PyType_Slot slots[] = {
      {Py_tp_base, &PyType_Type}, {Py_tp_init, reinterpret_cast<void*>(tensor_meta_init)}, {0, nullptr}};
  static PyType_Spec spec = {"gradlife._engine._TensorMeta", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  return checked(PyType_FromSpec(&spec));
}

Ref make_tensor_base() {
  std::vector<PyType_Slot> slots = {{Py_tp_new, reinterpret_cast<void*>(tensor_new)},
                                    {Py_tp_dealloc, reinterpret_cast<void*>(tensor_dealloc)},
                                    {Py_tp_traverse, reinterpret_cast<void*>(tensor_traverse)},
                                    {Py_tp_clear, reinterpret_cast<void*>(tensor_clear)},
                                    {Py_tp_members, tensor_members},
                                    {Py_tp_getset, all_attributes()},
                                    {Py_tp_methods, all_methods()},
                                    {Py_tp_hash, reinterpret_cast<void*>(PyBaseObject_Type.tp_hash)},
                                    {Py_mp_length, reinterpret_cast<void*>(op_mapping.mp_length)},
                                    {Py_mp_subscript, reinterpret_cast<void*>(op_mapping.mp_subscript)},
                                    {Py_mp_ass_subscript, reinterpret_cast<void*>(op_mapping.mp_ass_subscript)}};
  for (const PyType_Slot* slot = operator_slots; slot->slot != 0; ++slot) slots.push_back(*slot);
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"torch._C.TensorBase", sizeof(TensorObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots.data()};
  return checked(PyType_FromSpec(&spec));
}

}  // namespace gradlife
