// Applies a custom Function: forward, the history of its outputs, and the tensors that it saves.
#include <algorithm>

#include "base/events.hpp"
#include "engine/backward/views.hpp"
#include "engine/graph/autograd.hpp"
#include "engine/ops/ops.hpp"
#include "engine/policy/release_texts.hpp"
#include "engine_py/call/torch_function.hpp"
#include "engine_py/call/warnings.hpp"
#include "engine_py/functions/function.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/user_code.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {

namespace {

// OneFlow's Functions take tensors only, since 0.9 also None.
void check_argument(const Policy& policy, PyObject* argument, Py_ssize_t index) {
  const bool takes_none = takes_none_argument(policy);
  if (!policy.is_oneflow || (takes_none && argument == Py_None)) return;
  raise_python(PyExc_RuntimeError,
               takes_none
                   ? "\x1b[1m\x1b[38;2;255;000;000mError\x1b[0m: expected Tensor or None as element %zd, but got %R\n"
                   : "expected Tensor as element %zd, but got %R",
               index, Py_TYPE(argument));
}

}  // namespace

UnpackedInputs unpack_inputs(PyObject* const* arguments, Py_ssize_t count) {
  UnpackedInputs inputs;
  inputs.needs_input_grad = checked(PyTuple_New(count));
  bool any_requires = false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const bool tensor = is_tensor(arguments[i]);
    if (!tensor) check_argument(*current_policy(), arguments[i], i);
    const bool needs = tensor && requires_grad(unwrap(arguments[i]));
    inputs.is_tensor.push_back(tensor);
    if (tensor) inputs.tensors.push_back(unwrap(arguments[i]));
    any_requires = any_requires || needs;
    PyTuple_SET_ITEM(inputs.needs_input_grad.get(), i, Py_NewRef(needs ? Py_True : Py_False));
  }
  inputs.is_executable = is_recording() && any_requires;
  if (inputs.is_executable) inputs.next_edges = gradient_edges(inputs.tensors);
  return inputs;
}

namespace {

// Returns the type of what was given to ctx.mark_dirty or the like, for an error. Up to 2.13 torch's text ends before
// it.
const char* name_of_marked(PyObject* given) {
  return has(*current_policy(), traits::names_what_is_marked) ? Py_TYPE(given)->tp_name : "";
}

// Returns the tensors given to ctx.mark_dirty or the like; an error begins with `not_a_tensor` if one is not a tensor.
TensorList marked_tensors(PyObject* marked, const char* attribute, const char* not_a_tensor, bool has_number) {
  TensorList tensors;
  if (marked == nullptr || marked == Py_None) return tensors;
  if (!PyTuple_Check(marked))
    raise_python(PyExc_RuntimeError, "autograd internal error: %s attribute is expected to be a tuple but is %s",
                 attribute, name_of_marked(marked));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(marked); ++i) {
    PyObject* item = PyTuple_GET_ITEM(marked, i);
    const char* name = name_of_marked(item);
    if (!is_tensor(item) && has_number && *name != '\0')
      raise_python(PyExc_RuntimeError, "%s%zd is of type %s", not_a_tensor, i, name);
    if (!is_tensor(item)) raise_python(PyExc_RuntimeError, "%s%s", not_a_tensor, name);
    tensors.push_back(unwrap(item));
  }
  return tensors;
}

bool contains(const TensorList& tensors, const Tensor& tensor) {
  return std::find(tensors.begin(), tensors.end(), tensor) != tensors.end();
}

struct OutputMarks {
  TensorList dirty;
  TensorList non_differentiable;
  TensorList saved_by_setup;  // in setup_context, which gets the same tensors as forward's caller
};

void refuse_saved_by_setup(const Tensor& tensor, const OutputMarks& marks) {
  require(!contains(marks.saved_by_setup, tensor), text_for(*current_policy(), texts::an_input),
          " that has been returned as-is as output is being saved for backward. This is not supported if you "
          "override setup_context. You should return and save a view of the input instead, e.g. with x.view_as(x) or "
          "setup ctx inside the forward function itself.");
}

Tensor view_of_itself(const Tensor& tensor, const OutputMarks& marks) {
  refuse_saved_by_setup(tensor, marks);
  GradMode no_grad(false);
  return make_view(tensor, tensor->sizes(), tensor->strides(), tensor->offset(), CreationMeta::in_custom_function);
}

void check_dirty(const Tensor& tensor, bool is_input, Py_ssize_t outputs) {
  require(!is_leaf(*tensor) || !requires_grad(tensor),
          "a leaf Variable that requires grad has been used in an in-place operation.");
  const bool is_view = tensor->meta() != nullptr && tensor->meta()->view;
  const Policy& policy = *current_policy();
  const char* not_an_input = text_for(policy, texts::dirty_is_no_input);
  require(is_input || !is_view || !has(policy, traits::refuses_dirty_view_of_result), not_an_input);
  require(
      !is_view || outputs == 1,
      "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more "
      "than one Tensor. This is not supported by the current autograd engine. You should either make sure the input is "
      "not a view (using .clone() for example) or make your Function only return one Tensor (potentially splitting it "
      "into two Functions: one doing the inplace that returns a single Tensor and a second one that does the other "
      "operations). You can ask on the forum https://discuss.pytorch.org/ if you need help to do this change.");
  if (!is_input) warn(PyExc_UserWarning, not_an_input);
}

bool has_gradient(const Tensor& tensor, const NodePtr& node, const OutputMarks& marks, bool is_executable) {
  return is_executable && node && !contains(marks.non_differentiable, tensor) && is_differentiable(tensor->dtype());
}

// Makes a tensor an output of `node`, or leaves it without history. Returns it, or another tensor in its place.
Tensor give_history(Tensor tensor, const NodePtr& node, const TensorList& inputs, const OutputMarks& marks,
                    bool is_executable, Py_ssize_t outputs) {
  const bool is_input = contains(inputs, tensor);
  const bool is_dirty = contains(marks.dirty, tensor);
  if (!has_gradient(tensor, node, marks, is_executable)) {
    const bool is_viewed = has(*current_policy(), is_dirty ? traits::views_dirty_input : traits::views_returned_input);
    if (!requires_grad(tensor)) return is_input && is_viewed ? view_of_itself(tensor, marks) : tensor;
    if (is_input) return detach(tensor);
    if (tensor->meta() == nullptr || !tensor->meta()->view) detach_in_place(tensor);
    return tensor;
  }
  if (is_dirty) {
    check_dirty(tensor, is_input, outputs);
    if (tensor->meta() != nullptr) tensor->meta()->grad.reset();  // it belonged to the old value
    rebase_history(tensor, node);
    return tensor;
  }
  if (is_input) tensor = view_of_itself(tensor, marks);
  set_history(tensor, node);
  return tensor;
}

// Returns an unchanged input through its class's own view_as, if the class overrides that.
Ref seen_by_its_class(PyObject* output, const TensorList& inputs, const OutputMarks& marks, bool is_view) {
  const Tensor& tensor = unwrap(output);
  if (!is_view || !contains(inputs, tensor) || contains(marks.dirty, tensor) || !overrides(output))
    return Ref::borrow(output);
  refuse_saved_by_setup(tensor, marks);
  GradMode no_grad(false);
  Ref seen = checked(in_user_code([&] { return PyObject_CallMethod(output, "view_as", "O", output); }));
  if (!is_tensor(seen.get()))
    raise_python(PyExc_TypeError, "view_as of %.200s has to return a Tensor, not %.200s", Py_TYPE(output)->tp_name,
                 Py_TYPE(seen.get())->tp_name);
  return seen;
}

void mark_view(const Tensor& tensor, CreationMeta creation) {
  if (tensor->meta() != nullptr && tensor->meta()->view) tensor->meta()->view->creation = creation;
}

// Sets the creation mode of views among the outputs: if several outputs have history, none may be changed in place.
void mark_views(Borrowed results, const NodePtr& node, const TensorList& inputs, const OutputMarks& marks) {
  TensorList outputs;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(results.get()); ++i)
    if (is_tensor(PyTuple_GET_ITEM(results.get(), i))) outputs.push_back(unwrap(PyTuple_GET_ITEM(results.get(), i)));
  size_t differentiable = 0;
  for (const Tensor& output : outputs) {
    if (!contains(inputs, output) || !contains(marks.dirty, output))
      mark_view(output, CreationMeta::in_custom_function);
    differentiable += node && output->meta() != nullptr && output->meta()->grad_fn == node ? 1 : 0;
  }
  if (differentiable <= 1) return;
  for (const Tensor& output : outputs) mark_view(output, CreationMeta::multi_output);
}

void check_dirty_are_returned(const TensorList& dirty, Borrowed results) {
  for (const Tensor& changed : dirty) {
    bool is_returned = false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(results.get()); ++i) {
      PyObject* result = PyTuple_GET_ITEM(results.get(), i);
      is_returned = is_returned || (is_tensor(result) && unwrap(result) == changed);
    }
    require(is_returned,
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
            "modified inplace must all be outputs of the Function.");
  }
}

// Saves an output of forward without its history. The same for a view changed in place (since 2.10; before, such a view
// was taken for an input and kept everything alive): it is unpacked as an output of the node.
SavedSlot make_slot(const Tensor& tensor, const NodePtr& node, const OutputMarks& marks, const Policy& policy) {
  if (!tensor) return {};
  const AutogradMeta* meta = tensor->meta();
  const bool is_own = meta != nullptr && meta->grad_fn == node;
  const bool is_changed_view = has(policy, traits::changed_view_saved_as_output) && meta != nullptr && meta->view &&
                               contains(marks.dirty, tensor) && !contains(marks.non_differentiable, tensor);
  return SavedSlot(tensor, is_own || is_changed_view);
}

void check_to_save(PyObject* to_save, bool with_items) {
  if (to_save == nullptr || to_save == Py_None) return;
  if (!PyTuple_Check(to_save))
    raise_python(PyExc_RuntimeError, "autograd internal error: to_save attribute is expected to be a tuple but is %s",
                 name_of_marked(to_save));
  for (Py_ssize_t i = 0; with_items && i < PyTuple_GET_SIZE(to_save); ++i) {
    PyObject* item = PyTuple_GET_ITEM(to_save, i);
    if (item != Py_None && !is_tensor(item))
      raise_python(PyExc_TypeError, "save_for_backward can only save variables, but argument %zd is of type %s", i,
                   Py_TYPE(item)->tp_name);
  }
}

TensorList saved_tensors_of(const FunctionObject& context) {
  TensorList tensors;
  for (PyObject* saved : {context.to_save, context.saved_for_forward})
    for (Py_ssize_t i = 0; saved != nullptr && PyTuple_Check(saved) && i < PyTuple_GET_SIZE(saved); ++i)
      if (is_tensor(PyTuple_GET_ITEM(saved, i))) tensors.push_back(unwrap(PyTuple_GET_ITEM(saved, i)));
  return tensors;
}

void save_tensors(PyObject* context, const NodePtr& node, const OutputMarks& marks, const Ref& to_save) {
  FunctionObject* object = function_object(context);
  std::vector<SavedSlot> saved;
  check_to_save(to_save.get(), true);
  if (to_save && to_save.get() != Py_None)
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(to_save.get()); ++i)
      saved.push_back(make_slot(unwrap_optional(PyTuple_GET_ITEM(to_save.get(), i)), node, marks, *object->policy));
  static_cast<PyNode&>(*node).saved = std::move(saved);
}

}  // namespace

Ref wrap_outputs(PyObject* context, const NodePtr& node, UnpackedInputs inputs, Ref outputs) {
  FunctionObject* object = function_object(context);
  const bool is_single = !PyTuple_Check(outputs.get());
  if (is_single) outputs = checked(PyTuple_Pack(1, outputs.get()));
  const Py_ssize_t count = PyTuple_GET_SIZE(outputs.get());
  const bool is_executable = inputs.is_executable && static_cast<bool>(node);
  if (is_executable) {
    PyNode& custom = static_cast<PyNode&>(*node);
    custom.renew();
    custom.reset_input_metadata();
    custom.set_next_edges(std::move(inputs.next_edges));
    custom.is_tensor_input = inputs.is_tensor;
    custom.output_info.clear();
    custom.input_info.clear();
    const bool is_zero = has(*object->policy, traits::none_gradient_is_zero);
    if (is_zero || object->policy->legacy_functions != LegacyFunctions::refused)
      for (const Tensor& input : inputs.tensors)
        custom.input_info.push_back({input->sizes(), input->dtype(), is_zero && requires_grad(input)});
  }
  // Since 2.0 it is checked first, its items only if they are to be saved; the context loses it if a later step fails.
  const bool looks_first = has(*object->policy, traits::checks_to_save_first);
  if (looks_first) check_to_save(object->to_save, is_executable);
  TensorList saved_by_setup;
  if (inputs.has_setup_context) saved_by_setup = saved_tensors_of(*object);
  Ref to_save = Ref::steal(looks_first ? std::exchange(object->to_save, nullptr) : nullptr);
  const OutputMarks marks{marked_tensors(object->dirty_tensors, "dirty_tensors",
                                         "mark_dirty can only accept variables, but argument ", true),
                          marked_tensors(object->non_differentiable, "non_differentiable",
                                         "mark_non_differentiable only accepts variable arguments, but got ", false),
                          std::move(saved_by_setup)};
  Py_CLEAR(object->dirty_tensors);
  Py_CLEAR(object->non_differentiable);
  for (const Tensor& changed : marks.dirty) changed->bump_version();
  Ref results = checked(PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* output = PyTuple_GET_ITEM(outputs.get(), i);
    if (!is_tensor(output)) {
      if (!has(*object->policy, traits::forward_may_return_objects) || output == nullptr)
        raise_python(PyExc_TypeError, "%s.forward: expected %s (got %s) for return value %zd",
                     Py_TYPE(context)->tp_name, text_for(*object->policy, texts::forward_result),
                     Py_TYPE(output)->tp_name, i);
      if (is_executable) {
        static_cast<PyNode&>(*node).output_info.emplace_back();
        node->add_placeholder_input();
      }
      PyTuple_SET_ITEM(results.get(), i, Py_NewRef(output));
      continue;
    }
    const bool is_view = !requires_grad(unwrap(output)) || has_gradient(unwrap(output), node, marks, is_executable);
    const Ref seen = seen_by_its_class(output, inputs.tensors, marks,
                                       is_view && has(*object->policy, traits::returned_input_keeps_class));
    const Tensor tensor = unwrap(seen.get());
    const Tensor given = give_history(tensor, node, inputs.tensors, marks, is_executable, count);
    if (is_executable) {
      PyNode& custom = static_cast<PyNode&>(*node);
      // Outputs without history are also counted among the node's inputs, so that the numbers agree.
      const bool is_marked = contains(marks.non_differentiable, tensor);
      const bool is_bare = is_marked || !is_differentiable(tensor->dtype());
      const bool is_new = custom.num_inputs() == custom.output_info.size();
      if (is_new && is_bare) custom.add_placeholder_input();
      if (is_new && !is_bare) custom.add_input_metadata(*given);
      const bool is_materialized = object->materializes_non_differentiable || !is_marked;
      custom.output_info.push_back({given->sizes(), given->dtype(), is_materialized});
    }
    PyTuple_SET_ITEM(results.get(), i, wrap(given).release());
  }
  mark_views(results.get(), node, inputs.tensors, marks);
  check_dirty_are_returned(marks.dirty, outputs.get());
  if (!looks_first) to_save = Ref::borrow(object->to_save);
  if (is_executable) save_tensors(context, node, marks, to_save);
  Py_CLEAR(object->to_save);
  Py_CLEAR(object->saved_for_forward);
  if (is_single) return Ref::borrow(PyTuple_GET_ITEM(results.get(), 0));
  return results;
}

namespace {

// Binds keyword arguments in the order of forward's signature. Returns a tuple of all arguments.
Ref bind_keywords(Borrowed type, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  const Ref bind = checked(PyObject_GetAttrString(type, "_bind_arguments"));
  Ref bound = checked(PyObject_Vectorcall(bind.get(), arguments, static_cast<size_t>(count), names));
  if (!PyTuple_Check(bound.get())) raise_python(PyExc_TypeError, "_bind_arguments has to return a tuple");
  return bound;
}

// Whether the Function has a setup_context of its own: then forward gets no context. Since 2.0.
bool has_setup_context(Borrowed type) {
  if (!has(*current_policy(), traits::has_setup_context)) return false;
  const Ref splits = checked(PyObject_GetAttrString(type, "_has_setup_context"));
  return splits.get() == Py_True;
}

// Runs forward without recording.
Ref run_forward(Borrowed type, Borrowed context, bool has_setup, PyObject* const* arguments, Py_ssize_t count) {
  GradMode no_grad(false);
  const Ref forward = checked(PyObject_GetAttrString(type, "forward"));
  if (has_setup) {
    Ref outputs = checked(call_user_code(forward.get(), arguments, static_cast<size_t>(count)));
    const Ref inputs = make_tuple(static_cast<size_t>(count), [&](size_t i) { return Ref::borrow(arguments[i]); });
    Ref done = checked(in_user_code(
        [&] { return PyObject_CallMethod(type, "setup_context", "OOO", context.get(), inputs.get(), outputs.get()); }));
    if (has(*current_policy(), traits::leaks_setup_context_result)) done.release();
    return outputs;
  }
  std::vector<PyObject*> all{context};
  all.insert(all.end(), arguments, arguments + count);
  return checked(call_user_code(forward.get(), all.data(), all.size()));
}

// Returns a flag of the class, read when the class is applied. Since 2.13.
bool class_flag(Borrowed type, const char* name) {
  const Ref value = checked(PyObject_GetAttrString(type, name));
  if (!PyBool_Check(value.get()))
    raise_python(PyExc_RuntimeError, "%s must be a bool, got %s", name, Py_TYPE(value.get())->tp_name);
  return value.get() == Py_True;
}

void read_class_flags(Borrowed type, FunctionObject* context) {
  if (!has(*context->policy, traits::has_class_flags)) return;
  context->clears_on_access = class_flag(type, "clear_saved_tensors_on_access");
  context->takes_boxed_gradients = class_flag(type, "boxed_grads_call");
}

}  // namespace

PyObject* function_apply(PyObject* type, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    Ref bound;
    const bool has_setup = has_setup_context(type);
    // A setup_context also gets the defaults of forward's parameters.
    if (has_setup || (names != nullptr && PyTuple_GET_SIZE(names) > 0)) {
      bound = bind_keywords(type, arguments, count, names);
      arguments = PySequence_Fast_ITEMS(bound.get());
      count = PyTuple_GET_SIZE(bound.get());
    }
    UnpackedInputs inputs = unpack_inputs(arguments, count);  // before the node: this may create nodes of views
    const Ref backward_class = checked(PyObject_GetAttrString(type, "_backward_cls"));
    const Ref context = checked(PyObject_CallNoArgs(backward_class.get()));
    read_class_flags(type, function_object(context.get()));
    const NodePtr node = attach_node(context.get());
    inputs.has_setup_context = has_setup;
    // Before forward: the inputs of a Function that fails live as long as its context.
    if (node && inputs.is_executable && !node->policy().is_oneflow) node->set_next_edges(inputs.next_edges);
    Py_XSETREF(function_object(context.get())->needs_input_grad, Ref(inputs.needs_input_grad).release());
    Ref outputs = run_forward(type, context.get(), has_setup, arguments, count);
    return wrap_outputs(context.get(), node, std::move(inputs), std::move(outputs)).release();
  });
}

}  // namespace gradlife
