// References of grad nodes: next edges, hooks, and tensors saved for backward.
#include <algorithm>

#include "base/labels.hpp"
#include "heap_py/providers/torch/provider.hpp"

namespace gradlife::heap {
namespace {

constexpr size_t word_bytes = sizeof(uint64_t);
constexpr size_t vector_words = 3;
constexpr uint64_t most_outputs = 1 << 20;
constexpr uint64_t not_truths = 0xFEFEFEFE;  // bits that are 0 in four bytes of truth
constexpr uint64_t truths = 0xFFFFFFFFFF;    // a slot's: a saved tensor is the original or a result
// Larger vectors of edges are read only if malloc allocated exactly this much there.
constexpr uint64_t most_edge_bytes_unasked = 1 << 16;

void* pointer_to(Address address) { return reinterpret_cast<void*>(static_cast<uintptr_t>(address)); }

}  // namespace

void TorchProvider::expand_node(Address node, const KnownClass& known, ReferenceSink& sink) {
  const bool is_context = known.what == TorchClass::context_node;
  if (layout_.are_nodes_coupled)
    refer_to_wrapper(sink, node, is_context ? layout_.context_in_node : layout_.wrapper_in_node,
                     is_context ? layout_.node_in_context : layout_.node_in_wrapper);
  else if (is_context)
    refer_to_object(sink, node, layout_.context_in_node, labels::its_wrapper);
  expand_edges(node, sink);
  Address target;
  if (known.what != TorchClass::accumulator)
    expand_saved(node, known, sink);
  else if (read(node, layout_.variable_in_accumulator, &target))
    refer(sink, target, labels::variable);
  expand_hooks(node, known, sink);
  expand_shapes(node, sink);
}

void TorchProvider::expand_edges(Address node, ReferenceSink& sink) {
  uint64_t bounds[vector_words];
  const size_t step = layout_.edge_bytes / word_bytes;
  if (layout_.edge_bytes == TorchLayout::absent || step == 0 || layout_.edges_in_node == TorchLayout::absent) return;
  if (!reader_.read(node + layout_.edges_in_node, bounds, sizeof bounds)) return;
  const uint64_t begin = bounds[0], end = bounds[1], limit = bounds[2];
  if (begin == 0 || end <= begin || end > limit) return;
  if (limit - begin > most_edge_bytes_unasked && !is_allocation(begin, limit - begin)) return;
  std::vector<uint64_t> words((end - begin) / word_bytes);
  if (words.empty() || !reader_.read(begin, words.data(), words.size() * word_bytes)) return;
  for (size_t i = 0; i < words.size(); i += step)
    refer(sink, words[i], labels::next_edge, static_cast<int64_t>(i / step));
}

void TorchProvider::expand_hooks(Address node, const KnownClass& known, ReferenceSink& sink) {
  Address metadata;
  if (read(node, layout_.metadata_in_node, &metadata)) expand_holder(metadata, sink);
  std::vector<uint64_t> hooks;
  for (const uint32_t offset : {layout_.tensor_hooks_in_node, layout_.prehooks_in_node, layout_.hooks_in_node}) {
    if (offset == TorchLayout::absent || !read_vector(node + offset, hooks)) continue;
    for (const uint64_t hook : hooks) {
      await_hooks(node, known, hook, sink);
      expand_holder(hook, sink);
    }
  }
}

// For nested tensors, a node holds the tensor of their sizes.
void TorchProvider::expand_shapes(Address node, ReferenceSink& sink) {
  Address begin, count, sort, sizes;
  if (layout_.shape_bytes == TorchLayout::absent || !read(node, layout_.shapes_in_node, &begin)) return;
  if (!read(node, layout_.shapes_in_node + word_bytes, &count)) return;
  for (uint64_t i = 0; i < std::min<uint64_t>(static_cast<uint32_t>(count), most_outputs); ++i) {
    const Address shape = begin + i * layout_.shape_bytes;
    if (layout_.sort_in_shape == TorchLayout::absent || !reader_.read_word(shape + layout_.sort_in_shape, &sort))
      return;
    if ((sort & 0xFF) == 1 && read(shape, layout_.sizes_in_shape, &sizes) && class_of(sizes).what == TorchClass::tensor)
      refer(sink, sizes, labels::input_metadata);
  }
}

// A word that was never written, such as half of a scalar, may hold a tensor's address of long ago. Behind the tensor
// of a slot stands a shared pointer (to its tangents), and further on truths.
bool TorchProvider::is_marked(const std::vector<uint64_t>& words, size_t first, bool is_packed) {
  if (layout_.flags_in_slot >= layout_.slot_bytes || layout_.flags_in_slot < vector_words * word_bytes) return true;
  const uint64_t flags = words[first + layout_.flags_in_slot / word_bytes];
  if ((flags & not_truths) != 0) return false;
  if ((flags & truths) == 0 && !is_packed && class_of(words[first]).what == TorchClass::tensor) return false;
  const uint64_t tangents = words[first + 1], their_count = words[first + 2];
  return tangents == 0 ? their_count == 0 : looks_like_pointer(tangents) && looks_like_pointer(their_count);
}

bool TorchProvider::is_slot(const std::vector<uint64_t>& words, size_t first) {
  if (!is_tensor_or_none(class_of(words[first]).what)) return false;
  if (layout_.slot_bytes == TorchLayout::absent || layout_.slot_bytes < word_bytes) return false;
  if (first + layout_.slot_bytes / word_bytes > words.size()) return false;
  const auto at = [&](uint32_t offset) {
    return offset < layout_.slot_bytes ? words[first + offset / word_bytes] : uint64_t{0};
  };
  const uint64_t hooks = at(layout_.hooks_in_slot), node = at(layout_.grad_fn_in_slot),
                 accumulator = at(layout_.accumulator_in_slot);
  if (!is_marked(words, first, hooks != 0)) return false;
  return (hooks == 0 || class_of(hooks).what == TorchClass::saved_hooks || looks_like_pointer(hooks)) &&
         (node == 0 || is_node(class_of(node).what)) && (accumulator == 0 || looks_like_pointer(accumulator));
}

bool TorchProvider::has_slots(const std::vector<uint64_t>& words) {
  const size_t step = layout_.slot_bytes / word_bytes;
  if (layout_.slot_bytes == TorchLayout::absent || step == 0 || words.empty() || words.size() % step != 0) return false;
  for (size_t i = 0; i < words.size(); i += step)
    if (!is_slot(words, i)) return false;
  return true;
}

void TorchProvider::expand_slot(const uint64_t* slot, const char* name, int64_t index, ReferenceSink& sink) {
  const auto at = [&](uint32_t offset) {
    return offset < layout_.slot_bytes ? slot[offset / word_bytes] : uint64_t{0};
  };
  if (class_of(slot[0]).what == TorchClass::tensor) refer(sink, slot[0], name, index);
  expand_holder(at(layout_.hooks_in_slot), sink);
  if (const Address tangents = at(layout_.tangents_in_slot)) expand_tangents(tangents, sink);
  const Address node = at(layout_.grad_fn_in_slot), accumulator = at(layout_.accumulator_in_slot);
  if (is_node(class_of(node).what)) refer(sink, node, labels::saved_grad_fn);
  if (is_node(class_of(accumulator).what)) refer(sink, accumulator, labels::saved_accumulator);
}

void TorchProvider::expand_slots(const std::vector<uint64_t>& words, const char* name, ReferenceSink& sink) {
  const size_t step = layout_.slot_bytes / word_bytes;
  for (size_t i = 0; i * step < words.size(); ++i) expand_slot(&words[i * step], name, static_cast<int64_t>(i), sink);
}

// Since 2.13 a checkpoint keeps its inputs in slots of its own, each in a pybind11 object.
void TorchProvider::expand_saved_tensor(PyObject* object, ReferenceSink& sink) {
  const Address address = static_cast<Address>(reinterpret_cast<uintptr_t>(object));
  Address slot, ownership;
  if (!read(address, layout_.ownership_of_saved_tensor, &ownership) || (ownership & 1) == 0) return;
  if (layout_.slot_bytes == TorchLayout::absent || layout_.slot_bytes < word_bytes) return;
  if (!read(address, layout_.slot_in_saved_tensor, &slot)) return;
  std::vector<uint64_t> words(layout_.slot_bytes / word_bytes);
  if (reader_.read(slot, words.data(), words.size() * word_bytes) && is_slot(words, 0))
    expand_slot(words.data(), labels::saved_tensor, -1, sink);
}

// Returns the fields that a class of nodes adds to the common ones: slots, lists of slots, lists of tensors. A slot
// without a tensor counts, too.
std::vector<TorchProvider::Place> TorchProvider::places_of(Address node, const std::vector<uint64_t>& words) {
  std::vector<Place> places;
  std::vector<uint64_t> list;
  const auto is_any_tensor = [&](uint64_t word) { return is_tensor_or_none(class_of(word).what); };
  const auto begins_with_tensor = [&](Address list) {
    uint64_t first;
    return reader_.read_word(list, &first) && is_any_tensor(first);
  };
  const auto is_place = [&](const std::vector<uint64_t>& content) {
    return has_slots(content) || std::all_of(content.begin(), content.end(), is_any_tensor);
  };
  for (size_t i = layout_.slots_in_node / word_bytes; i < words.size();) {
    if (!looks_like_pointer(words[i])) {
      ++i;
    } else if (is_slot(words, i)) {
      places.push_back({i, {}});
      i += layout_.slot_bytes / word_bytes;
    } else if (begins_with_tensor(words[i]) && read_vector(node + i * word_bytes, list) && is_place(list)) {
      places.push_back({i, std::move(list)});
      i += vector_words;
    } else {
      ++i;
    }
  }
  return places;
}

// Labels the places by name if the class has as many names as places, in the same order.
void TorchProvider::expand_saved(Address node, const KnownClass& known, ReferenceSink& sink) {
  std::vector<uint64_t> words;
  if (layout_.slots_in_node == TorchLayout::absent || !read_block(node, words)) return;
  const std::vector<Place> places = places_of(node, words);
  const auto names = layout_.saved_names.find(known.name);
  const bool has_names = names != layout_.saved_names.end() && names->second.size() == places.size();
  for (size_t i = 0; i < places.size(); ++i) {
    const char* name = has_names ? names->second[i].c_str() : "saved";
    if (places[i].list.empty())
      expand_slot(&words[places[i].word], name, -1, sink);
    else if (has_slots(places[i].list))
      expand_slots(places[i].list, name, sink);
    else
      refer_to_all(sink, places[i].list, name);
  }
  // Other nodes hold nodes only by their edges; another pointer in them to a node does not own it.
  if (known.name != "CopySlices") return;
  for (size_t i = layout_.slots_in_node / word_bytes; i < words.size(); ++i)
    if (is_node(class_of(words[i]).what)) refer(sink, words[i], labels::replayed_operation);
}

void TorchProvider::refer_to_all(ReferenceSink& sink, const std::vector<uint64_t>& tensors, const char* name) {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (class_of(tensors[i]).what == TorchClass::tensor) refer(sink, tensors[i], name, static_cast<int64_t>(i));
}

// Python objects in small C++ ones: dicts of hooks, metadata, pack and unpack functions.
void TorchProvider::expand_holder(Address holder, ReferenceSink& sink) {
  const TorchClass what = class_of(holder).what;
  if (const char* label = hooks_label(what)) refer_to_object(sink, holder, layout_.dict_in_hook, label);
  if (what == TorchClass::metadata) refer_to_object(sink, holder, layout_.dict_in_metadata, labels::metadata);
  if (what != TorchClass::saved_hooks) return;
  refer_to_object(sink, holder, layout_.pack_in_hooks, labels::pack_hook);
  refer_to_object(sink, holder, layout_.unpack_in_hooks, labels::unpack_hook);
  refer_to_object(sink, holder, layout_.packed_in_hooks, labels::packed);
}

// Adds the hooks that a node's Python object will show.
void TorchProvider::await_hooks(Address node, const KnownClass& known, Address holder, ReferenceSink& sink) {
  Address shown, dict;
  const uint32_t owners = count_of(node);
  if (!layout_.are_nodes_coupled || owners < 2 || hooks_label(class_of(holder).what) == nullptr) return;
  if (!python_object_of(node, known, &shown) || !read(holder, layout_.dict_in_hook, &dict) || !is_object(dict)) return;
  sink.latent(static_cast<PyObject*>(pointer_to(shown)), static_cast<PyObject*>(pointer_to(dict)),
              {pointer_to(node), row_of(known, NodeKind::grad_node, node), owners - 1}, {});
}

}  // namespace gradlife::heap
