// Reads memory that may be unmapped: an unmapped page is an answer, not a crash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gradlife::heap {

using Address = uint64_t;

// Linux: process_vm_readv on this process. Elsewhere, or if the kernel forbids it, nothing can be read.
class MemoryReader {
 public:
  static bool is_available();
  bool read(Address address, void* into, size_t bytes) const { return read_most(address, into, bytes) == bytes; }
  // Reads up to the first page that cannot be read.
  size_t read_most(Address address, void* into, size_t bytes) const;
  // Reads one word at each address, in few system calls. A word that cannot be read is 0.
  void read_words(const std::vector<Address>& addresses, std::vector<uint64_t>& words) const;
  bool read_word(Address address, uint64_t* word) const { return read(address, word, sizeof *word); }
};

// Whether a word may be the address of an object: aligned, and in the address space of programs.
inline bool looks_like_pointer(uint64_t word) { return word >= 0x1000 && word < (uint64_t{1} << 47) && word % 8 == 0; }

}  // namespace gradlife::heap
