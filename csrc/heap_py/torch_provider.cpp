#include "heap_py/torch_provider.hpp"

#include <malloc.h>

#include <cstring>

namespace gradlife::heap {
namespace {

Address address_of(const void* pointer) { return static_cast<Address>(reinterpret_cast<uintptr_t>(pointer)); }
void* pointer_to(Address address) { return reinterpret_cast<void*>(static_cast<uintptr_t>(address)); }

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// "N5torch8autograd9generated12SinBackward0E" -> "SinBackward0": the last part of a qualified mangled name.
std::string last_part(const std::string& mangled) {
  const std::string readable = ClassNames::readable(mangled);
  const size_t arguments = readable.find('<');
  const size_t colon = readable.rfind("::", arguments);
  return colon == std::string::npos ? readable : readable.substr(colon + 2);
}

constexpr size_t largest_block = 4096;
constexpr uint64_t largest_vector = 1 << 16;

}  // namespace

TorchProvider::TorchProvider(const TorchLayout& layout) : layout_(layout) {
  limits_.push_back(
      "C++ hooks that are no Python functions, a backward pass that is under way, and what C++ extensions keep in "
      "classes of "
      "their own");
}

void TorchProvider::start(Builder& builder) {
  builder_ = &builder;
  rows_.clear();
  kinds_.clear();
  for (auto& [vtable, known] : classes_) known.row = 0;
}

bool TorchProvider::knows(PyTypeObject* type) {
  for (const PyTypeObject* own : {layout_.tensor_type, layout_.storage_type, layout_.context_type})
    if (own != nullptr && PyType_IsSubtype(type, const_cast<PyTypeObject*>(own)) != 0) return true;
  return layout_.node_traverse != nullptr && type->tp_traverse == layout_.node_traverse;
}

// --- classes
// -----------------------------------------------------------------------------------------------------------

TorchProvider::Known TorchProvider::classify(const std::string& mangled) {
  Known known;
  known.name = last_part(mangled);
  if (contains(mangled, "UndefinedTensorImpl")) {
    known.what = Class::undefined;
  } else if (contains(mangled, "TensorImplE")) {
    known.what = Class::tensor;
  } else if (contains(mangled, "StorageImplE")) {
    known.what = Class::storage;
  } else if (contains(mangled, "autograd12AutogradMetaE") || contains(mangled, "DifferentiableViewMetaE")) {
    known.what = Class::meta;
  } else if (contains(mangled, "autograd14AccumulateGradE")) {
    known.what = Class::accumulator;
  } else if (contains(mangled, "autograd6PyNodeE")) {
    known.what = Class::py_node;
  } else if (contains(mangled, "PySavedVariableHooksE")) {
    known.what = Class::saved_hooks;
  } else if (contains(mangled, "PyAnomalyMetadataE")) {
    known.what = Class::metadata;
  } else if (contains(mangled, "autograd") && contains(mangled, "PyFunction") && contains(mangled, "Hook")) {
    known.what = Class::hook;
  } else if (contains(mangled, "5torch8autograd") && !contains(mangled, "Hook") && !contains(mangled, "Metadata")) {
    known.what = Class::node;
  }
  return known;
}

const TorchProvider::Known& TorchProvider::class_of_vtable(uint64_t vtable) {
  static const Known* unknown = new Known;
  const auto found = classes_.find(vtable);
  if (found != classes_.end()) return found->second;
  const std::string* mangled = names_.of_vtable(vtable);
  return mangled != nullptr ? classes_.emplace(vtable, classify(*mangled)).first->second : *unknown;
}

const TorchProvider::Known& TorchProvider::class_of(Address object) {
  uint64_t vtable = 0;
  if (!looks_like_pointer(object) || !reader_.read_word(object, &vtable)) vtable = 0;
  return class_of_vtable(vtable);
}

uint32_t TorchProvider::row_of(const Known& known, NodeKind kind) {
  const std::string key = std::string(kind_name(kind)) + known.name;
  const auto found = rows_.find(key);
  if (found != rows_.end()) return found->second;
  const uint32_t row = builder_->add_type({"torch::" + known.name, kind, 0, 2});
  kinds_.resize(row + 1, Class::none);
  kinds_[row] = known.what;
  rows_[key] = row;
  return row;
}

void TorchProvider::refer(ReferenceSink& sink, Address target, const char* label, int64_t index) {
  const Known& known = class_of(target);
  switch (known.what) {
    case Class::tensor:
      return sink.native(pointer_to(target), row_of(known, NodeKind::tensor), label, index);
    case Class::storage:
      return sink.native(pointer_to(target), row_of(known, NodeKind::storage), label, index);
    case Class::node:
    case Class::accumulator:
    case Class::py_node:
      return sink.native(pointer_to(target), row_of(known, NodeKind::grad_node), label, index);
    default:
      return;  // not what the layout says stands here: nothing is told of it
  }
}

// --- reading
// -----------------------------------------------------------------------------------------------------------

bool TorchProvider::read(Address object, uint32_t offset, Address* word) const {
  return offset != TorchLayout::absent && reader_.read_word(object + offset, word) && *word != 0;
}

// All of a block that operator new gave. Its object is alive, so the allocator knows its size.
bool TorchProvider::read_block(Address object, std::vector<uint64_t>& words) const {
  const size_t bytes = std::min(malloc_usable_size(pointer_to(object)), largest_block);
  words.resize(bytes / sizeof(uint64_t));
  return !words.empty() && reader_.read(object, words.data(), words.size() * sizeof(uint64_t));
}

std::vector<TorchProvider::Word> TorchProvider::typed_words(const std::vector<uint64_t>& words) {
  std::vector<Address> candidates;
  std::vector<uint32_t> offsets;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!looks_like_pointer(words[i])) continue;
    candidates.push_back(words[i]);
    offsets.push_back(static_cast<uint32_t>(i * sizeof(uint64_t)));
  }
  std::vector<uint64_t> vtables;
  reader_.read_words(candidates, vtables);
  std::vector<Word> found;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Known& known = class_of_vtable(vtables[i]);
    if (known.what != Class::none) found.push_back({offsets[i], candidates[i], &known});
  }
  return found;
}

// Did malloc give exactly this much here? Its chunk says so in the word in front (glibc); three pointers that only
// happen to ascend do not stand in front of such a chunk.
bool TorchProvider::is_allocation(Address begin, uint64_t bytes) const {
  uint64_t chunk;
  if (begin % 16 != 0 || !reader_.read_word(begin - sizeof(uint64_t), &chunk)) return false;
  const uint64_t usable = (chunk & ~uint64_t{15}) - sizeof(uint64_t);
  constexpr uint64_t slack = 48;  // rounding, and a remainder too small to be a chunk of its own
  return usable >= bytes && usable < bytes + slack;
}

// What stands in vectors of the block: three words, begin, end and end of storage.
std::vector<TorchProvider::Word> TorchProvider::typed_words_of_vectors(const std::vector<uint64_t>& words,
                                                                       uint32_t skipped) {
  std::vector<Word> found;
  for (size_t i = 1; i + 2 < words.size(); ++i) {
    const uint64_t begin = words[i], end = words[i + 1], limit = words[i + 2];
    if (i * sizeof(uint64_t) == skipped || !looks_like_pointer(begin) || begin >= end || end > limit) continue;
    if (limit - begin > largest_vector || (end - begin) % sizeof(uint64_t) != 0) continue;
    if (!is_allocation(begin, limit - begin)) continue;
    std::vector<uint64_t> content((end - begin) / sizeof(uint64_t));
    if (!reader_.read(begin, content.data(), end - begin)) continue;
    for (const Word& word : typed_words(content)) found.push_back(word);
  }
  return found;
}

// A Python object has a type, whose own type is a type.
bool TorchProvider::is_object(Address address) const {
  uint64_t type, metatype, flags;
  if (!looks_like_pointer(address) || !reader_.read_word(address + offsetof(PyObject, ob_type), &type)) return false;
  if (!looks_like_pointer(type) || !reader_.read_word(type + offsetof(PyObject, ob_type), &metatype)) return false;
  if (metatype == address_of(&PyType_Type)) return true;
  return looks_like_pointer(metatype) && reader_.read_word(metatype + offsetof(PyTypeObject, tp_flags), &flags) &&
         (flags & Py_TPFLAGS_TYPE_SUBCLASS) != 0;
}

void TorchProvider::refer_to_object(ReferenceSink& sink, Address holder, uint32_t offset, const char* label) {
  Address object;
  if (read(holder, offset, &object) && is_object(object))
    sink.python(static_cast<PyObject*>(pointer_to(object)), Relation::native, label);
}

// --- objects
// -----------------------------------------------------------------------------------------------------------

void TorchProvider::expand_python(PyObject* object, ReferenceSink& sink) {
  PyTypeObject* type = Py_TYPE(object);
  const auto is_a = [&](const PyTypeObject* base) {
    return base != nullptr && PyType_IsSubtype(type, const_cast<PyTypeObject*>(base)) != 0;
  };
  uint32_t offset = layout_.node_in_wrapper;
  if (is_a(layout_.tensor_type)) offset = layout_.impl_in_wrapper;
  if (is_a(layout_.storage_type)) offset = layout_.impl_in_storage_wrapper;
  if (is_a(layout_.context_type)) offset = layout_.node_in_context;
  Address target;
  if (read(address_of(object), offset, &target)) refer(sink, target, "its C++ object");
  if (is_a(layout_.context_type)) expand_context(object, sink);
}

// What save_for_backward kept stands in a vector inside the context itself.
void TorchProvider::expand_context(PyObject* context, ReferenceSink& sink) {
  std::vector<uint64_t> words(static_cast<size_t>(layout_.context_type->tp_basicsize) / sizeof(uint64_t));
  if (words.empty() || !reader_.read(address_of(context), words.data(), words.size() * sizeof(uint64_t))) return;
  int64_t index = 0;
  for (const Word& word : typed_words_of_vectors(words, TorchLayout::absent)) {
    if (word.known->what == Class::tensor) refer(sink, word.target, "saved for backward", index);
    if (word.known->what == Class::tensor || word.known->what == Class::undefined) ++index;
    expand_holder(word, "hooks", sink);
  }
}

void TorchProvider::expand_native(const void* object, uint32_t type, ReferenceSink& sink) {
  const Address address = address_of(object);
  const Known& known = class_of(address);
  if (known.what != kinds_[type]) return;  // it is no longer what it was
  switch (known.what) {
    case Class::tensor:
      return expand_tensor(address, sink);
    case Class::storage:
      return refer_to_wrapper(sink, address, layout_.wrapper_in_storage);
    default:
      return expand_node(address, known, sink);
  }
}

// An impl owns its wrapper while it has other owners than that.
void TorchProvider::refer_to_wrapper(ReferenceSink& sink, Address object, uint32_t wrapper_offset) {
  uint64_t count;
  if (!layout_.are_counts_coupled || layout_.count_in_target == TorchLayout::absent) return;
  if (!reader_.read_word(object + layout_.count_in_target, &count) || static_cast<uint32_t>(count) < 2) return;
  refer_to_object(sink, object, wrapper_offset, "its wrapper");
}

void TorchProvider::expand_tensor(Address impl, ReferenceSink& sink) {
  refer_to_wrapper(sink, impl, layout_.wrapper_in_impl);
  Address target;
  if (read(impl, layout_.storage_in_impl, &target)) refer(sink, target, "storage");
  if (read(impl, layout_.meta_in_impl, &target) && class_of(target).what == Class::meta) expand_meta(target, sink);
}

void TorchProvider::expand_meta(Address meta, ReferenceSink& sink) {
  std::vector<uint64_t> words;
  if (!read_block(meta, words)) return;
  for (const Word& word : typed_words(words)) {
    if (word.known->what == Class::tensor)
      refer(sink, word.target, word.offset == layout_.grad_in_meta ? "grad" : "base");
    if (word.offset == layout_.node_in_meta) refer(sink, word.target, "grad_fn");
    expand_holder(word, "post-accumulate hooks", sink);
  }
  for (const Word& word : typed_words_of_vectors(words, TorchLayout::absent)) expand_holder(word, "tensor hooks", sink);
}

void TorchProvider::expand_node(Address node, const Known& known, ReferenceSink& sink) {
  refer_to_wrapper(sink, node, known.what == Class::py_node ? layout_.context_in_node : layout_.wrapper_in_node);
  expand_edges(node, sink);
  std::vector<uint64_t> words;
  if (!read_block(node, words)) return;
  const std::vector<Word> own = typed_words(words);
  expand_saved(own, known, sink);
  for (const Word& word : own) {
    // Other nodes hold nodes by their edges; what else points at one in them does not own it.
    if (word.known->what == Class::node && known.name == "CopySlices") refer(sink, word.target, "the operation before");
    expand_holder(word, "hooks", sink);
  }
  for (const Word& word : typed_words_of_vectors(words, layout_.edges_in_node)) {
    if (word.known->what == Class::tensor) refer(sink, word.target, "saved");
    expand_holder(word, "hooks", sink);
  }
}

void TorchProvider::expand_edges(Address node, ReferenceSink& sink) {
  Address begin, end;
  if (layout_.edge_bytes == 0 || !read(node, layout_.edges_in_node, &begin)) return;
  if (!read(node, layout_.edges_in_node + 8, &end) || end < begin || end - begin > largest_vector) return;
  std::vector<uint64_t> words((end - begin) / sizeof(uint64_t));
  if (words.empty() || !reader_.read(begin, words.data(), words.size() * sizeof(uint64_t))) return;
  const size_t step = layout_.edge_bytes / sizeof(uint64_t);
  for (size_t i = 0; i < words.size(); i += step) refer(sink, words[i], "next edge", static_cast<int64_t>(i / step));
}

// Named where the class's names are as many as its slots; a slot without a tensor counts.
void TorchProvider::expand_saved(const std::vector<Word>& words, const Known& known, ReferenceSink& sink) {
  if (known.what == Class::accumulator) {
    for (const Word& word : words)
      if (word.offset == layout_.variable_in_accumulator) refer(sink, word.target, "variable");
    return;
  }
  const auto names = layout_.saved_names.find(known.name);
  size_t slots = 0;
  for (const Word& word : words)
    slots += word.known->what == Class::tensor || word.known->what == Class::undefined ? 1 : 0;
  const bool has_names = names != layout_.saved_names.end() && names->second.size() == slots;
  size_t slot = 0;
  for (const Word& word : words) {
    if (word.known->what != Class::tensor && word.known->what != Class::undefined) continue;
    if (word.known->what == Class::tensor) refer(sink, word.target, has_names ? names->second[slot].c_str() : "saved");
    ++slot;
  }
}

// Python objects behind small C++ ones: dicts of hooks, metadata, pack and unpack functions.
void TorchProvider::expand_holder(const Word& word, const char* hooks_label, ReferenceSink& sink) {
  if (word.known->what == Class::hook) refer_to_object(sink, word.target, layout_.dict_in_hook, hooks_label);
  if (word.known->what == Class::metadata) refer_to_object(sink, word.target, layout_.dict_in_metadata, "metadata");
  if (word.known->what != Class::saved_hooks) return;
  refer_to_object(sink, word.target, layout_.pack_in_hooks, "pack hook");
  refer_to_object(sink, word.target, layout_.unpack_in_hooks, "unpack hook");
  refer_to_object(sink, word.target, layout_.packed_in_hooks, "packed");
}

// --- words
// -------------------------------------------------------------------------------------------------------------

// Traverse shows a node's face or hooks in its tensor's place where only the tensor owns them.
Label TorchProvider::describe_edge(PyObject* source, PyObject* target) {
  if (layout_.tensor_type == nullptr ||
      PyType_IsSubtype(Py_TYPE(source), const_cast<PyTypeObject*>(layout_.tensor_type)) == 0)
    return {};
  if (PyDict_Check(target)) return {Relation::native, "hooks"};
  return knows(Py_TYPE(target)) ? Label{Relation::native, "grad_fn"} : Label{};
}

std::string TorchProvider::describe_python(PyObject*) { return ""; }
std::string TorchProvider::describe_native(const void*, uint32_t) { return ""; }

uint64_t TorchProvider::native_bytes(const void* object, uint32_t type) {
  const Address address = address_of(object);
  const Known& known = class_of(address);
  if (known.what != kinds_[type]) return 0;
  uint64_t bytes = malloc_usable_size(pointer_to(address));
  Address content;
  if (known.what == Class::storage && read(address, layout_.bytes_in_storage, &content)) bytes += content;
  return bytes;
}

}  // namespace gradlife::heap
