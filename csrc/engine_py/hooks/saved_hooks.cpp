#include "engine_py/hooks/saved_hooks.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/labels.hpp"
#include "engine/policy/policy.hpp"
#include "engine/policy/release_texts.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/user_code.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

PyObject* as_python(Object* object) { return static_cast<PyObject*>(object); }

Handle take_reference(Borrowed callable, const Policy& policy) {
  if (policy.hook_references == HookReferences::borrowed) return Handle::steal(callable.get(), policy.interpreter_exit);
  if (policy.hook_references == HookReferences::extra) Py_INCREF(callable.get());
  return Handle::borrow(callable.get(), policy.interpreter_exit);
}

class PySavedHooks final : public SavedHooks {
 public:
  PySavedHooks(Borrowed pack, Borrowed unpack, bool are_default)
      : unpack_(take_reference(unpack, *current_policy())),
        pack_(take_reference(pack, *current_policy())),
        exit_(current_policy()->interpreter_exit),
        policy_(*current_policy()),
        are_default_(are_default) {}
  PySavedHooks(const PySavedHooks&) = delete;
  PySavedHooks& operator=(const PySavedHooks&) = delete;

  // OneFlow 0.9 never releases its reference to pack's result, and releases unpack first.
  ~PySavedHooks() override {
    if (!policy_.is_oneflow) return;
    packed_.release();
    unpack_.reset();
  }

  void pack(const Tensor& tensor) override {
    const Ref value = wrap(tensor);
    PyObject* packed = call_user_code(as_python(pack_.get()), value.get());
    if (packed == nullptr) throw_from_hook(quotes_errors() && are_default_);
    packed_ = Handle::steal(packed, exit_);
  }

  // The hook may free its own graph, and this object with it, so nothing of it is read after the call.
  Tensor unpack() override {
    if (!packed_ && quotes_errors()) refuse_missing(policy_);
    const bool is_quoted = quotes_errors();
    const Ref callable = Ref::borrow(as_python(unpack_.get()));
    const Ref packed = Ref::borrow(as_python(packed_.get()));
    const Ref result =
        Ref::steal(in_user_code([&] { return PyObject_CallFunctionObjArgs(callable.get(), packed.get(), nullptr); }));
    if (!result) throw_from_hook(is_quoted);
    if (!is_tensor(result.get()))
      raise_python(PyExc_TypeError,
                   "Output of saved tensor unpack_hook expected to be a Tensor but got result of type %s",
                   Py_TYPE(result.get())->tp_name);
    return unwrap(result.get());
  }

  Object* packed() const override { return packed_.get(); }
  Object* unpack_callable() const override { return unpack_.get(); }
  void visit_owned(OwnedVisitor& visitor) const override {
    visitor.object(labels::pack_hook, pack_.get(), Ownership::strong);
    visitor.object(labels::unpack_hook, unpack_.get(), Ownership::strong);
    if (packed_) visitor.object(labels::packed, packed_.get(), Ownership::strong);
  }

 private:
  // pybind11's placeholder for packed data after a pack hook raised; since 2.0 unpack is called without it.
  [[noreturn]] static void refuse_missing(const Policy& policy) {
    fail(ErrorKind::runtime, text_for(policy, texts::unconverted_argument), "compile in debug mode for details)");
  }

  bool quotes_errors() const { return has(policy_, traits::quotes_errors_of_hooks); }
  // Up to 1.13 an exception of a hook called by the engine arrived as a RuntimeError that quotes it.
  [[noreturn]] static void throw_from_hook(bool is_quoted) {
    const PythonError error;
    if (!is_quoted) throw error;
    const Ref text = Ref::steal(PyObject_Str(error.value()));
    if (!text) drop_error();
    raise_python(PyExc_RuntimeError, "%s: %S", Py_TYPE(error.value())->tp_name, text ? text.get() : Py_None);
  }

  // Released in this order, last declared first: pack, unpack, packed.
  Handle packed_;
  Handle unpack_;
  Handle pack_;
  ExitPolicy exit_;
  const Policy& policy_;
  bool are_default_;
};

struct HookStack {
  std::vector<std::pair<Handle, Handle>> pairs;
  std::optional<std::string> disabled;
  bool is_tracing = false;  // hooks may be pushed, but they pack nothing
};

// Created lazily, one per thread; what remains at the thread's end is released under the interpreter lock. In OneFlow
// all threads share one, which is never destroyed.
HookStack& stack() {
  static HookStack* of_all = new HookStack;
  thread_local HookStack of_thread;
  return current_policy()->is_oneflow ? *of_all : of_thread;
}

}  // namespace

std::unique_ptr<SavedHooks> make_saved_hooks(Borrowed pack, Borrowed unpack) {
  return std::make_unique<PySavedHooks>(pack, unpack, false);
}

void push_default_hooks(Borrowed pack, Borrowed unpack) {
  HookStack& hooks = stack();
  if (hooks.disabled) fail(ErrorKind::runtime, *hooks.disabled);
  const Policy& policy = *current_policy();
  require(!has(policy, traits::one_pair_of_default_hooks) || hooks.pairs.empty(),
          "Setting default hooks but they have already been set. Hint: only one pair of hooks is allowed at a time.");
  hooks.pairs.emplace_back(Handle::borrow(pack.get()), Handle::borrow(unpack.get()));
}

void pop_default_hooks() {
  HookStack& hooks = stack();
  if (hooks.pairs.empty()) {
    if (current_policy()->is_oneflow) fail(ErrorKind::any, "no pair of hooks is in force");
    if (has(*current_policy(), traits::one_pair_of_default_hooks)) return;
    require(!has(*current_policy(), traits::asserts_both_hooks),
            "pack_hook != nullptr && unpack_hook != nullptr INTERNAL ASSERT FAILED at "
            "\"../torch/csrc/autograd/python_saved_variable_hooks.cpp\":67, please report a bug to PyTorch. ");
    fail(ErrorKind::runtime,
         "is_initialized && !tls.stack.empty() INTERNAL ASSERT FAILED at \"SavedTensorHooks.cpp\":69, please report a "
         "bug to PyTorch. ");
  }
  const auto popped = std::move(hooks.pairs.back());
  hooks.pairs.pop_back();
}

Ref top_default_hooks(bool ignores_tracing) {
  const HookStack& hooks = stack();
  if (hooks.pairs.empty() || hooks.disabled || (hooks.is_tracing && !ignores_tracing)) return Ref::borrow(Py_None);
  return checked(
      PyTuple_Pack(2, as_python(hooks.pairs.back().first.get()), as_python(hooks.pairs.back().second.get())));
}

void disable_default_hooks(const char* message) {
  HookStack& hooks = stack();
  if (!hooks.pairs.empty()) fail(ErrorKind::runtime, message);
  hooks.disabled = message;
}

bool set_hooks_tracing(bool is_tracing) { return std::exchange(stack().is_tracing, is_tracing); }

void enable_default_hooks() { stack().disabled.reset(); }

Ref disabled_message() {
  const HookStack& hooks = stack();
  return hooks.disabled ? checked(PyUnicode_FromString(hooks.disabled->c_str())) : Ref::borrow(Py_None);
}

std::unique_ptr<SavedHooks> default_hooks_of_thread() {
  const HookStack& hooks = stack();
  if (hooks.pairs.empty() || hooks.is_tracing) return nullptr;
  PyObject* pack = as_python(hooks.pairs.back().first.get());
  return std::make_unique<PySavedHooks>(pack, as_python(hooks.pairs.back().second.get()), true);
}

std::function<void()> copy_default_hooks() {
  const auto copy = std::make_shared<HookStack>();
  for (const auto& [pack, unpack] : stack().pairs)
    copy->pairs.emplace_back(Handle::borrow(pack.get()), Handle::borrow(unpack.get()));
  copy->disabled = stack().disabled;
  copy->is_tracing = stack().is_tracing;
  return [copy] { stack() = std::move(*copy); };
}

}  // namespace gradlife
