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
  MemoryReader() = default;
  virtual ~MemoryReader() = default;
  MemoryReader(const MemoryReader&) = delete;
  MemoryReader& operator=(const MemoryReader&) = delete;
  static bool is_available();
  bool read(Address address, void* into, size_t bytes) const { return read_most(address, into, bytes) == bytes; }
  // Reads up to the first page that cannot be read.
  virtual size_t read_most(Address address, void* into, size_t bytes) const;
  // Reads one word at each address, in few system calls. A word that cannot be read is 0.
  virtual void read_words(const std::vector<Address>& addresses, std::vector<uint64_t>& words) const;
  bool read_word(Address address, uint64_t* word) const { return read(address, word, sizeof *word); }
};

// The same for a reader that reads all memory, and lives no longer than that. In a forked copy,
// process_vm_readv pins each page and so makes the kernel copy it; a read of /proc/self/mem does not.
class BulkMemoryReader final : public MemoryReader {
 public:
  BulkMemoryReader();
  ~BulkMemoryReader() override;
  size_t read_most(Address address, void* into, size_t bytes) const override;
  void read_words(const std::vector<Address>& addresses, std::vector<uint64_t>& words) const override;

 private:
  int file_ = -1;
};

// The end of the address space that the kernel gives to programs: 47 bits on x86-64, 48 on arm64.
constexpr uint64_t end_of_addresses(bool is_arm) { return uint64_t{1} << (is_arm ? 48 : 47); }
#ifdef __aarch64__
constexpr bool is_arm = true;
#else
constexpr bool is_arm = false;
#endif

// Whether a word may be the address of an object: aligned, and in the address space of programs.
constexpr bool looks_like_pointer(uint64_t word, uint64_t end = end_of_addresses(is_arm)) {
  return word >= 0x1000 && word < end && word % 8 == 0;
}

}  // namespace gradlife::heap
