// One backward call: the nodes to run, their dependencies, and the requested gradients.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/backward/backward.hpp"
#include "engine/graph/node.hpp"

namespace gradlife {

struct ReadyNode {
  NodePtr node;
  TensorList inputs;
};

// The nodes that can run now, youngest first.
class ReadyQueue {
 public:
  bool empty() const { return items_.empty(); }
  void push(ReadyNode item) {
    items_.push_back(std::move(item));
    std::push_heap(items_.begin(), items_.end(), runs_later);
  }
  ReadyNode pop() {
    std::pop_heap(items_.begin(), items_.end(), runs_later);
    ReadyNode item = std::move(items_.back());
    items_.pop_back();
    return item;
  }
  std::vector<ReadyNode> take_all() { return std::exchange(items_, {}); }

 private:
  static bool runs_later(const ReadyNode& a, const ReadyNode& b) {
    return a.node->sequence_nr() < b.node->sequence_nr();
  }
  std::vector<ReadyNode> items_;
};

// A node's role in a backward for the gradients of given inputs (`torch.autograd.grad`).
struct ExecInfo {
  struct Capture {
    uint32_t input_nr;
    size_t output;
  };
  bool is_needed = false;
  std::vector<Capture> captures;
  bool should_run() const { return is_needed || !captures.empty(); }
};

using Dependencies = std::unordered_map<const Node*, uint32_t>;

// One backward call. graph_task.cpp plans which nodes run, backward.cpp runs them.
class GraphTask {
 public:
  GraphTask(const EdgeList& roots, const BackwardOptions& options, const EdgeList& inputs);
  ~GraphTask();
  GraphTask(const GraphTask&) = delete;
  GraphTask& operator=(const GraphTask&) = delete;

  // Runs the nodes and returns the captured gradients of `inputs`.
  TensorList run(TensorList gradients);

  int64_t id() const { return id_; }
  const BackwardOptions& options() const { return options_; }
  void add_callback(std::function<void()> callback) { callbacks_.push_back(std::move(callback)); }

  // Whether this call needs the gradient of this edge.
  bool wants(const Edge& edge) const;
  // If this call needs the gradient of `other`, make it need that of `edge`, too.
  void need_also(const Edge& edge, const Edge& other);
  // Whether this call runs `node`. Raise for a leaf that is only captured, as in PyTorch.
  bool will_execute(const Node& node) const;
  // Return the nodes that this call runs, in order. Raises once a node has run, as in PyTorch.
  std::vector<NodePtr> execution_order() const;

 private:
  void plan_for(const EdgeList& inputs);
  void prefetch_saved();
  void deliver(const Edge& edge, Tensor&& gradient);
  void evaluate(ReadyNode& item);
  TensorList call_node(Node& node, TensorList inputs) const;
  void drop_unneeded(const Node& node, TensorList& outputs) const;
  bool should_run(const Node& node) const;

  BackwardOptions options_;
  int64_t id_;
  EdgeList roots_;
  Dependencies dependencies_;  // edges that have not delivered yet
  std::unordered_map<const Node*, ReadyNode> waiting_;
  std::unordered_map<const Node*, ExecInfo> exec_info_;  // empty: run everything
  ReadyQueue ready_;
  std::vector<NodePtr> prefetched_;
  TensorList captured_;
  std::vector<std::function<void()>> callbacks_;
  mutable Dependencies reachable_;  // all nodes reachable from the roots; filled on demand
};

// Return this thread's innermost backward call, or nullptr.
GraphTask* current_task();

}  // namespace gradlife
