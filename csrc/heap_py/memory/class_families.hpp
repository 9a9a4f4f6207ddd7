// The family of a C++ class, as users of PyTorch know it, from its base classes.
#pragma once

#include <deque>

#include "heap_py/memory/class_names.hpp"

namespace gradlife::heap {

enum class Family : uint8_t { other, tensor, storage, grad_node, autograd_meta, hook, script };
const char* family_name(Family family);

// Returns the readable name of a class; for a shared_ptr's control block, that of the object in it:
// "torch::jit::Graph".
std::string readable_class(const std::string& mangled);

struct ClassRecord {
  const std::string* mangled = nullptr;
  Family family = Family::other;
  enum class Count : uint8_t { none, torch, engine };
  Count count = Count::none;  // where the object has its strong count: intrusive_ptr or the engine's Ptr
  bool is_in_place = false;   // a shared_ptr's counts with the object behind them, whose class the record describes
  std::string readable() const;
};

// A cache of every vtable seen, some ten thousand in a process with PyTorch. Valid until a library is loaded or
// unloaded.
class ClassTable {
 public:
  static ClassTable& current();  // needs the interpreter lock
  static constexpr uint32_t none = UINT32_MAX;
  uint32_t find(uint64_t vtable);  // its index in `records`, or none
  const ClassRecord& operator[](uint32_t place) const { return records_[place]; }
  size_t size() const { return records_.size(); }
  ClassNames& names() { return names_; }

 private:
  ClassRecord describe(uint64_t vtable, const std::string& mangled);

  ClassNames names_;
  std::deque<ClassRecord> records_;
  std::unordered_map<uint64_t, uint32_t> places_;  // by vtable
};

}  // namespace gradlife::heap
