#include "heap_py/creations/recorder.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "heap_py/interpreter/interpreter.h"
#include "heap_py/memory/memory_reader.hpp"
#include "heap_py/providers/torch/layout.hpp"

namespace gradlife::heap {
namespace {

constexpr uintptr_t count_in_block = 8;
constexpr uint32_t max_owners = 1 << 24;

uintptr_t word_at(uintptr_t address) {
  uintptr_t word;
  std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
  return word;
}

// Returns where a node's owner count is: in the node, or in the control block of a tensor's shared pointer.
uintptr_t count_of(uintptr_t node, uintptr_t meta, const TorchLayout& layout) {
  if (!layout.are_nodes_coupled) return word_at(meta + layout.node_in_meta + sizeof(uintptr_t)) + count_in_block;
  return layout.count_in_target == TorchLayout::absent ? 0 : node + layout.count_in_target;
}

// Whether the low half of a word may be a count, which has a limit of owners.
bool is_count(uint64_t word) { return static_cast<uint32_t>(word) - 1 < max_owners; }

}  // namespace

void CreationRecorder::want(size_t bytes) {
  if (bytes <= largest_class) wanted_[(bytes + granule - 1) / granule] = true;
}

void CreationRecorder::start() {
  thread_ = PyThreadState_Get();
  interpreter_ = PyThreadState_GetInterpreter(thread_);
  if (tensors_.next_sequence != nullptr) sequence_ = tensors_.next_sequence();
  PyMem_GetAllocator(PYMEM_DOMAIN_OBJ, &inner_);
  PyMemAllocatorEx hook{this, allocate, allocate_zeroed, resize, release};
  is_on_ = true;
  PyMem_SetAllocator(PYMEM_DOMAIN_OBJ, &hook);
}

bool CreationRecorder::stop() {
  is_on_ = false;
  pending_ = {};
  PyMemAllocatorEx now;
  PyMem_GetAllocator(PYMEM_DOMAIN_OBJ, &now);
  if (now.ctx != this) return false;
  PyMem_SetAllocator(PYMEM_DOMAIN_OBJ, &inner_);
  return true;
}

void CreationRecorder::rest() {
  settle();
  is_resting_ = true;
}

void CreationRecorder::resume(const void* end) {
  sites_.end_at(end);
  is_resting_ = false;
  if (tensors_.next_sequence != nullptr) sequence_ = tensors_.next_sequence();
}

void* CreationRecorder::allocate(void* self, size_t bytes) {
  auto* recorder = static_cast<CreationRecorder*>(self);
  void* block = recorder->inner_.malloc(recorder->inner_.ctx, bytes);
  if (recorder->wants(bytes) && block != nullptr) recorder->note(block, bytes);
  return block;
}

void* CreationRecorder::allocate_zeroed(void* self, size_t count, size_t bytes) {
  auto* recorder = static_cast<CreationRecorder*>(self);
  void* block = recorder->inner_.calloc(recorder->inner_.ctx, count, bytes);
  if (block != nullptr && recorder->wants(count * bytes)) recorder->note(block, count * bytes);
  return block;
}

void* CreationRecorder::resize(void* self, void* block, size_t bytes) {
  auto* recorder = static_cast<CreationRecorder*>(self);
  if (block == recorder->pending_.block) recorder->pending_.block = nullptr;
  void* moved = recorder->inner_.realloc(recorder->inner_.ctx, block, bytes);
  if (block == nullptr && moved != nullptr && recorder->wants(bytes)) recorder->note(moved, bytes);
  return moved;
}

void CreationRecorder::release(void* self, void* block) {
  auto* recorder = static_cast<CreationRecorder*>(self);
  if (block == recorder->pending_.block) recorder->pending_.block = nullptr;
  recorder->inner_.free(recorder->inner_.ctx, block);
}

void CreationRecorder::note(void* block, size_t bytes) {
  PyThreadState* thread = gl_current_thread();
  if (thread == nullptr || PyThreadState_GetInterpreter(thread) != interpreter_) return;
  if (!is_on_ || is_busy_) return;
  const auto address = reinterpret_cast<uintptr_t>(block);
  if (is_resting_) {
    blocks_.erase(address);
    return;
  }
  is_busy_ = true;
  try {
    settle();
    const uint32_t site = sites_.current();
    if (site == CallSites::unknown) {
      blocks_.erase(address);
    } else {
      blocks_.keep(address, site);
    }
    await_tensor(block, bytes, site);
  } catch (...) {  // memory is short: no note is better than one that may be wrong
    blocks_.erase(address);
  }
  is_busy_ = false;
}

void CreationRecorder::await_tensor(void* block, size_t bytes, uint32_t site) {
  if (tensors_.next_sequence == nullptr || gl_current_thread() != thread_) return;
  const uint64_t first = sequence_;
  sequence_ = tensors_.next_sequence();
  if (first == sequence_ || site == CallSites::unknown || bytes > largest_class) return;
  // Clears the type, which the collector may read before it is set.
  std::memset(block, 0, std::min(bytes, tensors_.bytes_before + sizeof(PyObject)));
  pending_ = {block, site, first, sequence_};
}

// Notes the node of the last tensor, which is complete by now. The node belongs to its operation if it was created
// since the previous note: a wrapper may also be created for an old tensor, and an in-place operation gives a node to
// one whose block was noted earlier.
void CreationRecorder::settle() {
  const Pending pending = pending_;
  pending_.block = nullptr;
  const TorchLayout* layout = torch_layout();
  if (pending.block == nullptr || layout == nullptr) return;
  for (const uint32_t offset : {layout->impl_in_wrapper, layout->meta_in_impl, layout->node_in_meta})
    if (offset == TorchLayout::absent) return;
  const uintptr_t object = reinterpret_cast<uintptr_t>(pending.block) + tensors_.bytes_before;
  const uintptr_t type = word_at(object + offsetof(PyObject, ob_type));
  const auto is_type = [&](const PyTypeObject* known) { return reinterpret_cast<uintptr_t>(known) == type; };
  if (std::none_of(tensors_.types.begin(), tensors_.types.end(), is_type)) return;
  const uintptr_t impl = word_at(object + layout->impl_in_wrapper);
  const uintptr_t meta = impl != 0 ? word_at(impl + layout->meta_in_impl) : 0;
  const uintptr_t node = meta != 0 ? word_at(meta + layout->node_in_meta) : 0;
  const uint64_t sequence = node != 0 ? word_at(node + tensors_.sequence_in_node) : 0;
  if (node != 0 && sequence >= pending.first && sequence < pending.end)
    nodes_.keep(node, {sequence, pending.site, word_at(node), count_of(node, meta, *layout)});
}

// Freed memory may be unmapped, hold something else by now, or still look like the node: then it has no owners.
std::vector<uintptr_t> CreationRecorder::living_nodes(uint64_t first) {
  settle();
  std::vector<Address> places;
  std::vector<uintptr_t> known;
  nodes_.visit([&](uintptr_t node, const NodeNote& note) {
    known.push_back(node);
    places.insert(places.end(), {node, node + tensors_.sequence_in_node, note.count_at});
  });
  std::vector<uint64_t> words;
  MemoryReader().read_words(places, words);
  std::vector<uintptr_t> living;
  for (size_t i = 0; i < known.size(); ++i) {
    const NodeNote note = *nodes_.find(known[i]);
    const uint64_t* found = &words[3 * i];
    if (found[0] != note.table || found[1] != note.sequence || (note.count_at != 0 && !is_count(found[2])))
      nodes_.erase(known[i]);
    else if (note.sequence >= first)
      living.push_back(known[i]);
  }
  return living;
}

}  // namespace gradlife::heap
