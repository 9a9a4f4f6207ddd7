#include "engine_py/hooks/hooks.hpp"

#include "base/labels.hpp"
#include "engine/graph/autograd.hpp"
#include "engine/policy/traits.hpp"
#include "engine_py/call/args.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"
#include "engine_py/interpreter/user_code.hpp"
#include "engine_py/wrappers/objects.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

PyObject* as_python(Object* object) { return static_cast<PyObject*>(object); }

Handle hold(Borrowed dict) { return Handle::borrow(dict.get(), current_policy()->interpreter_exit); }

// Calls the callables that a hook dict has now, in the order of a plain dict: a hook may add or remove others.
template <class Call>
void each_callable(const Handle& dict, Call&& call) {
  PyObject* hooks = as_python(dict.get());
  const Ref callables = checked(PyDict_Check(hooks) ? PyDict_Values(hooks) : PyMapping_Values(hooks));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(callables.get()); ++i) call(PyList_GET_ITEM(callables.get(), i));
}

Ref hook_name(Borrowed hook) {
  Ref name = Ref::steal(PyObject_GetAttrString(hook, "__name__"));
  if (name) return name;
  drop_error();
  return checked(PyUnicode_FromString("<unknown>"));
}

// Checks that a gradient is replaced by one of its kind. Errors in torch's words.
void check_replacement(Borrowed original, Borrowed result, Borrowed hook) {
  if (result.get() == Py_None) return;
  if (original.get() == Py_None)
    raise_python(PyExc_RuntimeError, "can't replace a None gradient with a non-None value");
  if (!is_tensor(result))
    raise_python(PyExc_TypeError, "expected Variable, but hook returned '%s'", Py_TYPE(result.get())->tp_name);
  const Tensor& before = unwrap(original);
  const Tensor& after = unwrap(result);
  if (before->dtype() != after->dtype())
    raise_python(PyExc_RuntimeError, "hook '%S' has changed the type of value (was %s got %s)", hook_name(hook).get(),
                 legacy_type_name(before->dtype()), legacy_type_name(after->dtype()));
  if (before->sizes() != after->sizes())
    raise_python(PyExc_RuntimeError, "hook '%S' has changed the size of value", hook_name(hook).get());
}

// Returns the result of a node hook as a tuple of the same length as before. Before 2.0 a single tensor stands for a
// tuple of one.
Ref as_values(Ref result, Borrowed before, Borrowed hook) {
  const bool may_be_single = has(*current_policy(), traits::node_hook_may_return_single);
  if (may_be_single && is_tensor(result.get())) result = checked(PyTuple_Pack(1, result.get()));
  if (!PyTuple_Check(result.get()))
    raise_python(PyExc_TypeError, "expected tuple, but hook returned '%s'", Py_TYPE(result.get())->tp_name);
  const Py_ssize_t count = PyTuple_GET_SIZE(result.get());
  if (count != PyTuple_GET_SIZE(before.get()))
    raise_python(PyExc_RuntimeError, "hook '%S' has returned an incorrect number of values (got %zd, but expected %zd)",
                 hook_name(hook).get(), count, PyTuple_GET_SIZE(before.get()));
  for (Py_ssize_t i = 0; i < count; ++i)
    check_replacement(PyTuple_GET_ITEM(before.get(), i), PyTuple_GET_ITEM(result.get(), i), hook);
  return result;
}

template <class Base>
class DictHook : public Base {
 public:
  explicit DictHook(Borrowed dict, const char* label) : dict_(hold(dict)), label_(label) {}
  void visit_owned(OwnedVisitor& visitor) const override { visitor.object(label_, dict_.get(), Ownership::strong); }
  Object* traversable() const override { return dict_.get(); }

 protected:
  Handle dict_;

 private:
  LiveCount<Kind::hook> count_;
  const char* label_;  // as in the heap graph of torch's objects
};

class PyTensorHook final : public DictHook<TensorHook> {
 public:
  explicit PyTensorHook(Borrowed dict) : DictHook(dict, labels::tensor_hooks) {}
  Tensor call(Tensor gradient) override {
    Ref value = wrap(std::move(gradient));
    each_callable(dict_, [&](PyObject* callable) {
      Ref result = checked(call_user_code(callable, value.get()));
      if (result.get() == Py_None) return;
      check_replacement(value.get(), result.get(), callable);
      value = std::move(result);
    });
    return unwrap_optional(value.get());
  }
};

class PyPostAccumulateHook final : public DictHook<PostAccumulateHook> {
 public:
  explicit PyPostAccumulateHook(Borrowed dict) : DictHook(dict, labels::post_accumulate_hooks) {}
  void call(const Tensor& variable) override {
    Ref value = wrap(variable);
    bool is_replaced = false;
    each_callable(dict_, [&](PyObject* callable) {
      Ref result = checked(call_user_code(callable, value.get()));
      if (result.get() == Py_None || result.get() == value.get()) return;
      check_replacement(value.get(), result.get(), callable);
      value = std::move(result);
      is_replaced = true;
    });
    if (is_replaced) raise_python(PyExc_RuntimeError, "Tensor post accumulate grad hooks should return None.");
  }
};

class PyPreHook final : public DictHook<NodePreHook> {
 public:
  explicit PyPreHook(Borrowed dict) : DictHook(dict, labels::prehooks) {}
  TensorList call(TensorList gradients) override {
    Ref values = wrap_tuple(gradients);
    gradients.clear();
    each_callable(dict_, [&](PyObject* callable) {
      Ref result = checked(call_user_code(callable, values.get()));
      if (result.get() != Py_None) values = as_values(std::move(result), values.get(), callable);
    });
    return unwrap_list(values.get());
  }
};

class PyPostHook final : public DictHook<NodePostHook> {
 public:
  explicit PyPostHook(Borrowed dict) : DictHook(dict, labels::hooks) {}
  TensorList call(TensorList outputs, const TensorList& inputs) override {
    Ref values = wrap_tuple(outputs);
    outputs.clear();
    const Ref arrived = wrap_tuple(inputs);
    each_callable(dict_, [&](PyObject* callable) {
      Ref result = checked(
          in_user_code([&] { return PyObject_CallFunctionObjArgs(callable, values.get(), arrived.get(), nullptr); }));
      if (result.get() == Py_None) return;
      values = as_values(std::move(result), values.get(), callable);
    });
    return unwrap_list(values.get());
  }
};

// Returns the dict of the node's Python hooks of one kind; creates it, with its engine hook, on first use.
template <class PyHook, class Hooks>
Ref hook_dict(Hooks& hooks) {
  for (const auto& hook : hooks)
    if (Object* dict = hook->traversable()) return Ref::borrow(as_python(dict));
  const Ref module = checked(PyImport_ImportModule("collections"));
  const Ref type = checked(PyObject_GetAttrString(module.get(), "OrderedDict"));
  Ref dict = checked(PyObject_CallNoArgs(type.get()));
  hooks.push_back(std::make_unique<PyHook>(dict.get()));
  return dict;
}

Ref add_callable(const Ref& dict, Borrowed callable) {
  return checked(PyObject_CallFunctionObjArgs(state().hooks_helper, dict.get(), callable.get(), nullptr));
}

}  // namespace

std::shared_ptr<TensorHook> make_tensor_hook(Borrowed dict) { return std::make_shared<PyTensorHook>(dict); }

std::unique_ptr<PostAccumulateHook> make_post_accumulate_hook(Borrowed dict) {
  return std::make_unique<PyPostAccumulateHook>(dict);
}

Ref register_post_hook(Node& node, Borrowed callable) {
  return add_callable(hook_dict<PyPostHook>(node.post_hooks), callable);
}

Ref register_pre_hook(Node& node, Borrowed callable) {
  return add_callable(hook_dict<PyPreHook>(node.pre_hooks), callable);
}

void register_hook_dict(Node& node, Borrowed tensor) {
  if (!is_tensor(tensor)) raise_python(PyExc_TypeError, "_register_hook_dict expected a variable");
  const Tensor& impl = unwrap(tensor);
  PyObject* dict = tensor_object(tensor)->backward_hooks;
  if (dict == nullptr) return;
  const uint32_t output_nr = impl->meta() != nullptr ? impl->meta()->output_nr : 0;
  node.tensor_hooks.push_back({make_tensor_hook(dict), output_nr});
}

}  // namespace gradlife
