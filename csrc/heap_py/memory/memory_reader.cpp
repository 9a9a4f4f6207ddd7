#include "heap_py/memory/memory_reader.hpp"

#ifdef __linux__
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>
#endif

#include <algorithm>

namespace gradlife::heap {

#ifdef __linux__

namespace {

iovec piece(void* start, size_t bytes) { return {start, bytes}; }
void* pointer(Address address) { return reinterpret_cast<void*>(static_cast<uintptr_t>(address)); }

}  // namespace

bool MemoryReader::is_available() {
  uint64_t word = 42, copy = 0;
  return MemoryReader().read(static_cast<Address>(reinterpret_cast<uintptr_t>(&word)), &copy, sizeof copy) &&
         copy == 42;
}

size_t MemoryReader::read_most(Address address, void* into, size_t bytes) const {
  const iovec local = piece(into, bytes), remote = piece(pointer(address), bytes);
  const ssize_t count = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
  return count > 0 ? static_cast<size_t>(count) : 0;
}

BulkMemoryReader::BulkMemoryReader() : file_(open("/proc/self/mem", O_RDONLY | O_CLOEXEC)) {}
BulkMemoryReader::~BulkMemoryReader() {
  if (file_ >= 0) close(file_);
}
size_t BulkMemoryReader::read_most(Address address, void* into, size_t bytes) const {
  if (file_ < 0) return MemoryReader::read_most(address, into, bytes);
  const ssize_t count = pread(file_, into, bytes, static_cast<off_t>(address));
  return count > 0 ? static_cast<size_t>(count) : 0;
}
void BulkMemoryReader::read_words(const std::vector<Address>& addresses, std::vector<uint64_t>& words) const {
  if (file_ < 0) return MemoryReader::read_words(addresses, words);
  words.assign(addresses.size(), 0);
  for (size_t i = 0; i < addresses.size(); ++i)
    if (!read_word(addresses[i], &words[i])) words[i] = 0;
}

void MemoryReader::read_words(const std::vector<Address>& addresses, std::vector<uint64_t>& words) const {
  constexpr size_t max_pieces = 512;  // IOV_MAX is 1024
  words.assign(addresses.size(), 0);
  iovec into[max_pieces], from[max_pieces];
  for (size_t start = 0; start < addresses.size();) {
    const size_t count = std::min(max_pieces, addresses.size() - start);
    for (size_t i = 0; i < count; ++i) {
      into[i] = piece(&words[start + i], sizeof(uint64_t));
      from[i] = piece(pointer(addresses[start + i]), sizeof(uint64_t));
    }
    const ssize_t bytes = process_vm_readv(getpid(), into, count, from, count, 0);
    const size_t done = bytes > 0 ? static_cast<size_t>(bytes) / sizeof(uint64_t) : 0;
    start += done + (done < count ? 1 : 0);  // skips the piece that cannot be read
  }
}

#else

bool MemoryReader::is_available() { return false; }
void MemoryReader::read_words(const std::vector<Address>& addresses, std::vector<uint64_t>& words) const {
  words.assign(addresses.size(), 0);
}
size_t MemoryReader::read_most(Address, void*, size_t) const { return 0; }
BulkMemoryReader::BulkMemoryReader() = default;
BulkMemoryReader::~BulkMemoryReader() = default;
size_t BulkMemoryReader::read_most(Address, void*, size_t) const { return 0; }
void BulkMemoryReader::read_words(const std::vector<Address>& addresses, std::vector<uint64_t>& words) const {
  words.assign(addresses.size(), 0);
}

#endif

}  // namespace gradlife::heap
