// Records where a program's objects are created, by the blocks that they are allocated in: a hook in Python's allocator
// checks the requested sizes, and reads the stack if the size is one of interest. It keeps only addresses and numbers.
//
// A block's last note is that of the object in it, because every object of such a size passes here. That is not true of
// types that Python reuses without its allocator (list, dict, tuple, float): do not ask for these.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <array>
#include <cstdint>
#include <vector>

#include "heap_py/creations/call_sites.hpp"
#include "heap_py/creations/note_table.hpp"

namespace gradlife::heap {

// Offsets to find the grad node that a new tensor's operation made.
struct TensorWatch {
  std::vector<const PyTypeObject*> types;  // the wrappers' types, used for comparison only
  size_t bytes_before = 0;                 // bytes of their blocks before the object
  size_t sequence_in_node = 0;             // offset of the number that identifies a node
  uint64_t (*next_sequence)() = nullptr;   // the number that the thread's next node will get
};

struct NodeNote {
  uint64_t sequence;
  uint32_t site;
  uintptr_t table, count_at;  // of its virtual functions; the address of its use count, 0: unknown
};

class CreationRecorder {
 public:
  CreationRecorder(CallSites sites, TensorWatch tensors) : sites_(std::move(sites)), tensors_(std::move(tensors)) {}
  CreationRecorder(const CreationRecorder&) = delete;
  CreationRecorder& operator=(const CreationRecorder&) = delete;

  static constexpr size_t large = 64 * 1024;  // blocks from this size on are always noted

  void want(size_t bytes);  // blocks of this size are noted from now on
  void start();             // the caller holds the interpreter lock
  // Returns whether the hook is removed and the recorder may be destroyed. Otherwise it stays behind another hook,
  // idle.
  bool stop();

  // While it is paused, nothing is noted, and the note of a reused block is dropped.
  void rest();
  void resume(const void* end);  // stacks end at this frame; nullptr: at the outermost frame

  void settle();  // notes the last tensor's node, before the notes are read
  const CallSites& sites() const { return sites_; }
  const NoteTable<uint32_t>& blocks() const { return blocks_; }
  const NoteTable<NodeNote>& nodes() const { return nodes_; }
  uint64_t next_node() const { return tensors_.next_sequence != nullptr ? tensors_.next_sequence() : 0; }
  std::vector<uintptr_t> living_nodes(uint64_t first);  // from this number on; drops the notes of dead ones

 private:
  // The limit of notes of blocks and of nodes each: 13 MB in all. Three quarters of a power of two.
  static constexpr size_t max_notes = 3 * (size_t{1} << 16);
  static constexpr size_t largest_class = 4096, granule = 16;
  struct Pending {
    void* block = nullptr;
    uint32_t site = CallSites::unknown;
    uint64_t first = 0, end = 0;  // numbers of the nodes created since the previous note
  };

  static void* allocate(void* self, size_t bytes);
  static void* allocate_zeroed(void* self, size_t count, size_t bytes);
  static void* resize(void* self, void* block, size_t bytes);
  static void release(void* self, void* block);

  bool wants(size_t bytes) const {
    return bytes <= largest_class ? wanted_[(bytes + granule - 1) / granule] : bytes >= large;
  }
  void note(void* block, size_t bytes);
  void await_tensor(void* block, size_t bytes, uint32_t site);

  CallSites sites_;
  TensorWatch tensors_;
  PyMemAllocatorEx inner_{};
  bool is_on_ = false, is_resting_ = false, is_busy_ = false;
  std::array<bool, largest_class / granule + 1> wanted_{};
  NoteTable<uint32_t> blocks_{max_notes};
  NoteTable<NodeNote> nodes_{max_notes};
  Pending pending_;
  uint64_t sequence_ = 0;
  PyThreadState* thread_ = nullptr;
  PyInterpreterState* interpreter_ = nullptr;  // others may have locks of their own, and run at the same time
};

}  // namespace gradlife::heap
