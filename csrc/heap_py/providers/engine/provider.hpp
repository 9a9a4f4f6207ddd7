// The references of the mini engine's objects, through the capsule of its extension.
#pragma once

#include <map>

#include "base/heap_interface.hpp"
#include "heap_py/interpreter/provider.hpp"

namespace gradlife::heap {

class EngineProvider final : public Provider {
 public:
  // Returns the engine's interface if its extension is loaded in the same version; nullptr otherwise.
  static const HeapInterface* find_interface();

  explicit EngineProvider(const HeapInterface& engine) : engine_(engine) {}
  void start(Builder& builder) override;
  bool knows(PyTypeObject* type) override { return engine_.knows_type(type); }
  void expand_python(PyObject* object, ReferenceSink& sink) override;
  void expand_silent(PyObject* object, ReferenceSink& sink) override;
  bool owns_type(uint32_t type) const override { return type < is_own_.size() && is_own_[type]; }
  void expand_native(const void* object, uint32_t type, ReferenceSink& sink) override;
  int64_t native_owners(const void* object, uint32_t) override { return engine_.owners(object); }
  void find_natives(const std::function<void(const void* object, uint32_t type)>& tell) override;
  Label describe_edge(PyObject* source, PyObject* target) override;
  std::string describe_python(PyObject* object) override;
  std::string describe_native(const void* object, uint32_t type) override;
  uint64_t native_bytes(const void* object, uint32_t) override { return engine_.bytes(object); }
  const std::vector<std::string>& limits() const override { return limits_; }

 private:
  uint32_t type_of(const void* managed);
  void expand_latent(PyObject* object, ReferenceSink& sink);

  const HeapInterface& engine_;
  Builder* builder_ = nullptr;
  std::map<std::pair<uint8_t, std::string>, uint32_t> types_;  // by kind and name
  std::vector<bool> is_own_;                                   // by row
  std::vector<std::string> limits_;
};

}  // namespace gradlife::heap
