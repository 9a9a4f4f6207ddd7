// The native scan for holders of unexplained references: it searches memory for an object's address and follows
// pointers outwards, block by block, until it reaches something with a name.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "heap_py/memory/class_names.hpp"
#include "heap_py/native/blocks.hpp"
#include "heap_py/native/thread_memory.hpp"
#include "heap_py/native/word_search.hpp"
#include "heapgraph/graph/graph.hpp"

namespace gradlife::heap {

enum class Confidence : uint8_t {
  sure,    // each step is verified by type information, a library's tables or a known object
  likely,  // a block on the path is known only by its use
  unsure   // the word may be a copy that owns nothing
};
const char* confidence_name(Confidence confidence);

struct NativeHolder {
  enum class End : uint8_t { object, static_data, thread_local_data, stack, block };
  uint32_t target = 0;  // the target's number
  End end = End::block;
  std::string description;  // from the outside in: "SinBackward0 +232 → PyFunctionPostHook +8"
  std::string library;      // for static and thread-local data
  std::string symbol;       // the symbol of that data, if the library's file names it
  Confidence confidence = Confidence::unsure;
  NodeId node = no_node;  // for an object
};
const char* end_name(NativeHolder::End end);

// Linux with glibc, on x86-64 and arm64. Needs the interpreter lock; creates no Python object and runs no Python code.
class NativeScan {
 public:
  static const char* why_not();  // nullptr, or one sentence why it cannot work here
  // Error: std::bad_alloc, std::runtime_error (see `why_not`). The graph must have its referrers.
  explicit NativeScan(const Graph& graph);
  void add_target(Address object) { targets_.push_back(object); }
  void add_native_target(Address object);  // a C++ object; one scan has Python or C++ targets, not both
  std::vector<NativeHolder> run();         // call once
  uint64_t bytes_read() const { return search_.bytes_read(); }

 private:
  // A possible holder: the end of a path from a word outwards. It has no text, because the scan allocates only in its
  // arena.
  struct Offer {
    NativeHolder::End end = NativeHolder::End::block;
    Confidence confidence = Confidence::unsure;
    uint32_t item = 0;
    Address at = 0;                    // the outermost word
    const Library* library = nullptr;  // for static and thread-local data
    Address locals = 0;                // where thread-local data begins
    uint64_t thread = 0;
    NodeId node = no_node;
    bool is_function = false;
  };
  // A word that contains a target's address, and the best holder found for it.
  struct Origin {
    uint32_t target;
    bool is_closed = false;  // explained, stale, or named
    bool has_offer = false;
    bool is_stale = false;   // found where a reference would be known; reported only if a holder is found
    uint32_t item = 0;       // the first block on the path
    uint32_t outermost = 0;  // the last C++ object
    Offer best;
  };
  enum class Shape : uint8_t { target, block, vector, map_node, captures };
  // A block on the path from a target outwards. The first items are the targets themselves.
  struct Item : AddressRange {
    Shape shape = Shape::block;
    bool is_stale = false;              // its reference is behind the end of a vector
    bool is_function = false;           // its inward reference belongs to a std::function
    const std::string* name = nullptr;  // its mangled class name
    uint32_t inner = 0;                 // the item that it refers to
    uint32_t origin = 0;
    uint64_t offset = 0;  // the offset of that reference
    Confidence confidence = Confidence::sure;
  };
  struct Seeker {  // looks for words with this address on behalf of an item
    Address address;
    uint32_t item;
  };
  struct Arrival {  // a word that refers to an item
    Address at;
    uint32_t item;
    Block block;
    bool is_function = false;
    NodeId node = no_node;  // the known object in the block, if any
  };

  void note_static_types();
  void search(uint32_t level);
  void arrive(Address at, uint32_t item, uint32_t level);
  void arrive_in_process(Address at, uint32_t item, uint32_t level);
  void find_nodes(ScanVector<Arrival>& arrivals);
  void settle(const Arrival& arrival, uint32_t level);
  void settle_node(const Arrival& arrival, uint32_t origin);
  bool is_inside(const Arrival& arrival) const;
  bool is_unused(const Arrival& arrival) const;
  Confidence confidence_of(const Arrival& arrival) const;
  void add_block(const Arrival& arrival, uint32_t origin);
  bool climb_tree(uint32_t item);
  uint32_t origin_of(uint32_t item, uint32_t level);
  bool read_shape(Address at, Item& inner, bool* is_function);
  void close_level();
  void offer(uint32_t origin, Offer offer);
  void offer_block(uint32_t origin);
  NativeHolder describe(const Origin& origin) const;
  std::string outermost_text(const Offer& offer, const std::string& symbol) const;
  std::string item_text(const Item& item) const;
  bool is_own(Address address) const {  // whether it is static data or code of this library
    return own_library_ != nullptr && libraries_.library_of(address) == own_library_;
  }
  bool is_dead_object(const Block& block) const;
  bool is_unused_pool(const Block& block) const;
  int plain_blocks(uint32_t item) const;  // counts unknown blocks on the path inwards
  bool is_plain(uint32_t item) const;
  bool is_owned_by_target(const Arrival& arrival, const std::string& name) const;
  bool is_no_holder(const Arrival& arrival, const std::string& name) const;
  bool is_trusted(PyTypeObject* type) const;
  bool explains(NodeId node, Address target) const;
  bool has_class(uint32_t item) const;
  bool would_show(NodeId node) const;
  bool is_back_pointer(NodeId node, uint32_t target) const;
  NodeId static_type_at(Address address) const;
  bool is_weak_list(Address at, Address target) const;
  bool is_in_short_text(Address at) const;
  bool is_behind_long_text(Address at) const;

  const Graph& graph_;
  ScanArena arena_;
  MemoryMap map_;
  Libraries libraries_;
  ThreadMemory threads_;
  PythonBlocks python_blocks_;
  MallocBlocks malloc_blocks_;
  ClassNames names_;
  MemoryReader reader_;
  MemorySearch search_;
  const Library* own_library_ = nullptr;
  bool is_for_natives_ = false;
  ScanVector<NodeId> static_types_;  // in order
  ScanVector<Address> targets_;
  ScanVector<NodeId> target_nodes_;
  ScanVector<Origin> origins_;
  ScanVector<Item> items_;
  ScanVector<Seeker> seekers_;
  ScanVector<Arrival> arrivals_;
};

}  // namespace gradlife::heap
