// Attributes of tensors.
#include "engine/graph/autograd.hpp"
#include "engine/ops/kernels/strided_loops.hpp"
#include "engine/ops/ops.hpp"
#include "engine/policy/release_texts.hpp"
#include "engine_py/call/args.hpp"
#include "engine_py/call/warnings.hpp"
#include "engine_py/hooks/hooks.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"
#include "engine_py/types/tensor_type.hpp"
#include "engine_py/wrappers/closure.hpp"
#include "engine_py/wrappers/objects.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

Ref from_bool(bool value) { return Ref::borrow(value ? Py_True : Py_False); }

// Getters take the impl, setters the impl and the value (nullptr: delete); both may throw C++ exceptions.
template <Ref (*get)(const Tensor&)>
PyObject* getter(PyObject* self, void*) {
  return guarded([&] { return get(unwrap(self)).release(); });
}
template <void (*set)(const Tensor&, PyObject*)>
int setter(PyObject* self, PyObject* value, void*) {
  return guarded(-1, [&] {
    set(unwrap(self), value);
    return 0;
  });
}

Ref get_requires_grad(const Tensor& tensor) { return from_bool(requires_grad(tensor)); }

void set_requires_grad_attribute(const Tensor& tensor, PyObject* value) {
  if (value == nullptr || !PyBool_Check(value)) raise_python(PyExc_RuntimeError, "requires_grad must be a bool");
  require(is_leaf(*tensor) || value == Py_False, "you can only change requires_grad flags of leaf variables.");
  require(value == Py_False || is_differentiable(tensor->dtype()), "only Tensors of floating point ",
          text_for(*current_policy(), texts::and_complex), "dtype can require gradients");
  set_requires_grad(tensor, value == Py_True);
}

Ref get_grad(const Tensor& tensor) {
  const AutogradMeta* meta = tensor->meta();
  if (meta != nullptr && meta->grad_fn && !meta->retains_grad && !meta->grad &&
      has(*current_policy(), traits::warns_of_nonleaf_grad))
    warn(PyExc_UserWarning,
         "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
         "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
         "Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure "
         "you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information.");
  return meta != nullptr ? wrap(meta->grad) : Ref::borrow(Py_None);
}

std::string size_text(const Dims& sizes) { return concat(sizes); }

const char* small_name(DType dtype) {
  static constexpr const char* names[] = {
      "float", "double", "long int", "bool", "int", "c10::complex<float>", "c10::complex<double>"};
  return names[static_cast<size_t>(dtype)];
}

void check_new_grad(const Tensor& tensor, PyObject* value) {
  if (!is_tensor(value))
    raise_python(PyExc_TypeError, "assigned grad expected to be a Tensor or None but got grad of type %s",
                 Py_TYPE(value)->tp_name);
  const Tensor& gradient = unwrap(value);
  if (gradient == tensor) raise_python(PyExc_RuntimeError, "can't assign Variable as its own grad");
  const DType expected = grad_dtype(*tensor).value_or(gradient->dtype());
  require(
      gradient->dtype() == expected, "attempting to assign a gradient with dtype '", small_name(gradient->dtype()),
      "' to a tensor with grad_dtype '", kernels::scalar_type_name(expected),
      "'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You can set the tensor's "
      "grad_dtype attribute with a specific dtype, or None to allow any dtype. Set grad_dtype with caution. Diverging "
      "the dtypes of a tensor and its gradient may break downstream systems that assume they match.");
  require(gradient->sizes() == tensor->sizes(), "attempting to assign a gradient of size '",
          size_text(gradient->sizes()), "' to a tensor of size '", size_text(tensor->sizes()),
          "'. Please ensure that the gradient and the tensor are the same size");
}

void set_grad(const Tensor& tensor, PyObject* value) {
  if (value == nullptr || value == Py_None) {
    if (tensor->meta() != nullptr) tensor->meta()->grad.reset();
    return;
  }
  check_new_grad(tensor, value);
  // OneFlow stores another tensor over the same memory.
  tensor->need_meta().grad = tensor->policy().is_oneflow ? detach(unwrap(value)) : unwrap(value);
}

Ref get_grad_dtype(const Tensor& tensor) {
  require(!grad_fn(tensor), "grad_dtype can only be accessed on leaf tensors.");
  const std::optional<DType> dtype = grad_dtype(*tensor);
  return dtype ? wrap_dtype(*dtype) : Ref::borrow(Py_None);
}

std::optional<DType> chosen_dtype(PyObject* value) {
  if (value == Py_None) return std::nullopt;
  DType dtype = DType::float32;
  if (!parse_dtype(value, &dtype))
    raise_python(PyExc_RuntimeError, "grad_dtype must be a torch.dtype or None, but got %s", Py_TYPE(value)->tp_name);
  return dtype;
}

// Deleting it, which crashes the process in PyTorch 2.13, is refused here.
void set_grad_dtype_attribute(const Tensor& tensor, PyObject* value) {
  require(value != nullptr, "Deleting grad_dtype is not allowed.");
  require(!grad_fn(tensor), "grad_dtype can only be set on leaf tensors.");
  const std::optional<DType> dtype = chosen_dtype(value);
  const AutogradMeta* meta = tensor->meta();
  if (dtype && meta != nullptr && meta->grad)
    require(meta->grad->dtype() == *dtype, "Cannot set grad_dtype to '", kernels::scalar_type_name(*dtype),
            "' because there is already a gradient with dtype '", small_name(meta->grad->dtype()),
            "'. Please clear the gradient (.grad = None) before changing grad_dtype, or ensure the new grad_dtype "
            "matches the existing gradient's dtype.");
  set_grad_dtype(tensor, dtype);
}

Ref get_grad_fn(const Tensor& tensor) {
  Ref node = wrap_node(grad_fn(tensor));
  hold_closure(*tensor, node.get());
  return node;
}

void set_grad_fn(const Tensor& tensor, PyObject* value) {
  require(value != nullptr, "Deletion of _grad_fn not allowed. Detach tensor instead!");
  if (value != Py_None) raise_python(PyExc_TypeError, "_grad_fn can be only set to None");
  detach_in_place(tensor);
}

Ref get_volatile(const Tensor&) {
  warn(PyExc_UserWarning, "volatile was removed (Variable.volatile is always False)");
  return Ref::borrow(Py_False);
}

void set_volatile(const Tensor&, PyObject*) {
  warn(PyExc_UserWarning, "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.");
}

Ref get_data(const Tensor& tensor) {
  return wrap(lowered("detach.default", [&] { return variable_data(tensor); }, tensor, true));
}

void set_data_attribute(const Tensor& tensor, PyObject* value) {
  if (value == nullptr) raise_python(PyExc_RuntimeError, "Deleting tensor data is not allowed. Delete tensor instead!");
  if (!is_tensor(value))
    raise_python(PyExc_TypeError, "Variable data has to be a tensor, but got %s", Py_TYPE(value)->tp_name);
  require(!requires_grad(tensor) || is_differentiable(unwrap(value)->dtype()),
          "data set to a tensor that requires gradients must be floating point or complex dtype");
  const bool is_other_type = unwrap(value)->dtype() != tensor->dtype();
  tensor->set_data(*unwrap(value));
  if (is_other_type && tensor->meta() != nullptr) tensor->meta()->grad_accumulator = WeakNodePtr();  // of the old dtype
}

Ref get_base(const Tensor& tensor) {
  const AutogradMeta* meta = tensor->meta();
  return meta != nullptr && meta->view ? wrap(meta->view->base) : Ref::borrow(Py_None);
}

// Asks for the node, as PyTorch does: that of a view may have to be created anew, which may be refused.
Ref get_is_leaf(const Tensor& tensor) { return from_bool(!grad_fn(tensor)); }
Ref get_version(const Tensor& tensor) {
  require(tensor->has_version(), no_version_text);
  return checked(PyLong_FromUnsignedLong(tensor->version()));
}
Ref get_output_nr(const Tensor& tensor) {
  return checked(PyLong_FromUnsignedLong(tensor->meta() != nullptr ? tensor->meta()->output_nr : 0));
}
Ref get_retains_grad(const Tensor& tensor) {
  const AutogradMeta* meta = tensor->meta();
  return from_bool(meta != nullptr && static_cast<bool>(meta->retains_grad));
}
Ref get_ndim(const Tensor& tensor) { return checked(PyLong_FromSize_t(tensor->dim())); }
Ref get_dtype(const Tensor& tensor) { return wrap_dtype(tensor->dtype()); }
Ref get_layout(const Tensor&) { return Ref::borrow(state().strided_layout); }
Ref get_cdata(const Tensor& tensor) { return checked(PyLong_FromVoidPtr(tensor.get())); }
Ref get_none(const Tensor&) { return Ref::borrow(Py_None); }
Ref get_itemsize(const Tensor& tensor) { return checked(PyLong_FromSize_t(item_size(tensor->dtype()))); }
Ref get_nbytes(const Tensor& tensor) {
  return checked(PyLong_FromLongLong(tensor->numel() * static_cast<int64_t>(item_size(tensor->dtype()))));
}
Ref get_T(const Tensor& tensor) {
  if (tensor->dim() != 2) warn_of_transpose(tensor->dim());
  Dims reversed;
  for (size_t dim = tensor->dim(); dim > 0; --dim) reversed.push_back(static_cast<int64_t>(dim) - 1);
  return wrap(ops::permute(tensor, reversed));
}
Ref get_mT(const Tensor& tensor) {
  require(tensor->dim() != 1, "tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.");
  return wrap(tensor->dim() == 0 ? ops::permute(tensor, {}) : ops::transpose(tensor, -2, -1));
}
Ref get_real(const Tensor& tensor) { return wrap(ops::real(tensor)); }
Ref get_imag(const Tensor& tensor) { return wrap(ops::imag(tensor)); }
// Writes into one part, as a slice assignment does.
template <Tensor (*part)(const Tensor&)>
void set_part(const Tensor& tensor, PyObject* value) {
  Scalar number;
  const Tensor target = part(tensor);
  if (value != nullptr && parse_number(value, &number)) {
    ops::fill_in_place(target, number);
  } else if (value != nullptr && is_tensor(value)) {
    ops::copy_in_place(target, unwrap(value));
  } else {
    raise_python(PyExc_TypeError, "a part of complex numbers is set to a tensor or a number");
  }
}
Ref get_true(const Tensor&) { return Ref::borrow(Py_True); }

// An emptied wrapper (its impl died while a weak reference resurrected it) looks like torch's undefined tensor.
PyObject* get_shape(PyObject* self, void*) {
  return guarded([&] {
    if (head_of(self)->impl == nullptr) return wrap_dims(Dims{0}).release();
    return wrap_dims(unwrap(self)->sizes()).release();
  });
}

PyObject* get_device(PyObject* self, void*) {
  return guarded([&] {
    require(head_of(self)->impl != nullptr, "tensor does not have a device");
    return Py_NewRef(state().cpu_device);
  });
}

// After an in-place operation the tensor's previous hooks stay with its old node: since 2.0 it has none of its own
// then.
PyObject* get_backward_hooks(PyObject* self, void*) {
  return guarded([&] {
    PyObject* hooks = tensor_object(self)->backward_hooks;
    const AutogradMeta* meta = unwrap(self)->meta();
    const bool may_be_left = has(unwrap(self)->policy(), traits::inplace_change_drops_wrapper_hooks);
    const bool are_left_behind = may_be_left && meta != nullptr && meta->grad_fn && meta->hooks.empty();
    return Py_NewRef(hooks != nullptr && !are_left_behind ? hooks : Py_None);
  });
}

int set_backward_hooks(PyObject* self, PyObject* value, void*) {
  return guarded(-1, [&] {
    const Tensor& tensor = unwrap(self);
    if (value == nullptr) raise_python(PyExc_RuntimeError, "Deletion of _backwards_hooks not allowed!");
    PyObject* dict = value == Py_None ? nullptr : value;
    Py_XINCREF(dict);
    Py_XSETREF(tensor_object(self)->backward_hooks, dict);
    if (dict == nullptr && tensor->meta() == nullptr) return 0;
    const auto dropped = std::move(tensor->need_meta().hooks);
    tensor->meta()->hooks.clear();
    if (dict != nullptr) tensor->meta()->hooks.push_back(make_tensor_hook(dict));
    return 0;
  });
}

PyObject* get_post_accumulate_hooks(PyObject* self, void*) {
  PyObject* hooks = tensor_object(self)->post_accumulate_grad_hooks;
  return Py_NewRef(hooks != nullptr ? hooks : Py_None);
}

int set_post_accumulate_hooks(PyObject* self, PyObject* value, void*) {
  return guarded(-1, [&] {
    const Tensor& tensor = unwrap(self);
    if (value == nullptr) raise_python(PyExc_RuntimeError, "Deletion of _post_accumulate_grad_hooks not allowed!");
    PyObject* dict = value == Py_None ? nullptr : value;
    Py_XINCREF(dict);
    Py_XSETREF(tensor_object(self)->post_accumulate_grad_hooks, dict);
    tensor->need_meta().post_accumulate_hook = dict != nullptr ? make_post_accumulate_hook(dict) : nullptr;
    return 0;
  });
}

}  // namespace

PyGetSetDef tensor_attributes[] = {
    {"requires_grad", getter<get_requires_grad>, setter<set_requires_grad_attribute>, nullptr, nullptr},
    {"grad", getter<get_grad>, setter<set_grad>, nullptr, nullptr},
    {"_grad", getter<get_grad>, setter<set_grad>, nullptr, nullptr},
    {"grad_dtype", getter<get_grad_dtype>, setter<set_grad_dtype_attribute>, nullptr, nullptr},
    {"grad_fn", getter<get_grad_fn>, nullptr, nullptr, nullptr},
    {"_grad_fn", getter<get_grad_fn>, setter<set_grad_fn>, nullptr, nullptr},
    {"volatile", getter<get_volatile>, setter<set_volatile>, nullptr, nullptr},
    {"data", getter<get_data>, setter<set_data_attribute>, nullptr, nullptr},
    {"is_leaf", getter<get_is_leaf>, nullptr, nullptr, nullptr},
    {"output_nr", getter<get_output_nr>, nullptr, nullptr, nullptr},
    {"retains_grad", getter<get_retains_grad>, nullptr, nullptr, nullptr},
    {"_base", getter<get_base>, nullptr, nullptr, nullptr},
    {"_version", getter<get_version>, nullptr, nullptr, nullptr},
    {"_cdata", getter<get_cdata>, nullptr, nullptr, nullptr},
    {"_backward_hooks", get_backward_hooks, set_backward_hooks, nullptr, nullptr},
    {"_post_accumulate_grad_hooks", get_post_accumulate_hooks, set_post_accumulate_hooks, nullptr, nullptr},
    {"shape", get_shape, nullptr, nullptr, nullptr},
    {"ndim", getter<get_ndim>, nullptr, nullptr, nullptr},
    {"dtype", getter<get_dtype>, nullptr, nullptr, nullptr},
    {"device", get_device, nullptr, nullptr, nullptr},
    {"layout", getter<get_layout>, nullptr, nullptr, nullptr},
    {"itemsize", getter<get_itemsize>, nullptr, nullptr, nullptr},
    {"nbytes", getter<get_nbytes>, nullptr, nullptr, nullptr},
    {"name", getter<get_none>, nullptr, nullptr, nullptr},
    {"T", getter<get_T>, nullptr, nullptr, nullptr},
    {"mT", getter<get_mT>, nullptr, nullptr, nullptr},
    {"real", getter<get_real>, setter<set_part<ops::real>>, nullptr, nullptr},
    {"imag", getter<get_imag>, setter<set_part<ops::imag>>, nullptr, nullptr},
    {"is_cpu", getter<get_true>, nullptr, nullptr, nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace gradlife
