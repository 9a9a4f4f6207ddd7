// The C++ class of an object, from its vtable's type information.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "heap_py/memory/library_list.hpp"
#include "heap_py/memory/page_cache.hpp"

namespace gradlife::heap {

class ClassNames {
 public:
  ClassNames() : libraries_(LibraryList::current()) {}  // knows the libraries that are loaded now
  // Returns the mangled class name of an object whose first word is `vtable`; nullptr: not a vtable.
  const std::string* of_vtable(uint64_t vtable);
  // The same for an address that need not be an object's.
  const std::string* of_object(Address address);
  // Returns the readable names of that class and of its bases at the same address, each before its own bases; empty:
  // not a vtable.
  std::vector<std::string> lineage(uint64_t vtable);
  // Returns the mangled names of a vtable's class and of all its base classes.
  std::vector<std::string> ancestors(uint64_t vtable);
  static std::string readable(const std::string& mangled);  // "torch::autograd::PyNode"

  const LibraryList& libraries() const { return libraries_; }

 private:
  std::string read_name(uint64_t vtable) const;
  std::string read_name_of(Address information) const;
  enum class Bases { all, at_its_address };
  void add_bases(Address information, Bases wanted, std::vector<Address>& into);

  MemoryReader reader_;       // of objects, which change
  PageCache library_memory_;  // of vtables and type information: constant, and read some 200,000 times in a process
                              // with PyTorch
  const LibraryList libraries_;
  std::unordered_map<uint64_t, std::string> known_;  // empty: not a vtable
};

}  // namespace gradlife::heap
