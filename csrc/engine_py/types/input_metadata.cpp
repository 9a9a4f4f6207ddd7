// torch._C._autograd._InputMetadata: the gradients that a node expects.
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"
#include "engine_py/types/node_type.hpp"
#include "engine_py/wrappers/wrapper.hpp"

namespace gradlife {
namespace {

struct InputMetadataObject {
  PyObject_HEAD PyObject* shape;
  PyObject* dtype;
};

InputMetadataObject* object_of(PyObject* self) { return reinterpret_cast<InputMetadataObject*>(self); }

PyObject* get_device(PyObject*, void*) { return Py_NewRef(state().cpu_device); }
PyObject* get_false(PyObject*, void*) { return Py_NewRef(Py_False); }

void input_metadata_dealloc(PyObject* self) {
  Py_CLEAR(object_of(self)->shape);
  Py_CLEAR(object_of(self)->dtype);
  free_object(self);
}

Ref wrap_input_metadata(const InputMetadata& metadata) {
  PyTypeObject* type = state().input_metadata_type;
  Ref self = checked(type->tp_alloc(type, 0));
  object_of(self.get())->shape = checked(PySequence_List(wrap_dims(metadata.sizes).get())).release();
  object_of(self.get())->dtype = wrap_dtype(metadata.dtype).release();
  return self;
}

}  // namespace

Ref make_input_metadata_type() {
  static PyMemberDef members[] = {{"shape", T_OBJECT, offsetof(InputMetadataObject, shape), READONLY, nullptr},
                                  {"dtype", T_OBJECT, offsetof(InputMetadataObject, dtype), READONLY, nullptr},
                                  {nullptr, 0, 0, 0, nullptr}};
  static PyGetSetDef attributes[] = {{"device", get_device, nullptr, nullptr, nullptr},
                                     {"is_nested_tensor", get_false, nullptr, nullptr, nullptr},
                                     {"is_cpp_nested_tensor", get_false, nullptr, nullptr, nullptr},
                                     {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(input_metadata_dealloc)},
                                {Py_tp_members, members},
                                {Py_tp_getset, attributes},
                                {0, nullptr}};
  static PyType_Spec spec = {"torch._C._autograd._InputMetadata", sizeof(InputMetadataObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  return checked(PyType_FromSpec(&spec));
}

Ref node_input_metadata(const Node& node) {
  const std::vector<InputMetadata>& all = node.input_metadata();
  return make_tuple(all.size(), [&](size_t i) { return wrap_input_metadata(all[i]); });
}

}  // namespace gradlife
