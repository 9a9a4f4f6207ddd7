// The description of torch's tensors and storages: dtype, sizes, device.
#pragma once

#include "heap_py/memory/page_cache.hpp"
#include "heap_py/providers/torch/layout.hpp"

namespace gradlife::heap {

class TorchDescriptions {
 public:
  TorchDescriptions(const TorchLayout& layout, const PageCache& reader) : layout_(layout), reader_(reader) {}
  std::string tensor(Address impl) const;      // "float32 [64, 32] cuda:0", without parts that cannot be read
  std::string storage(Address storage) const;  // "8192 bytes"
  std::string device(Address storage) const;   // "cuda:0"
  static std::string device_name(const TorchLayout& layout, uint64_t word);  // from its two bytes
  // Returns the bytes of its memory; 0 for storages that have a size only: meta storages, symbolic sizes, and those of
  // wrapper subclasses such as DTensor.
  uint64_t bytes(Address storage) const;

 private:
  bool read(Address object, uint32_t offset, uint64_t* word) const;
  std::string sizes(Address impl) const;

  const TorchLayout& layout_;
  const PageCache& reader_;
};

}  // namespace gradlife::heap
