#include "engine/backward/graph_task.hpp"

#include <algorithm>
#include <queue>
#include <unordered_set>
#include <utility>

#include "engine/graph/saved_slot.hpp"

namespace gradlife {
namespace {

int64_t next_task_id = 0;

// Call `visit` for each node reachable from `roots`. Return the number of edges to each, including the root edges.
template <class Visit>
Dependencies walk(const EdgeList& roots, Visit visit) {
  Dependencies dependencies;
  std::vector<Node*> stack;
  const auto reach = [&](const EdgeList& edges) {
    for (const Edge& edge : edges)
      if (edge && ++dependencies[edge.node.get()] == 1) stack.push_back(edge.node.get());
  };
  reach(roots);
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    reach(node->next_edges());
    visit(node);
  }
  return dependencies;
}

Dependencies count_dependencies(const EdgeList& roots) {
  return walk(roots, [](Node*) {});
}

}  // namespace

GraphTask::GraphTask(const EdgeList& roots, const BackwardOptions& options, const EdgeList& inputs)
    : options_(options), id_(next_task_id++), roots_(roots), dependencies_(count_dependencies(roots)) {
  if (!inputs.empty()) plan_for(inputs);
}

// Drop prefetched tensors that were never used, because their node did not run or the backward failed.
GraphTask::~GraphTask() {
  for (const NodePtr& node : prefetched_)
    for (size_t i = 0; i < node->slot_count(); ++i) node->slot(i).drop_prefetched();
}

// Mark the nodes that must run for the gradients of `inputs`: an iterative depth-first walk, each node after its
// next nodes.
void GraphTask::plan_for(const EdgeList& inputs) {
  size_t output = 0;
  for (const Edge& input : inputs) {
    ExecInfo& info = exec_info_[input.node.get()];
    if (options_.accumulate) {
      info.is_needed = true;
    } else {
      info.captures.push_back({input.input_nr, output++});
    }
  }
  captured_.resize(output);
  struct Frame {
    Node* node;
    size_t next = 0;
  };
  std::unordered_set<Node*> seen;
  std::vector<Frame> stack;
  for (const Edge& root : roots_) {
    if (!root || !seen.insert(root.node.get()).second) continue;
    stack.push_back({root.node.get()});
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const EdgeList& edges = frame.node->next_edges();
      if (frame.next < edges.size()) {
        Node* next = edges[frame.next++].node.get();
        if (next != nullptr && seen.insert(next).second) stack.push_back({next});
        continue;
      }
      for (const Edge& edge : edges) {
        const auto found = edge ? exec_info_.find(edge.node.get()) : exec_info_.end();
        if (found == exec_info_.end() || !found->second.should_run()) continue;
        exec_info_[frame.node].is_needed = true;
        break;
      }
      stack.pop_back();
    }
  }
}

// `UnpackSchedule::upfront`: unpack the saved tensors of all nodes before any node runs. So unpack hooks do not run in
// the order of the nodes, and all unpacked tensors are alive at once.
void GraphTask::prefetch_saved() {
  walk(roots_, [&](Node* node) {
    if (node->slot_count() == 0) return;
    prefetched_.push_back(NodePtr::share(node));
    for (size_t i = 0; i < node->slot_count(); ++i) node->slot(i).prefetch(prefetched_.back());
  });
}

bool GraphTask::should_run(const Node& node) const {
  if (exec_info_.empty()) return true;
  const auto found = exec_info_.find(&node);
  return found != exec_info_.end() && found->second.should_run();
}

// A single root is reported as not executed, as in PyTorch, where it is the graph root itself. For several roots
// PyTorch adds a node above them.
bool GraphTask::will_execute(const Node& node) const {
  if (reachable_.empty()) reachable_ = count_dependencies(roots_);
  if (reachable_.count(&node) == 0 || (roots_.size() == 1 && roots_[0].node.get() == &node)) return false;
  if (!exec_info_.empty()) {
    const auto found = exec_info_.find(&node);
    if (found == exec_info_.end() || !found->second.should_run()) return false;
    const auto& edges = node.next_edges();
    const bool has_next = std::any_of(edges.begin(), edges.end(), [](const Edge& edge) { return bool(edge); });
    require(has_next || found->second.captures.empty(),
            "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is "
            "currently not supported.");
  }
  return true;
}

// Simulate the call from its start without running a node, with the current dependency counts: as in PyTorch this fails
// once a node has run.
std::vector<NodePtr> GraphTask::execution_order() const {
  const auto runs_later = [](const NodePtr& a, const NodePtr& b) { return a->sequence_nr() < b->sequence_nr(); };
  std::priority_queue<NodePtr, std::vector<NodePtr>, decltype(runs_later)> ready(runs_later);
  Dependencies dependencies = dependencies_;
  for (const Edge& root : roots_)
    if (root) ready.push(root.node);
  std::vector<NodePtr> order;
  while (!ready.empty()) {
    const NodePtr node = ready.top();
    ready.pop();
    if (should_run(*node)) order.push_back(node);
    for (const Edge& edge : node->next_edges()) {
      if (!edge) continue;
      const auto pending = dependencies.find(edge.node.get());
      require(pending != dependencies.end() && pending->second > 0,
              "it != dependencies.end() INTERNAL ASSERT FAILED at "
              "\"/__w/pytorch/pytorch/torch/csrc/autograd/engine.cpp\":477, please report a bug to PyTorch. ");
      if (--pending->second == 0) ready.push(edge.node);
    }
  }
  return order;
}

}  // namespace gradlife
