#include "heap_py/labels/label_packer.hpp"

#include <structmember.h>

#include <cctype>
#include <cstddef>
#include <iterator>

#include "base/labels.hpp"
#include "heap_py/interpreter/interpreter.h"
#include "heap_py/interpreter/key_text.hpp"
#include "heap_py/labels/call_labels.hpp"
#include "heap_py/labels/type_labels.hpp"

namespace gradlife::heap {
namespace {

bool is_identifier(const std::string& text, size_t first, size_t last) {
  for (size_t i = first; i < last; ++i)
    if (std::isalnum(static_cast<unsigned char>(text[i])) == 0 && text[i] != '_') return false;
  return first < last && std::isdigit(static_cast<unsigned char>(text[first])) == 0;
}

// Returns a key or attribute for a file that strangers may read: identifiers come from the program, other text is data.
std::string without_user_text(const Label& label) {
  if (label.relation == Relation::attribute)
    return is_identifier(label.text, 0, label.text.size()) ? label.text : "<str>";
  if (label.relation != Relation::dict_value && label.relation != Relation::dict_key) return label.text;
  if (label.text.find('\'') == std::string::npos) return label.text;
  if (label.text.front() == '(') return "<tuple>";
  return is_identifier(label.text, 1, label.text.size() - 1) ? label.text : "<str>";
}

bool is_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '_';
}
bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

// A short key that is an identifier, as most are: quoted, without an allocation. Empty for other keys.
class ShortKey {
 public:
  explicit ShortKey(PyObject* key) {
    if (!PyUnicode_CheckExact(key) || !PyUnicode_IS_COMPACT_ASCII(key)) return;
    const auto length = static_cast<size_t>(PyUnicode_GET_LENGTH(key));
    const auto* letters = reinterpret_cast<const char*>(PyUnicode_DATA(key));
    if (length == 0 || length > longest || !is_letter(letters[0])) return;
    for (size_t i = 0; i < length; ++i) {
      if (!is_letter(letters[i]) && !is_digit(letters[i])) return;
      text_[i + 1] = letters[i];
    }
    text_[0] = text_[length + 1] = '\'';
    length_ = length;
  }
  bool is_empty() const { return length_ == 0; }
  std::string_view quoted() const { return {text_, length_ + 2}; }
  std::string_view plain() const { return {text_ + 1, length_}; }

 private:
  static constexpr size_t longest = 40;
  size_t length_ = 0;
  char text_[longest + 2];
};

constexpr uint32_t not_found = UINT32_MAX;

struct KeySearch {
  PyObject *target, *key;
};
uint32_t place_in(PyObject* const* items, Py_ssize_t count, const PyObject* held) {
  for (Py_ssize_t i = 0; i < count; ++i)
    if (items[i] == held) return PackedLabel::pack(static_cast<uint8_t>(Relation::item), static_cast<uint64_t>(i));
  return not_found;
}

// The fields of a function, in the order of the search for a label.
constexpr size_t fields_of_function[] = {
    offsetof(PyFunctionObject, func_kwdefaults),  offsetof(PyFunctionObject, func_globals),
    offsetof(PyFunctionObject, func_dict),        offsetof(PyFunctionObject, func_code),
    offsetof(PyFunctionObject, func_annotations), offsetof(PyFunctionObject, func_builtins),
    offsetof(PyFunctionObject, func_module),      offsetof(PyFunctionObject, func_doc),
    offsetof(PyFunctionObject, func_name),        offsetof(PyFunctionObject, func_qualname)};

Buffer<size_t> fields_of_code() {
  Buffer<size_t> offsets;
  for (const PyMemberDef* member = PyCode_Type.tp_members; member->name != nullptr; ++member)
    if (member->type == T_OBJECT || member->type == T_OBJECT_EX) offsets.push_back(static_cast<size_t>(member->offset));
  return offsets;
}

void note_key(PyObject* name, PyObject* value, void* state) {
  KeySearch& search = *static_cast<KeySearch*>(state);
  if (value == search.target) search.key = name;
}

}  // namespace

LabelPacker::LabelPacker(const Graph& graph, const Describer& describer, Texts& texts, bool with_user_text)
    : graph_(graph), describer_(describer), texts_(texts), with_user_text_(with_user_text) {
  for (const TypeRow& row : graph.type_rows) {
    shapes_.push_back(shape_of(row));
    if (shapes_.back() == Shape::tuple) tuples_ = static_cast<uint32_t>(shapes_.size() - 1);
  }
  known_.assign_zero(kept_keys);
  code_fields_ = fields_of_code();
}

LabelPacker::Shape LabelPacker::shape_of(const TypeRow& row) const {
  if (row.kind != NodeKind::python || row.address == 0) return Shape::other;
  const auto* type = reinterpret_cast<PyTypeObject*>(static_cast<uintptr_t>(row.address));
  if (type == &PyDict_Type) return Shape::dict;
  if (type == &PyList_Type) return Shape::list;
  if (type == &PyTuple_Type) return Shape::tuple;
  if (type == &PyCell_Type) return Shape::cell;
  if (type == &PyFunction_Type) return Shape::function;
  if (type == &PyCode_Type) return Shape::code;
  const bool is_heap_type = (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
  return is_heap_type && describer_.manner_of(row) == Manner::nothing ? Shape::instance : Shape::other;
}

uint32_t LabelPacker::pack(const Label& label) {
  const uint8_t relation = static_cast<uint8_t>(label.relation);
  if (label.relation == Relation::item)
    return PackedLabel::pack(relation, label.index >= 0 ? static_cast<uint64_t>(label.index) : PackedLabel::most);
  std::string text = with_user_text_ ? label.whole() : without_user_text(label);
  if (label.index >= 0 && text != labels::next_edge) text += "[" + std::to_string(label.index) + "]";
  return PackedLabel::pack(relation, texts_.add(text));
}

uint32_t LabelPacker::reference(NodeId source, NodeId target) {
  const uint32_t found = plain_reference(source, target);
  return found != not_found ? found : pack(describer_.describe_edge(source, target));
}

uint32_t LabelPacker::another_reference(NodeId source, NodeId target, size_t nth) {
  return pack(describer_.describe_edge(source, target, nth));
}

void LabelPacker::prefetch(NodeId source) const {
  const PyObject* holder = object(source);
  const Shape shape = shapes_[graph_.types[source]];
  if (shape == Shape::dict) {
    const char* keys = reinterpret_cast<const char*>(reinterpret_cast<const PyDictObject*>(holder)->ma_keys);
    __builtin_prefetch(keys);
    __builtin_prefetch(keys + 64);  // the first entries follow the table
    __builtin_prefetch(reinterpret_cast<const PyDictObject*>(holder)->ma_values);
  } else if (shape == Shape::list) {
    __builtin_prefetch(reinterpret_cast<const PyListObject*>(holder)->ob_item);
  } else if (shape == Shape::function) {
    __builtin_prefetch(&reinterpret_cast<const PyFunctionObject*>(holder)->func_closure);
  } else if (shape == Shape::instance) {
    __builtin_prefetch(gl_inline_attributes(object(source)));
  }
}

// The shapes of most references, stored without text: dict values, items, cells, instance attributes. References of
// such a shape lead only to Python objects.
uint32_t LabelPacker::plain_reference(NodeId source, NodeId target) {
  PyObject *holder = object(source), *held = object(target);
  switch (shapes_[graph_.types[source]]) {
    case Shape::dict: {
      PyObject *key, *value;
      for (Py_ssize_t at = 0; PyDict_Next(holder, &at, &key, &value) != 0;)
        if (value == held) return waits_for_a_call(target, key) ? not_found : keyed(Relation::dict_value, key);
      return not_found;
    }
    case Shape::list:
      return place_in(reinterpret_cast<PyListObject*>(holder)->ob_item, Py_SIZE(holder), held);
    case Shape::tuple:
      return place_in(reinterpret_cast<PyTupleObject*>(holder)->ob_item, Py_SIZE(holder), held);
    case Shape::function: {
      const auto* function = reinterpret_cast<PyFunctionObject*>(holder);
      if (function->func_defaults == held) return not_found;  // its label has the names of arguments
      if (function->func_closure != held)
        return field(fields_of_function, std::size(fields_of_function), source, target);
      return known(Relation::closure, function->func_code, [&] { return describer_.describe_edge(source, target); });
    }
    case Shape::code:
      return field(code_fields_.data(), code_fields_.size(), source, target);
    case Shape::cell:
      return known(Relation::cell, &PyCell_Type, [&] { return describer_.describe_edge(source, target); });
    case Shape::instance:
      return of_instance(source, target);
    case Shape::other:
      break;
  }
  return not_found;
}

// The name of a field depends on its offset only.
uint32_t LabelPacker::field(const size_t* offsets, size_t count, NodeId source, NodeId target) {
  for (const size_t* offset = offsets; offset != offsets + count; ++offset)
    if (*reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object(source)) + *offset) == object(target))
      return known(Relation::internal, offset, [&] { return describer_.describe_edge(source, target); });
  return not_found;
}

// Whether the label includes a call, and so is built separately.
bool LabelPacker::waits_for_a_call(NodeId target, PyObject* name) const {
  return graph_.types[target] == tuples_ && names_arguments(name);
}

uint32_t LabelPacker::of_instance(NodeId source, NodeId target) {
  PyObject *holder = object(source), *held = object(target);
  KeySearch search{held, nullptr};
  gl_visit_inline_attributes(holder, note_key, &search);
  if (search.key != nullptr)
    return waits_for_a_call(target, search.key) ? not_found : keyed(Relation::attribute, search.key);
  const DeclaredField declared = declared_field(holder, held);
  if (declared.is_slot && graph_.types[target] != tuples_)  // a tuple's label may include a call
    return known(Relation::slot, declared.member, [&] { return Label{Relation::slot, declared.member->name}; });
  Label slot = label_in_members(holder, held);
  slot.call = call_beside(holder, held, slot);
  if (slot.relation == Relation::slot) return pack(slot);
  if (gl_existing_dict(holder) != held) return not_found;
  return known(Relation::internal, &PyDict_Type, [] { return Label{Relation::internal, "__dict__"}; });
}

uint32_t LabelPacker::keyed(Relation relation, PyObject* key) {
  Known& kept = known_of(key);
  if (kept.key == key && kept.relation == relation) return kept.label;
  const ShortKey plain(key);
  if (!plain.is_empty()) {
    const std::string_view text = relation == Relation::attribute ? plain.plain() : plain.quoted();
    kept = {key, relation, PackedLabel::pack(static_cast<uint8_t>(relation), texts_.add(text))};
    return kept.label;
  }
  return known(relation, key, [&] {
    Label label{relation, relation == Relation::attribute ? text_of(key) : describe_key(key), -1, key};
    if (relation == Relation::dict_value) describer_.add_key(label);
    return label;
  });
}

}  // namespace gradlife::heap
