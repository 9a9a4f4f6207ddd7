// The extension module gradlife._engine.
#include <cstring>

#include "base/build_info.hpp"
#include "base/pyref.hpp"
#include "engine/graph/hooks.hpp"
#include "engine_py/api/anomaly.hpp"
#include "engine_py/api/api.hpp"
#include "engine_py/api/heap_interface.hpp"
#include "engine_py/call/tables.hpp"
#include "engine_py/call/torch_function.hpp"
#include "engine_py/call/warnings.hpp"
#include "engine_py/functions/function.hpp"
#include "engine_py/hooks/saved_hooks.hpp"
#include "engine_py/interpreter/errors.hpp"
#include "engine_py/interpreter/state.hpp"
#include "engine_py/interpreter/user_code.hpp"
#include "engine_py/types/dtype_type.hpp"
#include "engine_py/types/node_type.hpp"
#include "engine_py/types/oneflow_node.hpp"
#include "engine_py/types/saved_tensor.hpp"
#include "engine_py/types/storage_type.hpp"
#include "engine_py/types/tensor_type.hpp"
#include "engine_py/types/weak_tensor.hpp"
#include "engine_py/wrappers/objects.hpp"

namespace gradlife {
namespace {

ModuleState* current_state = nullptr;

void host_incref(Object* object) { Py_INCREF(static_cast<PyObject*>(object)); }
void host_decref(Object* object) { Py_DECREF(static_cast<PyObject*>(object)); }
bool host_is_alive() { return Py_IsInitialized() != 0; }

// -1: this thread already holds the lock.
int host_lock() { return PyGILState_Check() ? -1 : static_cast<int>(in_user_code(PyGILState_Ensure)); }
void host_unlock(int token) {
  if (token >= 0) PyGILState_Release(static_cast<PyGILState_STATE>(token));
}
void* host_suspend() { return PyEval_SaveThread(); }
void host_resume(void* token) {
  in_user_code([&] { PyEval_RestoreThread(static_cast<PyThreadState*>(token)); });
}

bool host_is_sole_reference(Object* object) { return is_referenced_once(static_cast<PyObject*>(object)); }

void host_empty_wrapper(Object* wrapper) {
  head_of(static_cast<PyObject*>(wrapper))->impl = nullptr;
  head_of(static_cast<PyObject*>(wrapper))->owns_impl = false;
}

void host_drop_hooks(Object* wrapper) { Py_CLEAR(tensor_object(static_cast<PyObject*>(wrapper))->backward_hooks); }

template <class T>
void keep(T*& field, Ref type) {
  field = reinterpret_cast<T*>(type.release());
}

void make_types(ModuleState& state) {
  keep(state.tensor_meta, make_tensor_meta());
  keep(state.tensor_base, make_tensor_base());
  keep(state.storage_base, make_storage_base(make_storage_meta()));
  keep(state.storage_type, make_storage_type(state.storage_base));
  keep(state.function_base, make_function_base());
  keep(state.oneflow_node_type, make_oneflow_node_type());
  make_saved_tensor_types(state.saved_tensor_types);
  keep(state.dtype_type, make_dtype_type());
  for (size_t i = 0; i < dtype_count; ++i) keep(state.dtypes[i], make_dtype(static_cast<DType>(i)));
  keep(state.input_metadata_type, make_input_metadata_type());
  keep(state.node_types, checked(PyDict_New()));
}

void add_types(PyObject* module, ModuleState& state) {
  const std::pair<const char*, PyTypeObject*> types[] = {{"TensorBase", state.tensor_base},
                                                         {"_TensorMeta", state.tensor_meta},
                                                         {"UntypedStorage", state.storage_type},
                                                         {"StorageBase", state.storage_base},
                                                         {"_FunctionBase", state.function_base},
                                                         {"SavedTensor", state.saved_tensor_types[2]},
                                                         {"dtype", state.dtype_type}};
  for (const auto& [name, type] : types)
    checked_status(PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(type)));
  const char* names[] = {"float32", "float64", "int64", "bool", "int32", "complex64", "complex128"};
  for (size_t i = 0; i < dtype_count; ++i) checked_status(PyModule_AddObjectRef(module, names[i], state.dtypes[i]));
  checked_status(PyModule_AddObjectRef(module, "_node_types", state.node_types));
  checked_status(PyModule_AddObjectRef(module, "_heap_interface", make_heap_interface().get()));
  checked_status(
      PyModule_AddObjectRef(module, "_StorageMeta", reinterpret_cast<PyObject*>(Py_TYPE(state.storage_base))));
  checked_status(PyModule_AddObjectRef(module, "_WeakTensorRef", make_weak_tensor_type().get()));
}

// _register(name, object): gives the module an object written in Python.
PyObject* register_function(PyObject*, PyObject* arguments) {
  const char* name;
  PyObject* object;
  if (!PyArg_ParseTuple(arguments, "sO", &name, &object)) return nullptr;
  ModuleState& own = state();
  const std::pair<const char*, PyObject**> fields[] = {{"tensor_class", &own.tensor_class},
                                                       {"hooks_helper", &own.hooks_helper},
                                                       {"cpu_device", &own.cpu_device},
                                                       {"strided_layout", &own.strided_layout},
                                                       {"warn", &own.warn},
                                                       {"torch_function", &own.torch_function},
                                                       {"disabled_torch_function", &own.disabled_torch_function},
                                                       {"torch_dispatch", &own.torch_dispatch},
                                                       {"named_result", &own.named_result},
                                                       {"size_type", reinterpret_cast<PyObject**>(&own.size_type)}};
  for (const auto& [known, field] : fields) {
    if (std::strcmp(known, name) != 0) continue;
    Py_XSETREF(*field, Py_NewRef(object));
    return Py_NewRef(Py_None);
  }
  PyErr_Format(PyExc_ValueError, "nothing to register under '%s'", name);
  return nullptr;
}

PyMethodDef module_functions[] = {{"_register", register_function, METH_VARARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};

// The module has a pointer to its state and never frees it: tensors may outlive the module as the interpreter exits.
ModuleState*& state_of(PyObject* module) { return *static_cast<ModuleState**>(PyModule_GetState(module)); }

int fill_module(PyObject* module) {
  return guarded(-1, [&] {
    current_state = state_of(module) = new ModuleState();
    current_state->torch_function_name = checked(PyUnicode_InternFromString("__torch_function__")).release();
    install_host({host_incref, host_decref, host_is_alive, host_lock, host_unlock, host_suspend, host_resume,
                  host_is_sole_reference, host_empty_wrapper, host_drop_hooks});
    install_default_hooks(default_hooks_of_thread, copy_default_hooks);
    checked_status(add_build_info(module));
    install_anomaly_reporter();
    make_types(*current_state);
    add_types(module, *current_state);
    for (PyMethodDef* table : {module_functions, autograd_functions, graph_task_functions, anomaly_functions,
                               mode_functions, policy_functions, observe_functions, random_functions, warning_functions,
                               overriding_functions, watching_functions, op_functions()})
      checked_status(PyModule_AddFunctions(module, table));
    return 0;
  });
}

int module_exec(PyObject* module) {
  if (current_state != nullptr || PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError,
                    "gradlife._engine supports one interpreter a process, the main one, and one import");
    return -1;
  }
  const int status = fill_module(module);
  if (status != 0) delete std::exchange(current_state, state_of(module) = nullptr);
  return status;
}

// Types and helpers are visited but never cleared: wrappers that outlive the module's dict still need them.
int module_traverse(PyObject* module, visitproc visit, void* arg) {
  if (PyModule_GetState(module) == nullptr || state_of(module) == nullptr) return 0;
  const ModuleState* own = state_of(module);
  for (PyTypeObject* type :
       {own->tensor_base, own->tensor_meta, own->storage_type, own->storage_base, own->function_base,
        own->oneflow_node_type, own->dtype_type, own->size_type, own->input_metadata_type})
    Py_VISIT(reinterpret_cast<PyObject*>(type));
  for (PyTypeObject* type : own->saved_tensor_types) Py_VISIT(reinterpret_cast<PyObject*>(type));
  for (PyObject* dtype : own->dtypes) Py_VISIT(dtype);
  for (PyObject* object : {own->tensor_class, own->hooks_helper, own->node_types, own->cpu_device, own->strided_layout,
                           own->warn, own->torch_function, own->disabled_torch_function, own->torch_dispatch,
                           own->named_result, own->torch_function_name})
    Py_VISIT(object);
  return 0;
}

PyModuleDef_Slot module_slots[] = {{Py_mod_exec, reinterpret_cast<void*>(module_exec)},
#if PY_VERSION_HEX >= 0x030C0000
                                   {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
                                   {Py_mod_gil, Py_MOD_GIL_USED},
#endif
                                   {0, nullptr}};

PyModuleDef module_definition = {PyModuleDef_HEAD_INIT,
                                 "gradlife._engine",
                                 "The core of gradlife's mini autograd engine.",
                                 sizeof(ModuleState*),
                                 nullptr,
                                 module_slots,
                                 module_traverse,
                                 nullptr,
                                 nullptr};

}  // namespace

ModuleState& state() { return *current_state; }

}  // namespace gradlife

PyMODINIT_FUNC PyInit__engine() { return PyModuleDef_Init(&gradlife::module_definition); }
