#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "heap_py/native/thread_memory.hpp"

#include <algorithm>

#ifdef __linux__
#include <pthread.h>
#include <unistd.h>
#endif

namespace gradlife::heap {
namespace {

constexpr uint64_t page = 4096;
constexpr uint64_t control_block_bytes = page;  // glibc's own part at the top of a thread's stack, rounded up
constexpr uint64_t usual_stack = uint64_t{8} << 20;

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

// The offsets of the thread pointer from pthread_self(), and of the table of thread-local blocks in it.
#ifdef __x86_64__
constexpr uint64_t table_in_thread_pointer = 8;
uint64_t thread_pointer_distance() { return 0; }
#else
constexpr uint64_t table_in_thread_pointer = 0;
uint64_t thread_pointer_distance() {
  return static_cast<Address>(reinterpret_cast<uintptr_t>(__builtin_thread_pointer())) -
         static_cast<Address>(pthread_self());
}
#endif

// Returns the start of a library's thread-local block in one thread; 0: none, or not found.
Address find_locals(const MemoryReader& reader, Address control_block, const Library& library) {
  Address table, count, block;
  if (!reader.read_word(control_block + thread_pointer_distance() + table_in_thread_pointer, &table)) return 0;
  if (!looks_like_pointer(table) || !reader.read_word(table - 16, &count) || library.tls_number > count) return 0;
  if (!reader.read_word(table + 16 * library.tls_number, &block)) return 0;
  return looks_like_pointer(block) ? block : 0;
}

#else

Address find_locals(const MemoryReader&, Address, const Library&) { return 0; }

#endif

uint64_t this_process() {
#ifdef __linux__
  return static_cast<uint64_t>(getpid());
#else
  return 0;
#endif
}

}  // namespace

ThreadMemory::ThreadMemory(const MemoryMap& map, const Libraries& libraries, ScanArena& arena)
    : map_(map), libraries_(libraries), parts_(arena.memory()) {
  PyThreadState* caller = PyThreadState_Get();
  PyThreadState* thread = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
  for (; thread != nullptr; thread = PyThreadState_Next(thread)) {
    for (const _PyStackChunk* chunk = thread->datastack_chunk; chunk != nullptr; chunk = chunk->previous) {
      const auto first = static_cast<Address>(reinterpret_cast<uintptr_t>(chunk));
      add({first, first + chunk->size}, What::python_stack, thread->native_thread_id, nullptr);
    }
    if (thread->thread_id != 0)
      add_thread(static_cast<Address>(thread->thread_id), thread->native_thread_id, thread == caller);
  }
}

void ThreadMemory::add(AddressRange range, What what, uint64_t thread, const Library* library) {
  Part part;
  static_cast<AddressRange&>(part) = range;
  part.what = what;
  part.thread = thread;
  part.library = library;
  parts_.push_back(part);
}

void ThreadMemory::add_thread(Address control_block, uint64_t number, bool is_caller) {
  add_locals(control_block, number, is_caller);
  add_stack(control_block, number, is_caller);
}

// The loader tells the calling thread where its blocks are; if the table agrees, it is trusted for other threads.
void ThreadMemory::add_locals(Address control_block, uint64_t number, bool is_caller) {
  for (const Library& library : libraries_.all()) {
    if (library.tls_number == 0) continue;
    const Address found = is_caller ? library.own_tls : find_locals(reader_, control_block, library);
    if (found != 0) add({found, found + library.tls_bytes}, What::thread_local_data, number, &library);
  }
}

void ThreadMemory::add_stack(Address control_block, uint64_t number, bool is_caller) {
  const What what = is_caller ? What::own_stack : What::stack;
  if (number == this_process()) {
    for (const Mapping& mapping : map_.all())
      if (mapping.what == Mapping::What::stack) add(mapping, what, number, nullptr);
    return;
  }
  const Mapping* mapping = map_.find(control_block);
  if (mapping == nullptr) return;
  const Address last = std::min(mapping->last, (control_block + control_block_bytes + page - 1) & ~(page - 1));
  add({std::max(mapping->first, last > usual_stack * 8 ? last - usual_stack * 8 : 0), last}, what, number, nullptr);
}

// Stacks of threads that Python does not know follow a guard page.
bool ThreadMemory::is_behind_guard(Address address) const {
  const Mapping* mapping = map_.find(address);
  if (mapping == nullptr || mapping->what != Mapping::What::anonymous || address >= mapping->first + usual_stack)
    return false;
  const Mapping* guard = map_.before(*mapping);
  return guard != nullptr && guard->last == mapping->first && guard->last - guard->first == page && !guard->is_readable;
}

ThreadMemory::Place ThreadMemory::find(Address address) const {
  for (const Part& part : parts_)
    if (part.contains(address)) return {part.what, part.thread, part.library, part.first};
  return {};
}

std::string ThreadMemory::name_of(uint64_t thread) {
  if (thread == 0) return "a thread that Python does not know";
  return thread == this_process() ? "the main thread" : "thread " + std::to_string(thread);
}

}  // namespace gradlife::heap
