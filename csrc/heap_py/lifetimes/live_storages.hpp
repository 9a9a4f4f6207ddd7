// Torch's storages from birth to death. Each is held weakly, through its own weak count, so that its address is not
// reused while it is followed; its strong count tells when its memory was freed.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "heap_py/providers/torch/layout.hpp"

namespace gradlife::heap {

struct StorageRow {
  uint64_t address, data, bytes;  // when it was first seen
  uint64_t device;                // the type's number and the index, one byte each
};

struct StorageChange {
  enum class What { died, resized, moved } what;
  uint32_t storage;
  uint64_t value;  // from now on: the bytes, or the address of the data
};

class LiveStorages {
 public:
  // Error: std::runtime_error, if torch's layout is not known well enough.
  LiveStorages();
  LiveStorages(const LiveStorages&) = delete;
  LiveStorages& operator=(const LiveStorages&) = delete;

  static constexpr uint32_t unknown = UINT32_MAX;

  uintptr_t of_tensor(PyObject* object) const;  // the storage's address; 0: not a tensor, or one without a storage
  uint32_t find(uintptr_t storage) const;
  // Follows a storage from now on. Returns nothing if it has no memory.
  std::optional<uint32_t> follow(uintptr_t storage);
  // Follows a storage at an address from a walk, if it still exists.
  std::optional<uint32_t> follow_if_alive(uintptr_t storage);

  // The changes since the last call.
  const std::vector<StorageChange>& changes();

  // The bytes of these records, and of freed storages whose objects the weak counts keep.
  uint64_t own_bytes() const;

  // Every storage that was ever followed. Whoever stops following returns a weak reference of each.
  const std::vector<StorageRow>& rows() const { return rows_; }

 private:
  struct Live {
    uintptr_t address;
    uint64_t bytes, data;
    uint32_t storage;
  };

  const TorchLayout layout_;  // of the start: that in use may be replaced meanwhile
  std::unordered_map<uintptr_t, uint32_t> numbers_;
  std::vector<StorageRow> rows_;
  std::vector<Live> live_;
  std::vector<StorageChange> changes_;
};

}  // namespace gradlife::heap
