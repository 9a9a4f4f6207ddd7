#include "heap_py/providers/torch/layout.hpp"

#include <memory>

#include "heap_py/interpreter/exception_border.hpp"
#include "heap_py/memory/class_families.hpp"

namespace gradlife::heap {
namespace {

std::shared_ptr<const TorchLayout>& current() {
  static auto* layout =
      new std::shared_ptr<const TorchLayout>;  // never destroyed: a walk may run while the process ends
  return *layout;
}

// The layout that this thread verifies; other threads, and recorders, go on with the current one.
thread_local std::unique_ptr<TorchLayout> tried;

constexpr unsigned long largest_offset = 1 << 16;

struct OffsetField {
  const char* name;
  uint32_t TorchLayout::* offset;
};
constexpr OffsetField offset_fields[] = {
    {"impl_in_wrapper", &TorchLayout::impl_in_wrapper},
    {"impl_in_storage_wrapper", &TorchLayout::impl_in_storage_wrapper},
    {"tensor_hooks_in_wrapper", &TorchLayout::tensor_hooks_in_wrapper},
    {"post_accumulate_hooks_in_wrapper", &TorchLayout::post_accumulate_hooks_in_wrapper},
    {"node_in_wrapper", &TorchLayout::node_in_wrapper},
    {"node_in_context", &TorchLayout::node_in_context},
    {"to_save_in_context", &TorchLayout::to_save_in_context},
    {"saved_for_forward_in_context", &TorchLayout::saved_for_forward_in_context},
    {"non_differentiable_in_context", &TorchLayout::non_differentiable_in_context},
    {"dirty_in_context", &TorchLayout::dirty_in_context},
    {"slot_in_saved_tensor", &TorchLayout::slot_in_saved_tensor},
    {"ownership_of_saved_tensor", &TorchLayout::ownership_of_saved_tensor},
    {"count_in_target", &TorchLayout::count_in_target},
    {"storage_in_impl", &TorchLayout::storage_in_impl},
    {"meta_in_impl", &TorchLayout::meta_in_impl},
    {"wrapper_in_impl", &TorchLayout::wrapper_in_impl},
    {"wrapper_in_storage", &TorchLayout::wrapper_in_storage},
    {"data_in_storage", &TorchLayout::data_in_storage},
    {"storage_block", &TorchLayout::storage_block},
    {"context_in_storage", &TorchLayout::context_in_storage},
    {"deleter_in_storage", &TorchLayout::deleter_in_storage},
    {"owner_in_function", &TorchLayout::owner_in_function},
    {"code_in_function", &TorchLayout::code_in_function},
    {"bytes_in_storage", &TorchLayout::bytes_in_storage},
    {"device_in_storage", &TorchLayout::device_in_storage},
    {"dimensions_in_impl", &TorchLayout::dimensions_in_impl},
    {"sizes_in_impl", &TorchLayout::sizes_in_impl},
    {"dtype_in_impl", &TorchLayout::dtype_in_impl},
    {"grad_in_meta", &TorchLayout::grad_in_meta},
    {"node_in_meta", &TorchLayout::node_in_meta},
    {"tangents_in_meta", &TorchLayout::tangents_in_meta},
    {"list_in_tangents", &TorchLayout::list_in_tangents},
    {"edges_in_node", &TorchLayout::edges_in_node},
    {"edge_bytes", &TorchLayout::edge_bytes},
    {"wrapper_in_node", &TorchLayout::wrapper_in_node},
    {"sequence_number_in_node", &TorchLayout::sequence_number_in_node},
    {"context_in_node", &TorchLayout::context_in_node},
    {"variable_in_accumulator", &TorchLayout::variable_in_accumulator},
    {"dict_in_hook", &TorchLayout::dict_in_hook},
    {"dict_in_metadata", &TorchLayout::dict_in_metadata},
    {"pack_in_hooks", &TorchLayout::pack_in_hooks},
    {"unpack_in_hooks", &TorchLayout::unpack_in_hooks},
    {"packed_in_hooks", &TorchLayout::packed_in_hooks},
    {"slots_in_node", &TorchLayout::slots_in_node},
    {"hooks_in_meta", &TorchLayout::hooks_in_meta},
    {"post_accumulate_hook_in_meta", &TorchLayout::post_accumulate_hook_in_meta},
    {"base_in_meta", &TorchLayout::base_in_meta},
    {"has_base_in_meta", &TorchLayout::has_base_in_meta},
    {"impl_bytes", &TorchLayout::impl_bytes},
    {"saved_in_context", &TorchLayout::saved_in_context},
    {"metadata_in_node", &TorchLayout::metadata_in_node},
    {"tensor_hooks_in_node", &TorchLayout::tensor_hooks_in_node},
    {"prehooks_in_node", &TorchLayout::prehooks_in_node},
    {"hooks_in_node", &TorchLayout::hooks_in_node},
    {"shapes_in_node", &TorchLayout::shapes_in_node},
    {"shape_bytes", &TorchLayout::shape_bytes},
    {"sizes_in_shape", &TorchLayout::sizes_in_shape},
    {"sort_in_shape", &TorchLayout::sort_in_shape},
    {"slot_bytes", &TorchLayout::slot_bytes},
    {"hooks_in_slot", &TorchLayout::hooks_in_slot},
    {"flags_in_slot", &TorchLayout::flags_in_slot},
    {"grad_fn_in_slot", &TorchLayout::grad_fn_in_slot},
    {"accumulator_in_slot", &TorchLayout::accumulator_in_slot},
    {"tangents_in_slot", &TorchLayout::tangents_in_slot}};

struct FlagField {
  const char* name;
  bool TorchLayout::* flag;
};
constexpr FlagField flag_fields[] = {{"are_counts_coupled", &TorchLayout::are_counts_coupled},
                                     {"are_nodes_coupled", &TorchLayout::are_nodes_coupled},
                                     {"context_owns_node", &TorchLayout::context_owns_node}};

struct TypeField {
  const char* name;
  const PyTypeObject* TorchLayout::* type;
};
constexpr TypeField type_fields[] = {{"tensor_type", &TorchLayout::tensor_type},
                                     {"storage_type", &TorchLayout::storage_type},
                                     {"context_type", &TorchLayout::context_type},
                                     {"saved_tensor_type", &TorchLayout::saved_tensor_type}};

std::string utf8(PyObject* text) {
  const char* bytes = PyUnicode_AsUTF8(text);
  if (bytes == nullptr) throw PythonErrorSet();
  return bytes;
}

PyTypeObject* as_type(PyObject* value, const std::string& name) {
  if (PyType_Check(value)) return reinterpret_cast<PyTypeObject*>(value);
  PyErr_Format(PyExc_TypeError, "%s is to be a type", name.c_str());
  throw PythonErrorSet();
}

void read_names(TorchLayout& layout, PyObject* classes) {
  PyObject *key, *names;
  for (Py_ssize_t position = 0; PyDict_Next(classes, &position, &key, &names) != 0;) {
    std::vector<std::string>& list = layout.saved_names[utf8(key)];
    const Ref items = checked(PySequence_Tuple(names));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
      list.push_back(utf8(PyTuple_GET_ITEM(items.get(), i)));
  }
}

void read_numbered(std::unordered_map<int64_t, std::string>& into, PyObject* names) {
  PyObject *number, *name;
  for (Py_ssize_t position = 0; PyDict_Next(names, &position, &number, &name) != 0;) {
    const long long key = PyLong_AsLongLong(number);
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    into[key] = utf8(name);
  }
}

void read_closures(TorchLayout& layout, PyObject* sorts) {
  PyObject *code, *sort;
  for (Py_ssize_t position = 0; PyDict_Next(sorts, &position, &code, &sort) != 0;) {
    const Address address = PyLong_AsUnsignedLongLong(code);
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    const std::string name = utf8(sort);
    layout.closures[address] = name == "plain" ? DLPack::plain : name == "versioned" ? DLPack::versioned : DLPack::none;
  }
}

bool set_class(TorchLayout& layout, const std::string& name, PyObject* value) {
  for (size_t what = 1; what < torch_class_count; ++what) {
    if (name != torch_class_names[what]) continue;
    layout.classes[what] = utf8(value);
    return true;
  }
  return false;
}

void set_field(TorchLayout& layout, const std::string& name, PyObject* value) {
  for (const OffsetField& field : offset_fields) {
    if (name != field.name) continue;
    const unsigned long offset = PyLong_AsUnsignedLong(value);
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    if (offset < largest_offset) layout.*field.offset = static_cast<uint32_t>(offset);  // otherwise it stays absent
    return;
  }
  for (const TypeField& field : type_fields) {
    if (name != field.name) continue;
    layout.*field.type = as_type(Py_NewRef(value), name);  // kept forever: torch is not unloaded either
    return;
  }
  for (const FlagField& field : flag_fields) {
    if (name != field.name) continue;
    layout.*field.flag = value == Py_True;
    return;
  }
  if (set_class(layout, name, value)) return;
  if (name == "node_wrapper_type") {
    layout.node_traverse = as_type(value, name)->tp_traverse;
  } else if (name == "function_deleter") {
    layout.function_deleter = PyLong_AsUnsignedLongLong(value);
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
  } else if (name == "closures" && PyDict_Check(value)) {
    read_closures(layout, value);
  } else if (name == "saved_names" && PyDict_Check(value)) {
    read_names(layout, value);
  } else if (name == "device_names" && PyDict_Check(value)) {
    read_numbered(layout.device_names, value);
  } else if (name == "dtype_names" && PyDict_Check(value)) {
    read_numbered(layout.dtype_names, value);
  } else {
    PyErr_Format(PyExc_ValueError, "torch's layout has no '%s'", name.c_str());
    throw PythonErrorSet();
  }
}

std::unique_ptr<TorchLayout> read_layout(PyObject* values) {
  if (values == Py_None) return nullptr;
  if (!PyDict_Check(values)) {
    PyErr_SetString(PyExc_TypeError, "torch's layout is to be a dict");
    throw PythonErrorSet();
  }
  auto layout = std::make_unique<TorchLayout>();
  PyObject *key, *value;
  for (Py_ssize_t position = 0; PyDict_Next(values, &position, &key, &value) != 0;)
    set_field(*layout, utf8(key), value);
  return layout;
}

}  // namespace

const TorchLayout* torch_layout() { return current().get(); }

std::shared_ptr<const TorchLayout> shared_torch_layout() { return current(); }

const TorchLayout* tried_torch_layout() { return tried != nullptr ? tried.get() : torch_layout(); }

PyObject* set_torch_layout(PyObject*, PyObject* values) {
  return guarded([&] {
    current() = read_layout(values);
    tried = nullptr;
    return Py_NewRef(Py_None);
  });
}

PyObject* try_torch_layout(PyObject*, PyObject* values) {
  return guarded([&] {
    tried = read_layout(values);
    return Py_NewRef(Py_None);
  });
}

PyObject* find_word(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    unsigned long long address, value;
    Py_ssize_t bytes;
    if (PyArg_ParseTuple(arguments, "KnK", &address, &bytes, &value) == 0) throw PythonErrorSet();
    const MemoryReader reader;
    for (Py_ssize_t offset = 0; offset + 8 <= bytes; offset += 8) {
      uint64_t word;
      if (!reader.read_word(address + static_cast<Address>(offset), &word)) break;
      if (word == value) return PyLong_FromSsize_t(offset);
    }
    return Py_NewRef(Py_None);
  });
}

PyObject* read_word(PyObject*, PyObject* number) {
  return guarded([&]() -> PyObject* {
    const unsigned long long address = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    uint64_t word;
    return MemoryReader().read_word(address, &word) ? PyLong_FromUnsignedLongLong(word) : Py_NewRef(Py_None);
  });
}

PyObject* class_at(PyObject*, PyObject* number) {
  return guarded([&]() -> PyObject* {
    const unsigned long long address = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
    const std::string* name = ClassTable::current().names().of_object(address);
    return name != nullptr ? PyUnicode_FromString(ClassNames::readable(*name).c_str()) : Py_NewRef(Py_None);
  });
}

}  // namespace gradlife::heap
