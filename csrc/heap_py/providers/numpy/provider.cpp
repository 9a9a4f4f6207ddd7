#include "heap_py/providers/numpy/provider.hpp"

#include <algorithm>
#include <cstring>

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

// An item type that consists of several items of another type, and its fields by name.
struct Subarray {
  PyObject *type, *shape;
};
struct Parts {
  Subarray* subarray;
  PyObject* fields;  // a dict of (type, offset) or (type, offset, title)
};

// Numpy's description of an item type, the same in 1.x and 2.x up to the field after the number.
struct ItemType {
  PyObject_HEAD PyTypeObject* scalar;
  char kind, letter, byte_order, flags_1;
  int number;
  union {
    struct {
      int bytes, alignment;
      Parts parts;
    } in_1;
    struct {
      uint64_t flags;
      Py_ssize_t bytes, alignment;
      PyObject* metadata;
      Py_hash_t hash;
      void* reserved[2];
      Parts parts;
    } in_2;
  };
};

const ItemType& item_type(const PyObject* type) { return *reinterpret_cast<const ItemType*>(type); }

// The places of the objects in each item of an array, for the two layouts.
class ObjectPlaces {
 public:
  explicit ObjectPlaces(int version) : version_(version) {}

  std::vector<Py_ssize_t> of(const PyObject* type) {
    add(type, 0, 0);
    std::sort(places_.begin(), places_.end());  // a field with a title is twice in the dict
    places_.erase(std::unique(places_.begin(), places_.end()), places_.end());
    return std::move(places_);
  }

 private:
  static constexpr size_t most = 1 << 16;
  static constexpr int most_levels = 32;

  bool has_objects(const ItemType& item) const {
    constexpr uint64_t counts_references = 1;
    const uint64_t flags = version_ == 1 ? static_cast<uint64_t>(item.flags_1) : item.in_2.flags;
    return (flags & counts_references) != 0;
  }

  void add(const PyObject* type, Py_ssize_t place, int level) {
    const ItemType& item = item_type(type);
    if (level > most_levels || places_.size() >= most || !has_objects(item)) return;
    if (item.kind == 'O') return places_.push_back(place);
    if (item.kind != 'V') return;
    const Parts& parts = version_ == 1 ? item.in_1.parts : item.in_2.parts;
    if (parts.subarray != nullptr) return add_subarray(*parts.subarray, place, level);
    PyObject *name, *field;
    if (parts.fields == nullptr || !PyDict_Check(parts.fields)) return;
    for (Py_ssize_t at = 0; PyDict_Next(parts.fields, &at, &name, &field) != 0;)
      if (PyTuple_Check(field) && PyTuple_GET_SIZE(field) >= 2)
        add(PyTuple_GET_ITEM(field, 0), place + PyLong_AsSsize_t(PyTuple_GET_ITEM(field, 1)), level + 1);
  }

  void add_subarray(const Subarray& subarray, Py_ssize_t place, int level) {
    const ItemType& item = item_type(subarray.type);
    const Py_ssize_t bytes = version_ == 1 ? item.in_1.bytes : item.in_2.bytes;
    Py_ssize_t count = 1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(subarray.shape); ++i)
      count *= PyLong_AsSsize_t(PyTuple_GET_ITEM(subarray.shape, i));
    for (Py_ssize_t i = 0; i < count && places_.size() < most; ++i) add(subarray.type, place + i * bytes, level + 1);
  }

  const int version_;
  std::vector<Py_ssize_t> places_;
};

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
  if (array.type == nullptr || (array.flags & owns_data) == 0) return;
  const std::vector<Py_ssize_t> objects = ObjectPlaces(version_).of(array.type);
  if (!objects.empty()) expand_items(array, objects, sink);
}

// Expands the items of an array that owns its memory: the items of a view belong to its base. `objects`: the places of
// the objects in each item.
void NumpyProvider::expand_items(const Array& array, const std::vector<Py_ssize_t>& objects,
                                 ReferenceSink& sink) const {
  std::vector<Py_ssize_t> at(static_cast<size_t>(array.dimensions), 0);
  for (size_t i = 0; i < at.size(); ++i)
    if (array.shape[i] == 0) return;
  for (size_t dimension = 0; dimension <= at.size();) {
    const char* place = array.data;
    for (size_t i = 0; i < at.size(); ++i) place += at[i] * array.strides[i];
    for (const Py_ssize_t object : objects) {
      PyObject* item;
      std::memcpy(&item, place + object, sizeof item);  // a field of a packed item is at any byte
      if (item != nullptr && at.size() == 1) sink.python(item, Relation::item, "", at[0]);
      if (item != nullptr && at.size() != 1) sink.python(item, Relation::dict_value, joined(at).c_str());
    }
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
  return static_cast<uint64_t>(version_ == 1 ? item.in_1.bytes : item.in_2.bytes);
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

PyObject* NumpyProvider::memory_owner(PyObject* object) {
  if (version_ == 0 || Py_TYPE(object) == &PyCapsule_Type) return nullptr;
  return reinterpret_cast<const Array*>(object)->base;
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
