#include "heap_py/interpreter/type_table.hpp"

#include <structmember.h>

#include "base/visible_text.hpp"
#include "heap_py/interpreter/dict_types.hpp"
#include "heap_py/interpreter/greenlets.hpp"
#include "heap_py/interpreter/library_layouts.hpp"
#include "heap_py/interpreter/module_names.hpp"

namespace gradlife::heap {
namespace {

constexpr unsigned first_bits = 14;

// The cost of a step of a path onto an object of this type. Everything is reachable through classes and modules, and
// such paths explain nothing.
uint8_t cost_of(PyTypeObject* type) {
  if (PyType_IsSubtype(type, &PyType_Type)) return 6;
  if (type == &PyModule_Type) return 1;
  if (type == &PyFrame_Type || type == &PyTraceBack_Type) return 3;
  if (type == &_PyWeakref_RefType) return 8;
  return 2;
}

// Offsets of the references of code objects, above all constants. The collector does not track code. Declared fields of
// other types are not followed, because they need not hold what they show.
std::vector<Py_ssize_t> fields_of_code() {
  std::vector<Py_ssize_t> offsets;
  for (const PyMemberDef* member = PyCode_Type.tp_members; member->name != nullptr; ++member)
    if (member->type == T_OBJECT) offsets.push_back(member->offset);
  return offsets;
}

// Offsets of the references that the collector does not see.
std::vector<Py_ssize_t> fields_of(const PyTypeObject* type) {
  if (type == &PyCode_Type) return fields_of_code();
#if PY_VERSION_HEX < 0x030c0000
  if (is_text_file(type)) return {offsetof(TextFile, large), offsetof(TextFile, small)};
#endif
  return {};
}

// The type of the standard library is found by its name: it has no public address.
bool is_deque(PyTypeObject* type) {
  PyObject* order = type->tp_mro;
  for (Py_ssize_t i = 0; order != nullptr && i < PyTuple_GET_SIZE(order); ++i) {
    const auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(order, i));
    if (base->tp_name == std::string_view("collections.deque") && base->tp_traverse != nullptr &&
        (base->tp_flags & Py_TPFLAGS_BASETYPE) != 0)
      return true;
  }
  return false;
}

}  // namespace

std::string type_name(PyTypeObject* type) {
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 || type->tp_dict == nullptr) return type->tp_name;
  const std::string_view qualified = plain_text(reinterpret_cast<PyHeapTypeObject*>(type)->ht_qualname);
  const std::string name(qualified.empty() ? std::string_view(type->tp_name) : qualified);
  const std::string module(plain_text(value_named(type->tp_dict, "__module__")));
  return visible(module.empty() || module == "builtins" ? name : module + "." + name);
}

TypeTable::TypeTable(Builder& builder, const std::vector<Provider*>& providers)
    : builder_(builder), providers_(providers) {
  slots_.assign_zero(size_t{1} << first_bits);
  shift_ = 64 - first_bits;
  add_native_rows();
}

void TypeTable::add_native_rows() { entries_.resize(builder_.graph().type_rows.size()); }

uint32_t TypeTable::add(PyTypeObject* type) {
  if (2 * (used_ + 1) > slots_.size()) grow();
  const uint32_t row = builder_.add_type(
      {type_name(type), NodeKind::python, reinterpret_cast<Address>(type), cost_of(type), bases_of(type)});
  add_native_rows();
  Entry& entry = entries_[row];
  if ((type->tp_flags & Py_TPFLAGS_HAVE_GC) != 0) entry.traverse = type->tp_traverse;
  entry.fields = fields_of(type);
  entry.asks_is_gc = type->tp_is_gc != nullptr;
  entry.is_generator = type == &PyGen_Type || type == &PyCoro_Type || type == &PyAsyncGen_Type;
  entry.is_greenlet = is_greenlet(type);
  entry.is_dict = is_dict_type(type);
  entry.is_set = PyType_IsSubtype(type, &PySet_Type) || PyType_IsSubtype(type, &PyFrozenSet_Type);
  entry.is_deque = is_deque(type);
  for (Provider* provider : providers_)
    if (entry.provider == nullptr && provider->knows(type)) entry.provider = provider;
  slots_[place_of(type)] = {type, row};
  ++used_;
  return row;
}

std::string TypeTable::bases_of(PyTypeObject* type) {
  std::string bases;
  PyObject* order = type->tp_mro;
  for (Py_ssize_t i = 1; order != nullptr && i < PyTuple_GET_SIZE(order); ++i) {
    PyObject* base = PyTuple_GET_ITEM(order, i);
    if (base == reinterpret_cast<PyObject*>(&PyBaseObject_Type) || !PyType_Check(base)) continue;
    std::string& name = names_[reinterpret_cast<PyTypeObject*>(base)];
    if (name.empty()) name = type_name(reinterpret_cast<PyTypeObject*>(base));
    bases += (bases.empty() ? "" : "\n") + name;
  }
  return bases;
}

void TypeTable::grow() {
  Buffer<Slot> old = std::move(slots_);
  slots_ = Buffer<Slot>();
  slots_.assign_zero(old.size() * 2);
  --shift_;
  for (const Slot& slot : old)
    if (slot.type != nullptr) slots_[place_of(slot.type)] = slot;
}

}  // namespace gradlife::heap
