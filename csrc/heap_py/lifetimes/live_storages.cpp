#include "heap_py/lifetimes/live_storages.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "heap_py/memory/memory_reader.hpp"

namespace gradlife::heap {
namespace {

constexpr uintptr_t weak_after_strong = 4;  // both counts are halves of one word
constexpr uintptr_t malloc_header = 8;
constexpr unsigned meta_device = 14;  // c10::DeviceType::Meta: sizes without memory

uint64_t word_at(uintptr_t address) {
  uint64_t word;
  std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
  return word;
}

// The size of an object's block in malloc's header before it; 0 if there is no such header.
uint64_t block_bytes(uintptr_t object) {
  constexpr uint64_t flags = 7, largest = 1024;
  uint64_t header;
  if (!MemoryReader().read_word(object - malloc_header, &header)) return 0;
  return (header & ~flags) <= largest ? header & ~flags : 0;
}

uint32_t count_at(uintptr_t address) { return __atomic_load_n(reinterpret_cast<uint32_t*>(address), __ATOMIC_ACQUIRE); }

void hold_weakly(uintptr_t strong) {
  __atomic_fetch_add(reinterpret_cast<uint32_t*>(strong + weak_after_strong), 1, __ATOMIC_RELAXED);
}

const TorchLayout& known_layout() {
  const TorchLayout* layout = torch_layout();
  if (layout == nullptr) throw std::runtime_error("torch's layout is not known");
  for (const uint32_t offset : {layout->impl_in_wrapper, layout->storage_in_impl, layout->count_in_target,
                                layout->bytes_in_storage, layout->data_in_storage, layout->device_in_storage})
    if (offset == TorchLayout::absent) throw std::runtime_error("torch's layout is not known: a storage's fields");
  if (layout->tensor_type == nullptr) throw std::runtime_error("torch's layout is not known: tensors");
  return *layout;
}

// The next `push_back` needs no memory.
template <class Row>
void make_room(std::vector<Row>& rows) {
  if (rows.size() == rows.capacity()) rows.reserve(std::max<size_t>(64, 2 * rows.size()));
}

}  // namespace

LiveStorages::LiveStorages() : layout_(known_layout()) {}

uintptr_t LiveStorages::of_tensor(PyObject* object) const {
  if (PyObject_TypeCheck(object, const_cast<PyTypeObject*>(layout_.tensor_type)) == 0) return 0;
  const uintptr_t impl = word_at(reinterpret_cast<uintptr_t>(object) + layout_.impl_in_wrapper);
  return impl != 0 ? word_at(impl + layout_.storage_in_impl) : 0;
}

uint32_t LiveStorages::find(uintptr_t storage) const {
  const auto at = numbers_.find(storage);
  return at == numbers_.end() ? unknown : at->second;
}

std::optional<uint32_t> LiveStorages::follow(uintptr_t storage) {
  const uint64_t bytes = word_at(storage + layout_.bytes_in_storage), data = word_at(storage + layout_.data_in_storage);
  const uint64_t device = word_at(storage + layout_.device_in_storage) & 0xffff;
  if (bytes == 0 || data == 0 || (device & 0xff) == meta_device) return std::nullopt;
  const auto number = static_cast<uint32_t>(rows_.size());
  // Nothing fails between the row and the weak reference that it stands for.
  make_room(live_);
  make_room(rows_);
  numbers_.emplace(storage, number);
  rows_.push_back({storage, data, bytes, device});
  live_.push_back({storage, bytes, data, number});
  hold_weakly(storage + layout_.count_in_target);
  return number;
}

std::optional<uint32_t> LiveStorages::follow_if_alive(uintptr_t storage) {
  std::vector<uint64_t> words;
  MemoryReader().read_words({storage, storage + layout_.count_in_target}, words);
  if (words.size() != 2 || words[0] == 0 || static_cast<uint32_t>(words[1]) == 0) return std::nullopt;
  return find(storage) == unknown ? follow(storage) : std::nullopt;
}

const std::vector<StorageChange>& LiveStorages::changes() {
  changes_.clear();
  for (size_t at = 0; at < live_.size();) {
    Live& one = live_[at];
    if (count_at(one.address + layout_.count_in_target) == 0) {
      changes_.push_back({StorageChange::What::died, one.storage, 0});
      one = live_.back();
      live_.pop_back();
      continue;
    }
    const uint64_t bytes = word_at(one.address + layout_.bytes_in_storage);
    const uint64_t data = word_at(one.address + layout_.data_in_storage);
    if (bytes != one.bytes) changes_.push_back({StorageChange::What::resized, one.storage, one.bytes = bytes});
    if (data != one.data) changes_.push_back({StorageChange::What::moved, one.storage, one.data = data});
    ++at;
  }
  return changes_;
}

uint64_t LiveStorages::own_bytes() const {
  constexpr uint64_t node = sizeof(std::pair<uintptr_t, uint32_t>) + 2 * sizeof(void*);
  uint64_t found = rows_.capacity() * sizeof(StorageRow) + live_.capacity() * sizeof(Live);
  found += numbers_.bucket_count() * sizeof(void*) + numbers_.size() * (node + malloc_header);
  return rows_.empty() ? found : found + (rows_.size() - live_.size()) * block_bytes(rows_.front().address);
}

}  // namespace gradlife::heap
