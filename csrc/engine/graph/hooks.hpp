// The engine's interface to hooks: callables that may own objects of the embedding language.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/policy/managed.hpp"
#include "engine/tensor/tensor.hpp"

namespace gradlife {

// A hook on a tensor's gradient (argument and result: that gradient) or on all gradients of a node.
class GradHook {
 public:
  virtual ~GradHook() = default;
  virtual void visit_owned(OwnedVisitor& visitor) const = 0;
  // The object that the collector may traverse (a dict of callables), or nullptr.
  virtual Object* traversable() const { return nullptr; }
  const uint64_t number = ++registered;  // up to 1.13 hooks are called in the order of their registration

 private:
  inline static uint64_t registered = 0;
};

class TensorHook : public GradHook {
 public:
  virtual Tensor call(Tensor gradient) = 0;
};

class NodePreHook : public GradHook {
 public:
  virtual TensorList call(TensorList gradients) = 0;
};

class NodePostHook : public GradHook {
 public:
  virtual TensorList call(TensorList outputs, const TensorList& inputs) = 0;
};

class PostAccumulateHook : public GradHook {
 public:
  virtual void call(const Tensor& variable) = 0;
};

// The pack and unpack callables of one saved slot, and the packed value.
class SavedHooks {
 public:
  virtual ~SavedHooks() = default;
  virtual void pack(const Tensor& tensor) = 0;
  virtual Tensor unpack() = 0;
  virtual Object* packed() const = 0;           // borrowed; nullptr before pack
  virtual Object* unpack_callable() const = 0;  // borrowed
  virtual void visit_owned(OwnedVisitor& visitor) const = 0;

 protected:
  LiveCount<Kind::hook> count_;
};

// Return this thread's default hooks from the embedding language, or nullptr.
using DefaultHooks = std::unique_ptr<SavedHooks> (*)();
// Capture this thread's default hooks. Calling the result in another thread installs them there.
using CopyDefaultHooks = std::function<void()> (*)();
void install_default_hooks(DefaultHooks source, CopyDefaultHooks copy);
std::function<void()> copy_of_default_hooks();
std::unique_ptr<SavedHooks> default_saved_hooks();

}  // namespace gradlife
