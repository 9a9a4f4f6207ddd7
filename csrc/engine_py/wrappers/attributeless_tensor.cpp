#include "engine_py/wrappers/attributeless_tensor.hpp"

#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"

namespace gradlife {
namespace {

constexpr const char* counterpart = "_bare";

}  // namespace

// Python cannot remove attributes in a subclass: the class is created first and stripped afterwards.
Ref make_bare_class(PyTypeObject* type) {
  PyObject* cls = reinterpret_cast<PyObject*>(type);
  const Ref module = checked(PyObject_GetAttrString(cls, "__module__"));
  const Ref name = checked(PyObject_GetAttrString(cls, "__name__"));
  const Ref body = checked(Py_BuildValue("{s:(),s:O}", "__slots__", "__module__", module.get()));
  PyObject* metaclass = reinterpret_cast<PyObject*>(Py_TYPE(cls));
  const bool has_overriding_types = state().has_overriding_types;
  Ref made = checked(PyObject_CallFunction(metaclass, "O(O)O", name.get(), cls, body.get()));
  state().has_overriding_types = has_overriding_types;  // OneFlow asks no class
  PyTypeObject* bare = reinterpret_cast<PyTypeObject*>(made.get());
  bare->tp_dictoffset = 0;
  bare->tp_weaklistoffset = 0;
  bare->tp_flags &= ~Py_TPFLAGS_BASETYPE;
  PyType_Modified(bare);
  checked_status(PyObject_SetAttrString(cls, counterpart, made.get()));
  return made;
}

PyTypeObject* bare_class_of(PyTypeObject* type) {
  const Ref bare = dict_item(type->tp_dict, counterpart);  // the class keeps it alive
  return bare ? reinterpret_cast<PyTypeObject*>(bare.get()) : type;
}

}  // namespace gradlife
