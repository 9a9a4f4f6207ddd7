// The backward graph: nodes, edges, and the pointers between them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/graph/hooks.hpp"
#include "engine/policy/managed.hpp"
#include "engine/tensor/tensor.hpp"

namespace gradlife {

class Node;
class SavedSlot;

// A shared pointer to a node: the node, and the control block that counts owners. Usually the block is the node itself.
// Under `ctx_owns_node` (PyTorch before PR 22983) the node is part of its context and each owner may have its own
// control block, whose deleter only drops a reference to the context.
class NodePtr {
 public:
  NodePtr() = default;
  NodePtr(std::nullptr_t) {}
  static NodePtr steal(Node* node);
  static NodePtr share(Node* node);
  static NodePtr steal(Node* node, RefCounted* block) { return NodePtr(node, block); }
  NodePtr(const NodePtr& other) : node_(other.node_), block_(other.block_) {
    if (block_ != nullptr) block_->retain();
  }
  NodePtr(NodePtr&& other) noexcept : node_(other.node_), block_(other.block_) {
    other.node_ = nullptr;
    other.block_ = nullptr;
  }
  NodePtr& operator=(NodePtr other) noexcept {
    std::swap(node_, other.node_);
    std::swap(block_, other.block_);
    return *this;
  }
  ~NodePtr() { reset(); }
  void reset() {
    RefCounted* block = block_;
    node_ = nullptr;
    block_ = nullptr;
    if (block != nullptr) block->release();
  }
  // Give up the reference without dropping it: a wrapper takes it over.
  Node* detach() {
    Node* node = node_;
    node_ = nullptr;
    block_ = nullptr;
    return node;
  }
  Node* get() const { return node_; }
  Node* operator->() const { return node_; }
  Node& operator*() const { return *node_; }
  RefCounted* block() const { return block_; }
  uint32_t use_count() const { return block_ != nullptr ? block_->use_count() : 0; }
  bool is_foreign() const;  // has a control block other than the node itself
  explicit operator bool() const { return node_ != nullptr; }
  bool operator==(const NodePtr& other) const { return node_ == other.node_; }

 private:
  friend class WeakNodePtr;
  NodePtr(Node* node, RefCounted* block) : node_(node), block_(block) {}
  Node* node_ = nullptr;
  RefCounted* block_ = nullptr;
};

// The number of freed nodes whose addresses non-owning handles of saved slots still use; usually 0. A new node of the
// same size takes over such an address, because malloc would give it the same memory (stale_handles.hpp).
extern size_t watched_addresses;
void give_out_address(Node& node);         // to a new node, if one is vacant
void take_back_address(const Node& node);  // from a node that dies

template <class T, class... Args>
NodePtr make_node(Args&&... args) {
  T* node = new T(std::forward<Args>(args)...);
  NodePtr owner = NodePtr::steal(node);
  node->set_memory_size(sizeof(T));
  record_birth(*node);
  return owner;
}

class WeakNodePtr {
 public:
  WeakNodePtr() = default;
  explicit WeakNodePtr(const NodePtr& node) : node_(node.get()), block_(node.block()) {
    if (block_ != nullptr) block_->weak_retain();
  }
  WeakNodePtr(const WeakNodePtr& other) : node_(other.node_), block_(other.block_) {
    if (block_ != nullptr) block_->weak_retain();
  }
  WeakNodePtr(WeakNodePtr&& other) noexcept : node_(other.node_), block_(other.block_) {
    other.node_ = nullptr;
    other.block_ = nullptr;
  }
  WeakNodePtr& operator=(WeakNodePtr other) noexcept {
    std::swap(node_, other.node_);
    std::swap(block_, other.block_);
    return *this;
  }
  ~WeakNodePtr() {
    if (block_ != nullptr) block_->weak_release();
  }
  NodePtr lock() const { return block_ != nullptr && block_->try_retain() ? NodePtr::steal(node_, block_) : NodePtr(); }
  bool is_set() const { return block_ != nullptr; }
  Node* peek() const { return block_ != nullptr && block_->use_count() != 0 ? node_ : nullptr; }  // owns nothing

 private:
  Node* node_ = nullptr;
  RefCounted* block_ = nullptr;
};

// An edge: the next node and the index of its input.
struct Edge {
  NodePtr node;
  uint32_t input_nr = 0;
  WeakPtr<TensorImpl> tensor{};  // the forward input whose gradient it carries; only in OneFlow's releases
  explicit operator bool() const { return static_cast<bool>(node); }
};
using EdgeList = std::vector<Edge>;

// The expected shape and dtype of a gradient that reaches a node: those of the forward output.
struct InputMetadata {
  Dims sizes;
  DType dtype = DType::float32;
};

inline constexpr const char* first_argument = "#0 'self'";  // what error texts call an operation's first argument

// A saved field of a node class, for the attributes `_saved_NAME` of its wrapper.
struct SavedField {
  enum class Type : uint8_t { tensor, tensor_list, value };
  const char* name;
  Type type;
  const char* argument = first_argument;  // its name in the error text if the tensor was not saved
};

struct NodeSpec {
  const char* name;  // "SinBackward0"
  std::vector<SavedField> fields;
};

// A saved value other than a tensor, for `_saved_NAME`.
struct SavedValue {
  enum class Type : uint8_t { none, integer, index, real, complex, boolean, sizes, text, list };
  Type type = Type::none;
  int64_t integer = 0;
  double real = 0;
  double imaginary = 0;
  Dims sizes;
  const char* text = nullptr;  // static
  std::vector<SavedValue> list;
};

// Return a node's name in a release, as static text. Up to 1.9, operations without overloads had no number:
// ExpBackward, but MulBackward0.
const char* name_in_release(const char* name, const Policy& policy);

class Node : public Managed {
 public:
  explicit Node(uint64_t sequence_nr);
  Node();  // takes the thread's next sequence number
  explicit Node(Identity identity);
  Node(uint64_t sequence_nr, Identity identity);

  virtual TensorList apply(TensorList&& gradients) = 0;
  virtual const NodeSpec& spec() const = 0;
  // Whether the node computes even gradients that nobody needs. Custom Functions do, operations do not.
  virtual bool computes_all_outputs() const { return false; }
  virtual bool computes_outputs_together() const { return false; }  // if any is needed, all
  const char* name() const override { return name_in_release(spec().name, policy()); }

  // The slots of the fields with the types tensor and tensor_list, in the order of spec().fields.
  virtual size_t slot_count() const { return 0; }
  virtual SavedSlot& slot(size_t index);
  // Return the range [first, last) of a field's slots.
  virtual std::pair<size_t, size_t> slots_of_field(size_t field) const;
  virtual SavedValue saved_value(size_t field) const;
  // Release saved tensors ("buffers freed"); edges and hooks stay.
  virtual void release_variables();

  // Set the node's size in bytes; a node of known size may take a freed one's address (see watched_addresses).
  void set_memory_size(size_t bytes) {
    memory_size_ = bytes;
    if (watched_addresses != 0) give_out_address(*this);
  }
  size_t memory_size() const { return memory_size_; }

  // Add an owner; return the count of owners that it is added to: the node's own or a control block (see NodePtr).
  virtual RefCounted* new_owner();
  // Whether the death of one control block strips this node's edges although other blocks still own it: the bug behind
  // PyTorch issue 18619, fixed by PR 22983.
  virtual bool may_be_stripped() const { return false; }

  // Whether Python sees this node as a custom Function's context; below: that context, or nullptr once it is gone.
  virtual bool has_python_context() const { return false; }
  virtual Object* python_context() const { return nullptr; }

  uint64_t sequence_nr() const { return sequence_nr_; }
  void set_sequence_nr(uint64_t number) { sequence_nr_ = number; }
  EdgeList& next_edges() { return next_edges_; }
  const EdgeList& next_edges() const { return next_edges_; }
  void set_next_edges(EdgeList edges) { next_edges_ = std::move(edges); }
  bool should_compute_output(size_t input) const { return input < next_edges_.size() && next_edges_[input]; }
  // Declare a forward output and return its number.
  uint32_t add_input_metadata(const TensorImpl& output);
  void add_placeholder_input() { input_metadata_.push_back({}); }  // for a non-tensor output
  const std::vector<InputMetadata>& input_metadata() const { return input_metadata_; }
  size_t num_inputs() const { return input_metadata_.size(); }
  // Return the dtype required of the gradient at this index, or nothing if any is allowed.
  virtual std::optional<DType> gradient_dtype(uint32_t input_nr) const { return input_metadata_[input_nr].dtype; }
  void reset_input_metadata() { input_metadata_.clear(); }

  struct TensorHookEntry {
    std::shared_ptr<TensorHook> hook;
    uint32_t input_nr;
  };
  std::vector<TensorHookEntry> tensor_hooks;  // shared with the tensor they were put on
  std::vector<TensorHookEntry> retains_grad_hooks;
  void add_retains_grad_hook(uint32_t output_nr, std::shared_ptr<TensorHook> hook);
  std::vector<std::unique_ptr<NodePreHook>> pre_hooks;
  std::vector<std::unique_ptr<NodePostHook>> post_hooks;
  virtual std::vector<TensorHookEntry> live_tensor_hooks() { return {}; }  // AccumulateGrad: those of its leaf

  Handle metadata;  // a dict of Python, made on first use

  void visit_owned(OwnedVisitor& visitor) const override;

 protected:
  ~Node() override;
  void let_go() override;
  bool released_ = false;

 private:
  uint64_t sequence_nr_;
  size_t memory_size_ = 0;
  EdgeList next_edges_;
  std::vector<InputMetadata> input_metadata_;
};

// Return the node running in this thread, or nullptr.
Node* current_node();
Node* set_current_node(Node* node);  // returns the previous one

constexpr uint64_t highest_sequence_nr = UINT64_MAX;  // AccumulateGrad runs as soon as it is ready

// Adds a leaf's gradient to its `.grad`.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(Tensor variable);
  const Tensor& variable() const { return variable_; }
  TensorList apply(TensorList&& gradients) override;
  const NodeSpec& spec() const override;
  std::optional<DType> gradient_dtype(uint32_t input_nr) const override;
  std::vector<TensorHookEntry> live_tensor_hooks() override;
  void visit_owned(OwnedVisitor& visitor) const override;

 protected:
  void let_go() override;

 private:
  Tensor variable_;
};

}  // namespace gradlife
