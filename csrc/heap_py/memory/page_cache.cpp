#include "heap_py/memory/page_cache.hpp"

#include <algorithm>
#include <cstring>

namespace gradlife::heap {

bool PageCache::read(Address address, void* into, size_t bytes) const {
  if (pages_.empty()) start();
  char* next = static_cast<char*>(into);
  while (bytes > 0) {
    const size_t offset = address % page_bytes;
    const size_t count = std::min(bytes, page_bytes - offset);
    const Address page = address - offset;
    if (!has(page)) return false;
    std::memcpy(next, copy_at(place_of(page)) + offset, count);
    address += count;
    next += count;
    bytes -= count;
  }
  return true;
}

void PageCache::forget() {
  pages_.release();
  unreadable_.release();
  frames_.release();
  copies_.release();
}

void PageCache::start() const {
  frames_.assign_zero(last_place_ / pages_in_group + 1);
  unreadable_.assign(last_place_ + 1, no_page);
  pages_.assign(last_place_ + 1, no_page);
}

// If not all pages can be read, those before the gap can.
bool PageCache::fill(Address page) const {
  const size_t place = place_of(page);
  uint32_t& frame = frames_[place / pages_in_group];
  if (frame == 0) {
    copies_.extend(group_bytes);
    frame = static_cast<uint32_t>(copies_.size() / group_bytes);
  }
  const size_t count = pages_in_group - place % pages_in_group;
  const size_t read = reader_.read_most(page, copy_at(place), count * page_bytes) / page_bytes;
  if (read == 0) {
    unreadable_[unreadable_place_of(page)] = page;
    return false;
  }
  for (size_t i = 0; i < count; ++i) pages_[place + i] = i < read ? page + i * page_bytes : no_page;
  return true;
}

}  // namespace gradlife::heap
