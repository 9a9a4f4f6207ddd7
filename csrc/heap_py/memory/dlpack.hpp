// DLPack: how libraries exchange memory. A capsule, or its consumer, holds a structure with a word for the producer,
// who keeps the memory's owner there. The layout is public and stable.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstring>

#include "heap_py/memory/memory_reader.hpp"

namespace gradlife::heap {

enum class DLPack : uint8_t { none, plain, versioned };

// Returns the contents of a capsule; nothing once they were consumed, which changes its name.
template <class Reader>
DLPack dlpack_of(const Reader& reader, PyObject* capsule, Address* structure) {
  struct Name {
    const char* text;
    DLPack sort;
  };
  // The last two are numpy's, for capsules that it has consumed.
  static constexpr Name names[] = {{"dltensor", DLPack::plain},
                                   {"dltensor_versioned", DLPack::versioned},
                                   {"numpy_dltensor", DLPack::plain},
                                   {"numpy_dltensor_versioned", DLPack::versioned}};
  const char* name = PyCapsule_GetName(capsule);
  for (const Name& known : names) {
    char found[32];
    const size_t bytes = std::strlen(known.text) + 1;
    if (name == nullptr || !reader.read(reinterpret_cast<uintptr_t>(name), found, bytes)) continue;
    if (std::memcmp(found, known.text, bytes) != 0) continue;
    *structure = reinterpret_cast<uintptr_t>(PyCapsule_GetPointer(capsule, name));
    return known.sort;
  }
  return DLPack::none;
}

// The producer's word.
template <class Reader>
bool read_maker(const Reader& reader, Address structure, DLPack sort, Address* maker) {
  constexpr Address maker_in_plain = 48, maker_in_versioned = 8;
  if (sort == DLPack::none || !looks_like_pointer(structure)) return false;
  const Address offset = sort == DLPack::plain ? maker_in_plain : maker_in_versioned;
  return reader.read_word(structure + offset, maker) && looks_like_pointer(*maker);
}

}  // namespace gradlife::heap
