#include "heap_py/providers/numpy/provider.hpp"

#include "base/labels.hpp"
#include "heap_py/interpreter/module_names.hpp"
#include "heap_py/memory/dlpack.hpp"
#include "heap_py/memory/object_check.hpp"

namespace gradlife::heap {

// The layout of an array since numpy 1.7; its C interface is public and stable.
struct NumpyProvider::Array {
  PyObject_HEAD char* data;
  int dimensions;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  PyObject* base;
  PyObject* type;
  int flags;
};

namespace {

constexpr int owns_data = 4;

// The head of numpy's description of an item type, the same in 1.x and 2.x up to the field after the number.
struct ItemType {
  PyObject_HEAD PyTypeObject* scalar;
  char kind, letter, byte_order, flags;
  int number;
  union {
    int bytes_1;
    uint64_t more_flags;
  };
  Py_ssize_t bytes_2;
};

const ItemType& item_type(const PyObject* type) { return *reinterpret_cast<const ItemType*>(type); }

int known_version() {
  const std::string_view version = plain_text(module_variable("numpy", "__version__"));
  const bool is_known = version.size() > 1 && version[1] == '.' && (version[0] == '1' || version[0] == '2');
  return is_known ? version[0] - '0' : 0;
}

const char* kind_word(char kind) {
  switch (kind) {
    case 'b':
      return "bool";
    case 'i':
      return "int";
    case 'u':
      return "uint";
    case 'f':
      return "float";
    case 'c':
      return "complex";
    case 'O':
      return "object";
    default:
      return "";
  }
}

std::string joined(const std::vector<Py_ssize_t>& numbers) {
  std::string text;
  for (Py_ssize_t number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

}  // namespace

PyTypeObject* NumpyProvider::find_array_type() {
  PyObject* type = module_variable("numpy", "ndarray");
  return type != nullptr && PyType_Check(type) ? reinterpret_cast<PyTypeObject*>(type) : nullptr;
}

NumpyProvider::NumpyProvider(PyTypeObject* arrays) : arrays_(arrays), version_(known_version()) {
  if (version_ == 0) limits_.emplace_back("what the arrays of this version of numpy hold");
}

void NumpyProvider::expand_capsule(PyObject* capsule, ReferenceSink& sink) {
  const MemoryReader reader;
  Address structure, maker;
  const DLPack sort = dlpack_of(reader, capsule, &structure);
  if (read_maker(reader, structure, sort, &maker) && is_object_at(reader, maker))
    sink.python(reinterpret_cast<PyObject*>(maker), Relation::native, labels::memory_of);
}

void NumpyProvider::expand_python(PyObject* object, ReferenceSink& sink) {
  if (Py_TYPE(object) == &PyCapsule_Type) return expand_capsule(object, sink);
  if (version_ == 0) return;
  const Array& array = *reinterpret_cast<const Array*>(object);
  sink.python(array.base, Relation::internal, "base");
  sink.python(array.type, Relation::internal, "dtype");
  const bool has_objects = array.type != nullptr && item_type(array.type).kind == 'O';
  if (has_objects && (array.flags & owns_data) != 0) expand_items(array, sink);
}

// Expands the items of an array that owns its memory: the items of a view belong to its base.
void NumpyProvider::expand_items(const Array& array, ReferenceSink& sink) const {
  std::vector<Py_ssize_t> at(static_cast<size_t>(array.dimensions), 0);
  for (size_t i = 0; i < at.size(); ++i)
    if (array.shape[i] == 0) return;
  for (size_t dimension = 0; dimension <= at.size();) {
    const char* place = array.data;
    for (size_t i = 0; i < at.size(); ++i) place += at[i] * array.strides[i];
    PyObject* item = *reinterpret_cast<PyObject* const*>(place);
    if (item != nullptr && at.size() == 1) sink.python(item, Relation::item, "", at[0]);
    if (item != nullptr && at.size() != 1) sink.python(item, Relation::dict_value, joined(at).c_str());
    for (dimension = 0; dimension < at.size(); ++dimension) {
      const size_t i = at.size() - 1 - dimension;
      if (++at[i] < array.shape[i]) break;
      at[i] = 0;
    }
    if (dimension == at.size()) return;
  }
}

uint64_t NumpyProvider::item_bytes(const PyObject* type) const {
  const ItemType& item = item_type(type);
  return static_cast<uint64_t>(version_ == 1 ? item.bytes_1 : item.bytes_2);
}

std::string NumpyProvider::describe_python(PyObject* object) {
  if (Py_TYPE(object) == &PyCapsule_Type) return "";
  const Array& array = *reinterpret_cast<const Array*>(object);
  if (version_ == 0 || array.type == nullptr) return "";
  const char kind = item_type(array.type).kind;
  std::string text = kind_word(kind);
  if (!text.empty() && kind != 'O' && kind != 'b') text += std::to_string(8 * item_bytes(array.type));
  return text + (text.empty() ? "[" : " [") + joined({array.shape, array.shape + array.dimensions}) + "]";
}

uint64_t NumpyProvider::outside_bytes(const PyObject* object) {
  if (Py_TYPE(object) == &PyCapsule_Type) return 0;
  const Array& array = *reinterpret_cast<const Array*>(object);
  if (version_ == 0 || array.type == nullptr || (array.flags & owns_data) == 0) return 0;
  uint64_t bytes = item_bytes(array.type);
  for (int i = 0; i < array.dimensions; ++i) bytes *= static_cast<uint64_t>(array.shape[i]);
  return bytes;
}

}  // namespace gradlife::heap
