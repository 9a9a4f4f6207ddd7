#include "heap_py/memory/allocation_size.hpp"

namespace gradlife::heap {
namespace {

constexpr uint64_t header_bytes =
    2 * sizeof(uint64_t);  // glibc: the previous chunk's size, and its own size with three flags
constexpr uint64_t previous_in_use = 1, is_mapped = 2, flags = 7;
constexpr uint64_t min_chunk = 32, largest_chunk = uint64_t{1} << 20, page = 4096;
// make_shared: a vtable and two counts of four bytes, then the object.
constexpr uint64_t control_bytes = 2 * sizeof(uint64_t);

bool is_chunk_size(uint64_t bytes) { return bytes >= min_chunk && bytes <= largest_chunk && bytes % 16 == 0; }

// Returns the usable bytes of the block that begins here; 0: no block. The next chunk must mark it as in use.
uint64_t block_bytes(const PageCache& reader, Address begin) {
  uint64_t word, next;
  if (begin % 16 != 0 || !reader.read_word(begin - sizeof(uint64_t), &word)) return 0;
  const uint64_t bytes = word & ~flags;
  if (!is_chunk_size(bytes)) return 0;
  if ((word & is_mapped) != 0) return begin % page == header_bytes && bytes % page == 0 ? bytes - header_bytes : 0;
  if (!reader.read_word(begin + bytes - sizeof(uint64_t), &next)) return 0;
  return (next & previous_in_use) != 0 && (next & ~flags) != 0 ? bytes - sizeof(uint64_t) : 0;
}

}  // namespace

uint64_t object_bytes(const PageCache& reader, Address object) {
  if (const uint64_t bytes = block_bytes(reader, object)) return bytes;
  const uint64_t shared = block_bytes(reader, object - control_bytes);
  return shared > control_bytes ? shared - control_bytes : 0;
}

}  // namespace gradlife::heap
