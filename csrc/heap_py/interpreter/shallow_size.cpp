#include "heap_py/interpreter/shallow_size.hpp"

#include "heap_py/interpreter/dict_types.hpp"
#include "heap_py/interpreter/interpreter.h"
#include "heap_py/interpreter/library_layouts.hpp"

namespace gradlife::heap {
namespace {

constexpr uint64_t collector_header = 16;
constexpr uint64_t pointer = sizeof(void*);

// Frames and generators have items, but no count of them where other types have it.
uint64_t frame_bytes(PyObject* object) {
  gl_frame frame;
  void* running = gl_generator_frame(object);
  if (running == nullptr || gl_read_frame(running, &frame) == 0) return 0;
  return static_cast<uint64_t>(frame.code->co_nlocalsplus + frame.code->co_stacksize) * pointer;
}

uint64_t items_bytes(PyObject* object, PyTypeObject* type) {
  if (type->tp_itemsize == 0) return 0;
  if (PyFrame_Check(object) || PyGen_CheckExact(object) || PyCoro_CheckExact(object) || PyAsyncGen_CheckExact(object))
    return frame_bytes(object);
  const Py_ssize_t count = Py_SIZE(object) < 0 ? -Py_SIZE(object) : Py_SIZE(object);
  return static_cast<uint64_t>(count) * static_cast<uint64_t>(type->tp_itemsize);
}

// An int's length shares its field with flags since 3.12.
uint64_t int_bytes(PyObject* number) {
  const size_t bits = _PyLong_NumBits(number);
  const size_t digits = bits == 0 ? 1 : (bits + PyLong_SHIFT - 1) / PyLong_SHIFT;
  return sizeof(PyLongObject) + (digits - 1) * sizeof(digit);
}

uint64_t text_bytes(PyObject* text) {
  const uint64_t letters = static_cast<uint64_t>(PyUnicode_GET_LENGTH(text)) + 1;
  if (PyUnicode_IS_COMPACT_ASCII(text)) return sizeof(PyASCIIObject) + letters;
  const uint64_t head =
      PyUnicode_IS_COMPACT(text) ? sizeof(PyCompactUnicodeObject) : static_cast<uint64_t>(Py_TYPE(text)->tp_basicsize);
  return head + letters * static_cast<uint64_t>(PyUnicode_KIND(text));
}

uint64_t set_bytes(PyObject* object) {
  const auto* set = reinterpret_cast<PySetObject*>(object);
  const bool is_small = set->table == set->smalltable;
  return is_small ? 0 : (static_cast<uint64_t>(set->mask) + 1) * sizeof(setentry);
}

// The written bytes, without the room for more. Bytes that others share are theirs.
uint64_t byte_file_bytes(PyObject* object) {
  const auto* file = reinterpret_cast<ByteFile*>(object);
  return file->content != nullptr && Py_REFCNT(file->content) == 1 ? static_cast<uint64_t>(file->length) : 0;
}

// A file that is only written joins texts, of a byte per letter if they are ASCII. Any other has an array of letters.
uint64_t text_file_bytes(PyObject* object) {
  constexpr int is_joining = 2;
  const auto* file = reinterpret_cast<TextFile*>(object);
  return static_cast<uint64_t>(file->length) * (file->state == is_joining ? 1 : sizeof(Py_UCS4));
}

// The bytes are an object of their own from Python 3.15 on. No other object can have it.
uint64_t byte_array_bytes(PyObject* object) {
  const auto room = static_cast<uint64_t>(reinterpret_cast<PyByteArrayObject*>(object)->ob_alloc);
#if PY_VERSION_HEX >= 0x030f0000
  if (room != 0) return room + static_cast<uint64_t>(PyBytes_Type.tp_basicsize);
#endif
  return room;
}

uint64_t number_array_bytes(PyObject* object) {
  const auto* array = reinterpret_cast<const NumberArray*>(object);
  return static_cast<uint64_t>(array->room) * static_cast<uint64_t>(array->items_type->item_bytes);
}

// Few bytes of ctypes are in the object itself, and a part of other data shows the memory of that.
uint64_t foreign_data_bytes(PyObject* object, const PyTypeObject* type) {
  const auto* data = reinterpret_cast<const ForeignData*>(object);
  const auto* begin = reinterpret_cast<const char*>(object);
  const bool is_inside = data->data >= begin && data->data < begin + type->tp_basicsize;
  return data->owns_data != 0 && !is_inside ? static_cast<uint64_t>(data->bytes) : 0;
}

uint64_t deque_bytes(PyObject* object) {
  const Py_ssize_t places = reinterpret_cast<const Deque*>(object)->first_item + Py_SIZE(object);
  const Py_ssize_t blocks = (places + DequeBlock::room - 1) / DequeBlock::room;
  return static_cast<uint64_t>(blocks) * sizeof(DequeBlock);
}

// Bytes before the object, for tracked types.
uint64_t headers_bytes(PyTypeObject* type) {
  uint64_t bytes = collector_header;
#if PY_VERSION_HEX >= 0x030c0000
  if ((type->tp_flags & Py_TPFLAGS_PREHEADER) != 0) bytes += 2 * pointer;
#else
  if ((type->tp_flags & Py_TPFLAGS_MANAGED_DICT) != 0) bytes += 2 * pointer;
#endif
  return bytes;
}

}  // namespace

ShallowSize::ShallowSize(PyTypeObject* type) : type_(type), kind_(kind_of(type)) {
  constexpr unsigned long uneven = Py_TPFLAGS_LONG_SUBCLASS | Py_TPFLAGS_UNICODE_SUBCLASS;
  const bool has_header = (type->tp_flags & Py_TPFLAGS_HAVE_GC) != 0;
  asks_for_header_ = has_header && type->tp_is_gc != nullptr;
  has_inline_ = (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) != 0;
  bytes_ = static_cast<uint64_t>(type->tp_basicsize);
  if (has_header && !asks_for_header_) bytes_ += headers_bytes(type);
  is_even_ = type->tp_itemsize == 0 && (type->tp_flags & uneven) == 0 && kind_ == Kind::plain && !asks_for_header_ &&
             !has_inline_;
}

ShallowSize::Kind ShallowSize::kind_of(PyTypeObject* type) {
  if ((type->tp_flags & Py_TPFLAGS_UNICODE_SUBCLASS) != 0) return Kind::text;
  if ((type->tp_flags & Py_TPFLAGS_LONG_SUBCLASS) != 0) return Kind::number;
  if (is_dict_type(type)) return Kind::dict;
  if ((type->tp_flags & Py_TPFLAGS_LIST_SUBCLASS) != 0) return Kind::list;
  if (PyType_IsSubtype(type, &PySet_Type) != 0 || PyType_IsSubtype(type, &PyFrozenSet_Type) != 0) return Kind::set;
  if (PyType_IsSubtype(type, &PyByteArray_Type) != 0) return Kind::bytes;
  if (is_byte_file(type)) return Kind::byte_file;
  if (is_deque(type)) return Kind::deque;
  if (is_foreign_data(type)) return Kind::foreign_data;
  if (is_number_array(type)) return Kind::number_array;
  return is_text_file(type) ? Kind::text_file : Kind::plain;
}

// The memory that an object of this kind owns outside itself.
uint64_t ShallowSize::outside_bytes(PyObject* object) const {
  switch (kind_) {
    case Kind::dict:
      return gl_dict_table_bytes(object);
    case Kind::list:
      return static_cast<uint64_t>(reinterpret_cast<PyListObject*>(object)->allocated) * pointer;
    case Kind::set:
      return set_bytes(object);
    case Kind::bytes:
      return byte_array_bytes(object);
    case Kind::byte_file:
      return byte_file_bytes(object);
    case Kind::text_file:
      return text_file_bytes(object);
    case Kind::deque:
      return deque_bytes(object);
    case Kind::foreign_data:
      return foreign_data_bytes(object, type_);
    case Kind::number_array:
      return number_array_bytes(object);
    default:
      return 0;
  }
}

uint64_t ShallowSize::of(PyObject* object) const {
  if (is_even_) return bytes_;
  if (kind_ == Kind::text) return text_bytes(object);
  if (kind_ == Kind::number) return int_bytes(object);
  uint64_t bytes = bytes_ + items_bytes(object, type_) + outside_bytes(object);
  if (asks_for_header_ && PyObject_IS_GC(object)) bytes += headers_bytes(type_);
  return has_inline_ ? bytes + gl_inline_bytes(object) : bytes;
}

}  // namespace gradlife::heap
