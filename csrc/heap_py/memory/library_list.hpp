// The addresses of the loaded libraries.
#pragma once

#include <vector>

#include "heap_py/memory/memory_reader.hpp"

namespace gradlife::heap {

// The loader's list, read again when a library was loaded or unloaded. Needs the interpreter lock.
class LibraryList {
 public:
  struct Range {
    Address first, last;
  };

  static const LibraryList& current();
  // Call it in a forked copy, before which `current` was called: the list stays as it is. The loader's lock may be held
  // by a thread that does not exist in the copy, and would be waited for without end.
  static void keep();

  const std::vector<Range>& ranges() const { return ranges_; }  // in order
  uint64_t changes() const { return changes_; }                 // libraries loaded and unloaded so far
  bool contains(Address address) const;

 private:
  void read();

  std::vector<Range> ranges_;
  uint64_t changes_ = 0;
  bool is_kept_ = false;
};

}  // namespace gradlife::heap
