#include "engine_py/drawing.hpp"

#include "engine_py/errors.hpp"

namespace gradlife {

DrawingFrom::DrawingFrom(PyObject* generator) {
  if (generator == nullptr) return;
  const Ref drawing = Ref::steal(PyObject_GetAttrString(generator, "drawing"));
  if (!drawing) {
    drop_error();
    raise_python(PyExc_TypeError, "argument 'generator' must be torch.Generator, not %.200s",
                 Py_TYPE(generator)->tp_name);
  }
  Ref manager = checked(PyObject_CallNoArgs(drawing.get()));
  checked(PyObject_CallMethod(manager.get(), "__enter__", nullptr));
  manager_ = std::move(manager);
}

// A draw that failed is on its way as a C++ exception, which holds Python's: none is pending here.
DrawingFrom::~DrawingFrom() {
  if (!manager_) return;
  const Ref left = Ref::steal(PyObject_CallMethod(manager_.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
  if (!left) PyErr_WriteUnraisable(manager_.get());
}

}  // namespace gradlife
