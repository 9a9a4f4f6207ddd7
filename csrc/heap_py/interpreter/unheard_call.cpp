#include "heap_py/interpreter/unheard_call.hpp"

#include "heap_py/interpreter/exception_border.hpp"

namespace gradlife::heap {
namespace {

PyObject* call_unheard(PyObject* self, PyObject* arguments, PyObject* names) {
  PyThreadState* thread = PyThreadState_Get();
  PyThreadState_EnterTracing(thread);
  PyObject* method = PyObject_GetAttrString(self, "called");
  PyObject* result = method != nullptr ? PyObject_Call(method, arguments, names) : nullptr;
  Py_XDECREF(method);
  PyThreadState_LeaveTracing(thread);
  return result;
}

PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(call_unheard)}, {0, nullptr}};
PyType_Spec spec = {"gradlife._heap.UnheardCall", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

Ref make_unheard_call_type(PyObject* module) { return checked(PyType_FromModuleAndSpec(module, &spec, nullptr)); }

}  // namespace gradlife::heap
