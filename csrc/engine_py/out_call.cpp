// A call with `out=`: without it first, then its result is written there.
#include <vector>

#include "engine/kernels.hpp"
#include "engine/ops.hpp"
#include "engine/overlap.hpp"
#include "engine/resizing.hpp"
#include "engine_py/errors.hpp"
#include "engine_py/out_forms.hpp"
#include "engine_py/state.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {
namespace {

bool is_out(PyObject* name) { return PyUnicode_CompareWithASCIIString(name, "out") == 0; }

// The arguments of a call, as values and the names of the last of them; `out` apart.
struct OutCall {
  std::vector<PyObject*> values;  // borrowed from the caller
  Ref names;
  PyObject* out = nullptr;

  OutCall(PyObject* const* arguments, Py_ssize_t count, PyObject* given) : values(arguments, arguments + count) {
    const Ref rest = checked(PyList_New(0));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given); ++i) {
      PyObject* name = PyTuple_GET_ITEM(given, i);
      if (is_out(name)) {
        out = arguments[count + i];
        continue;
      }
      values.push_back(arguments[count + i]);
      checked_status(PyList_Append(rest.get(), name));
    }
    names = checked(PyList_AsTuple(rest.get()));
  }
  void add(const char* name, PyObject* value) {
    const Ref added = checked(Py_BuildValue("(s)", name));
    names = checked(PySequence_Concat(names.get(), added.get()));
    values.push_back(value);
  }
  bool names_one(const char* name) const {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.get()); ++i)
      if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names.get(), i), name) == 0) return true;
    return false;
  }
  Ref call(FastMethod function, Py_ssize_t count) const {
    return checked(function(nullptr, values.data(), count, PyTuple_GET_SIZE(names.get()) > 0 ? names.get() : nullptr));
  }
};

TensorList tensors_among(const std::vector<PyObject*>& values) {
  TensorList tensors;
  for (PyObject* value : values) {
    if (is_tensor(value)) tensors.push_back(unwrap(value));
    if (!is_sequence(value)) continue;
    const Ref items = checked(PySequence_Fast(value, ""));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
      if (is_tensor(PySequence_Fast_GET_ITEM(items.get(), i)))
        tensors.push_back(unwrap(PySequence_Fast_GET_ITEM(items.get(), i)));
  }
  return tensors;
}

void refuse_recording(const OutForm& form, TensorList tensors, const Tensor& out) {
  if (form.refused_as == nullptr) return;
  tensors.push_back(out);
  require(!needs_graph(tensors), form.refused_as,
          "(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
          "requires grad.");
}

std::string misfit_text(const char* words, DType result, DType out) {
  std::string text;
  for (; *words != '\0'; ++words) {
    if (*words != '%') {
      text += *words;
      continue;
    }
    const DType dtype = *++words == 'r' || *words == 'R' ? result : out;
    text += *words == 'r' || *words == 'o' ? kernels::scalar_type_name(dtype) : ops::ctype_name(dtype);
  }
  return text;
}

void refuse_misfit(const OutForm& form, DType result, DType out) {
  const bool fits = form.fit == Fit::cast ? ops::can_cast(result, out) : form.fit == Fit::any || result == out;
  if (!fits) fail(form.error, misfit_text(form.words, result, out));
}

void warn_of_resize(const Dims& from, const Dims& to) {
  if (state().warn == nullptr) return;
  const std::string text = concat(
      "An output with one or more elements was resized since it had shape ", from,
      ", which does not match the required output shape ", to,
      ". This behavior is deprecated, and in a future PyTorch release outputs will not be resized unless they have "
      "zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements with "
      "t.resize_(0).");
  checked(PyObject_CallFunction(state().warn, "Os", PyExc_UserWarning, text.c_str()));
}

void make_fit(const Tensor& out, const TensorImpl& result) {
  if (out->sizes() == result.sizes()) return;
  if (out->numel() != 0) warn_of_resize(out->sizes(), result.sizes());
  ops::resize_raw(out, result.sizes(), result.strides());
}

void write(const OutForm& form, const Tensor& out, const TensorImpl& result, const TensorList& inputs) {
  refuse_misfit(form, result.dtype(), out->dtype());
  check_inplace(out, false);
  make_fit(out, result);
  if (form.fit != Fit::reducing) {
    ops::refuse_overlap(*out);
    for (const Tensor& input : inputs) ops::refuse_partial_overlap(*out, *input);
  }
  kernels::copy(*out, result);
  out->bump_version();
}

}  // namespace

bool has_out(PyObject* names) {
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i)
    if (is_out(PyTuple_GET_ITEM(names, i))) return true;
  return false;
}

PyObject* call_with_out(const char* name, FastMethod function, PyObject* const* arguments, Py_ssize_t count,
                        PyObject* names) {
  OutCall call(arguments, count, names);
  if (call.out == Py_None) return call.call(function, count).release();
  const OutForm* form = out_form(name);
  if (form == nullptr) refuse_out(name);
  if (!is_tensor(call.out))
    raise_python(PyExc_TypeError, "%s(): argument 'out' must be Tensor, not %.200s", name, Py_TYPE(call.out)->tp_name);
  const Tensor out = unwrap(call.out);
  const TensorList inputs = tensors_among(call.values);
  refuse_recording(*form, inputs, out);
  const Ref dtype = wrap_dtype(out->dtype());
  if ((form->fit == Fit::leading || form->fit == Fit::reducing) && !call.names_one("dtype"))
    call.add("dtype", dtype.get());
  const GradMode no_grad(false);
  const Ref result = call.call(function, count);
  if (!is_tensor(result.get())) refuse_out(name);
  write(*form, out, *unwrap(result.get()), inputs);
  return Py_NewRef(call.out);
}

}  // namespace gradlife
