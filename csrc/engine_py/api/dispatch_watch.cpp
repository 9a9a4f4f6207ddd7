// Watching operations below autograd from Python: the base of dispatch modes.
#include <utility>

#include "engine/ops/ops.hpp"
#include "engine/tensor/dispatch_watch.hpp"
#include "engine_py/api/api.hpp"
#include "engine_py/call/args.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"
#include "engine_py/interpreter/user_code.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

struct AsPython {
  Ref operator()(std::monostate) const { return Ref::borrow(Py_None); }
  // A number that was wrapped as a tensor becomes a number again.
  Ref operator()(const Tensor& tensor) const {
    return tensor && tensor->is_wrapped_number() ? wrap_scalar(ops::item(tensor)) : wrap(tensor);
  }
  Ref operator()(const Scalar& number) const { return wrap_scalar(number); }
  Ref operator()(DType dtype) const { return wrap_dtype(dtype); }
  Ref operator()(const TensorList& tensors) const { return wrap_list(tensors); }
  Ref operator()(const Dims& dims) const {
    const Ref size = wrap_dims(dims);
    return checked(PySequence_List(size.get()));
  }
};

Ref wrap_arguments(const std::vector<Argument>& arguments) {
  return make_tuple(arguments.size(), [&](size_t i) { return std::visit(AsPython(), arguments[i]); });
}

TensorList tensors_of(Borrowed answer) {
  if (is_tensor(answer.get())) return {unwrap(answer.get())};
  if (PyTuple_Check(answer.get()) || PyList_Check(answer.get())) return unwrap_list(answer.get());
  raise_python(PyExc_TypeError, "Unable to cast %R to Tensor", answer.get());
}

// Asks Python: (name, arguments) -> a tensor, or several.
class PyWatcher final : public OperationWatcher {
 public:
  TensorList answer(const char* name, std::vector<Argument>&& given) override {
    const Ref text = checked(PyUnicode_FromString(name));
    const Ref arguments = wrap_arguments(given);
    given.clear();  // the watcher sees which other owners the arguments have
    PyObject* both[] = {text.get(), arguments.get()};
    const Ref answer = checked(call_user_code(state().torch_dispatch, both, 2));
    return tensors_of(answer.get());
  }
};

PyWatcher py_watcher;

// The first sets or removes the watcher of the thread's operations; the second says that what runs from now on is below
// autograd. Both return the previous value.
PyObject* watch_operations(PyObject*, PyObject* wanted) {
  return guarded(
      [&] { return PyBool_FromLong(set_operation_watcher(is_true(wanted) ? &py_watcher : nullptr) != nullptr); });
}

PyObject* go_beneath(PyObject*, PyObject* wanted) {
  return guarded([&] { return PyBool_FromLong(set_in_watcher(is_true(wanted))); });
}

}  // namespace

PyMethodDef watching_functions[] = {{"_watch_operations", watch_operations, METH_O, nullptr},
                                    {"_go_beneath", go_beneath, METH_O, nullptr},
                                    {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
