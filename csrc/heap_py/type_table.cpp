#include "heap_py/type_table.hpp"

#include <cstring>

namespace gradlife::heap {
namespace {

constexpr unsigned first_bits = 14;

// How dear a path's step onto an object of this type is: everything leads through classes and modules, and nobody wants
// to read that.
uint8_t cost_of(PyTypeObject* type) {
  if (PyType_IsSubtype(type, &PyType_Type)) return 6;
  if (type == &PyModule_Type) return 1;
  if (type == &PyFrame_Type || type == &PyTraceBack_Type) return 3;
  if (type == &_PyWeakref_RefType) return 8;
  return 2;
}

// A str's UTF-8 where it is there already or plain ASCII; nothing is computed.
const char* plain_text(PyObject* text) {
  if (text == nullptr || !PyUnicode_CheckExact(text) || !PyUnicode_IS_COMPACT_ASCII(text)) return nullptr;
  return reinterpret_cast<const char*>(PyUnicode_DATA(text));
}

}  // namespace

std::string type_name(PyTypeObject* type) {
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 || type->tp_dict == nullptr) return type->tp_name;
  const char* qualified = plain_text(reinterpret_cast<PyHeapTypeObject*>(type)->ht_qualname);
  std::string name = qualified != nullptr ? qualified : type->tp_name;
  PyObject *key, *value;
  for (Py_ssize_t position = 0; PyDict_Next(type->tp_dict, &position, &key, &value) != 0;) {
    const char* text = plain_text(key);
    if (text == nullptr || std::strcmp(text, "__module__") != 0) continue;
    const char* module = plain_text(value);
    if (module != nullptr && std::strcmp(module, "builtins") != 0) name = std::string(module) + "." + name;
    break;
  }
  return name;
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
  const uint32_t row =
      builder_.add_type({type_name(type), NodeKind::python, reinterpret_cast<Address>(type), cost_of(type)});
  add_native_rows();
  Entry& entry = entries_[row];
  if ((type->tp_flags & Py_TPFLAGS_HAVE_GC) != 0) entry.traverse = type->tp_traverse;
  entry.asks_is_gc = type->tp_is_gc != nullptr;
  for (Provider* provider : providers_)
    if (entry.provider == nullptr && provider->knows(type)) entry.provider = provider;
  slots_[place_of(type)] = {type, row};
  ++used_;
  return row;
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
