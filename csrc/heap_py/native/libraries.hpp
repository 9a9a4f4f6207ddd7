// The variables of the loaded libraries: static data, and where each keeps its thread-local part.
#pragma once

#include <string>

#include "heap_py/memory/private_arena.hpp"

namespace gradlife::heap {

struct Library {
  std::string path;
  Address base = 0;         // the load address, added to its file's addresses
  uint64_t tls_number = 0;  // 0: no thread-local variables
  uint64_t tls_bytes = 0;
  Address own_tls = 0;  // of the calling thread; 0: not used by it yet
  bool is_python = false;
  bool is_libc = false;
  std::string name() const;  // "libtorch_cpu.so"
};

class Libraries {
 public:
  Libraries();
  const std::vector<Library>& all() const { return libraries_; }
  // Returns the library with this static data, or nullptr.
  const Library* owner_of(Address address) const;
  const Library* library_of(Address address) const;  // the same for its code and constants
  // Whether the address is in the code or data of the interpreter's own library.
  bool is_python(Address address) const;
  // Returns the variable that contains an address: "torch::autograd::default_hooks". "" if the library does not export
  // it and has no full symbol table.
  std::string symbol_at(Address address) const;
  static std::string thread_local_symbol(const Library& library, Address offset);  // offset in the library's part

 private:
  struct Segment : AddressRange {
    size_t library = 0;
    bool is_writable = false;
  };
  const Segment* segment_of(Address address) const;

  std::vector<Library> libraries_;
  std::vector<Segment> segments_;  // in order
};

}  // namespace gradlife::heap
