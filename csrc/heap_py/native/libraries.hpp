// The loaded libraries' own variables: static data, and where each keeps its thread-local part.
#pragma once

#include <string>

#include "heap_py/memory/private_arena.hpp"

namespace gradlife::heap {

struct Library {
  std::string path;
  Address base = 0;         // what its file's addresses count from
  uint64_t tls_number = 0;  // 0: it has no thread-local variables
  uint64_t tls_bytes = 0;
  Address own_tls = 0;  // of the calling thread; 0: it has not touched them
  bool is_python = false;
  bool is_libc = false;
  std::string name() const;  // "libtorch_cpu.so"
};

class Libraries {
 public:
  Libraries();
  const std::vector<Library>& all() const { return libraries_; }
  // Whose static data, or nullptr.
  const Library* owner_of(Address address) const;
  const Library* library_of(Address address) const;  // the same for its code and constants
  // Returns whether this is code or data of the interpreter's own library.
  bool is_python(Address address) const;
  // The variable that an address lies in: "torch::autograd::default_hooks". "" where the library neither exports it nor
  // has kept the names of what it does not.
  std::string symbol_at(Address address) const;
  static std::string thread_local_symbol(const Library& library, Address offset);  // in the library's part

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
