// The C++ class of an object, from its vtable's type information.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "heap_py/memory/page_cache.hpp"

namespace gradlife::heap {

class ClassNames {
 public:
  ClassNames();  // notes the addresses of the loaded libraries
  // Returns the mangled class name of an object whose first word is `vtable`; nullptr: not a vtable.
  const std::string* of_vtable(uint64_t vtable);
  // The same for an address that need not be an object's.
  const std::string* of_object(Address address);
  // Returns the readable names of that class, its first base, that one's first base and so on; empty: not a vtable.
  std::vector<std::string> lineage(uint64_t vtable);
  // Returns the mangled names of a vtable's class and of all its base classes.
  std::vector<std::string> ancestors(uint64_t vtable);
  static std::string readable(const std::string& mangled);  // "torch::autograd::PyNode"

  struct Range {
    Address first, last;
  };
  const std::vector<Range>& libraries() const { return libraries_; }
  bool is_in_library(Address address) const;

 private:
  std::string read_name(uint64_t vtable) const;
  std::string read_name_of(Address information) const;
  Address first_base(Address information);
  void add_bases(Address information, std::vector<Address>& into);

  MemoryReader reader_;           // of objects, which change
  PageCache library_memory_;      // of vtables and type information: constant, and read some 200,000 times in a process
                                  // with PyTorch
  std::vector<Range> libraries_;  // in order
  std::unordered_map<uint64_t, std::string> known_;  // empty: not a vtable
};

}  // namespace gradlife::heap
