#include <array>

#include "heap_py/native/blocks.hpp"

namespace gradlife::heap {
namespace {

constexpr uint64_t pool_bytes = 1 << 14;
constexpr uint64_t header_bytes = 48;

// Layouts of CPython 3.10 to 3.14 with its own allocator.
struct PoolHeader {
  uint32_t count;
  uint32_t padding;
  uint64_t free_block;
  uint64_t next, previous;
  uint32_t arena;
  uint32_t size_class;
  uint32_t next_offset, last_offset;
};
static_assert(sizeof(PoolHeader) == header_bytes, "as CPython lays it out");

using Pool = std::array<uint64_t, pool_bytes / sizeof(uint64_t)>;

bool is_pool(const PoolHeader& header) {
  const uint64_t bytes = (uint64_t{header.size_class} + 1) * 16;
  return header.size_class < 32 && header.last_offset == pool_bytes - bytes && header.next_offset >= header_bytes &&
         header.next_offset <= pool_bytes && header.count <= (pool_bytes - header_bytes) / bytes;
}

// Free blocks are linked through their first words; blocks after `next_offset` were never used.
bool is_free(const Pool& pool, const PoolHeader& header, Address start, Address block) {
  if (block - start >= header.next_offset) return true;
  Address at = header.free_block;
  for (size_t steps = 0; steps < pool.size() && at >= start + header_bytes && at < start + pool_bytes; ++steps) {
    if (at == block) return true;
    at = pool[(at - start) / sizeof(uint64_t)];
  }
  return false;
}

}  // namespace

std::optional<Block> PythonBlocks::find(Address address) const {
  const Address start = address & ~(pool_bytes - 1);
  PoolHeader header;
  if (address < start + header_bytes || !reader_.read(start, &header, sizeof header) || !is_pool(header))
    return std::nullopt;
  const uint64_t bytes = (uint64_t{header.size_class} + 1) * 16;
  const Address first = start + header_bytes + (address - start - header_bytes) / bytes * bytes;
  Pool pool;
  if (first + bytes > start + pool_bytes || !reader_.read(start, pool.data(), pool_bytes)) return std::nullopt;
  Block block;
  block.first = first;
  block.last = first + bytes;
  block.is_free = is_free(pool, header, start, first);
  return block;
}

}  // namespace gradlife::heap
