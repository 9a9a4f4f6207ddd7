// The memory of one thread: its C stack, its thread-local variables, the interpreter's own stack.
#pragma once

#include "heap_py/memory/memory_map.hpp"
#include "heap_py/native/libraries.hpp"

namespace gradlife::heap {

class ThreadMemory {
 public:
  enum class What : uint8_t { nothing, own_stack, python_stack, stack, thread_local_data };
  struct Place {
    What what = What::nothing;
    uint64_t thread = 0;               // its id in the system
    const Library* library = nullptr;  // for thread-local data
    Address first = 0;                 // its first address
  };
  // Needs the interpreter lock: the threads are those that it knows.
  ThreadMemory(const MemoryMap& map, const Libraries& libraries, ScanArena& arena);
  Place find(Address address) const;
  static std::string name_of(uint64_t thread);  // "the main thread", "thread 4711"
  bool is_behind_guard(Address address) const;  // guesses stacks of threads that Python does not know

 private:
  struct Part : AddressRange {
    What what = What::nothing;
    uint64_t thread = 0;
    const Library* library = nullptr;
  };
  void add_thread(Address control_block, uint64_t number, bool is_caller);
  void add_locals(Address control_block, uint64_t number, bool is_caller);
  void add_stack(Address control_block, uint64_t number, bool is_caller);
  void add(AddressRange range, What what, uint64_t thread, const Library* library);

  const MemoryMap& map_;
  const Libraries& libraries_;
  MemoryReader reader_;
  ScanVector<Part> parts_;  // the first one that contains an address is used
};

}  // namespace gradlife::heap
