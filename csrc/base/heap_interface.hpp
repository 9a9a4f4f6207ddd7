// The interface between the engine and the heap walker, which is another extension: plain functions in a capsule. No
// function creates an object, runs code of the embedding language or changes a count.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradlife {

// The reference counting of an edge, in the order of Ownership: only `strong` and `coupled` keep their target. `index`:
// position among edges with the same label; -1: the only one.
struct HeapVisitor {
  void* state;
  void (*managed)(void* state, const char* label, const void* target, uint8_t ownership, int64_t index);
  void (*object)(void* state, const char* label, void* target, uint8_t ownership);
};

// The chain of one or two C++ objects from a wrapper to an object that its traverse visits. The wrapper's traverse goes
// through the chain only while nothing outside it owns the chain's objects.
struct HeapLatent {
  const void* between[2];
  uint32_t owners[2];  // the owners of each, except the wrapper, the object before it, and its own wrapper
};

struct HeapInterface {
  static constexpr uint32_t current_version = 6;
  static constexpr const char* capsule_name = "gradlife._engine._heap_interface";

  uint32_t version;
  bool (*knows_type)(const void* type);               // whether instances have an engine object behind them
  const void* (*object_behind)(const void* wrapper);  // nullptr: none, or none any more
  bool (*wrapper_owns)(const void* wrapper);          // whether the wrapper counts among that object's owners
  bool (*outlives_references)(const void* wrapper);   // whether the wrapper is kept while that object has other owners
  // References that a kept wrapper hides from the collector, and whether tp_clear drops them nevertheless.
  void (*visit_kept)(const void* wrapper, void (*visit)(void* state, void* object, bool is_taken), void* state);
  // References of a wrapper that the collector sees only once the other owners are gone.
  void (*visit_latent)(const void* wrapper, void (*visit)(void* state, void* object, const HeapLatent& latent),
                       void* state);
  // The object that dies with the wrapper although the impl holds it; nullptr: none.
  const void* (*goes_with)(const void* wrapper, const char** label);
  void (*visit)(const void* managed, const HeapVisitor& visitor);
  uint32_t (*owners)(const void* managed);
  void (*each_live)(void (*visit)(void* state, const void* managed), void* state);
  uint8_t (*kind)(const void* managed);      // a Kind
  const char* (*name)(const void* managed);  // "MulBackward0", "Storage"; lives as long as the process
  uint64_t (*bytes)(const void* managed);    // the memory of a storage
  size_t (*describe)(const void* managed, char* text, size_t size);  // "float32 [64, 32]"
};

}  // namespace gradlife
