#include "heap_py/page_cache.hpp"

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
    std::memcpy(next, copies_.data() + place_of(page) * page_bytes + offset, count);
    address += count;
    next += count;
    bytes -= count;
  }
  return true;
}

void PageCache::forget() {
  pages_.release();
  unreadable_.release();
  copies_.release();
}

void PageCache::start() const {
  copies_.resize((last_place_ + 1) * page_bytes);
  unreadable_.assign_zero(last_place_ + 1);
  pages_.assign_zero(last_place_ + 1);
}

// Where not all of them can be read, those in front of the gap can.
bool PageCache::fill(Address page) const {
  const size_t place = place_of(page);
  const size_t count = std::min(pages_ahead, last_place_ + 1 - place);
  const size_t read = reader_.read_most(page, copies_.data() + place * page_bytes, count * page_bytes) / page_bytes;
  if (read == 0) {
    unreadable_[unreadable_place_of(page)] = page;
    return false;
  }
  for (size_t i = 0; i < count; ++i) pages_[place + i] = i < read ? page + i * page_bytes : 0;
  return true;
}

}  // namespace gradlife::heap
