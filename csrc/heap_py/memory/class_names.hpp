// The C++ class of an object, from its vtable's type information.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "heap_py/memory/memory_reader.hpp"

namespace gradlife::heap {

class ClassNames {
 public:
  ClassNames();  // notes where the loaded libraries lie
  // The mangled name of the class of an object whose first word is `vtable`; nullptr: it is no vtable.
  const std::string* of_vtable(uint64_t vtable);
  // The same for an object at an address that need not be one.
  const std::string* of_object(Address address);
  // The readable name of that class, then of its first base, and of that one's; empty: it is no vtable.
  std::vector<std::string> lineage(uint64_t vtable);
  // The mangled names of a vtable's class and of all classes that it derives from.
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

  MemoryReader reader_;
  std::vector<Range> libraries_;                     // in order
  std::unordered_map<uint64_t, std::string> known_;  // empty: no vtable
};

}  // namespace gradlife::heap
