#include "engine/backward.hpp"

#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "base/events.hpp"
#include "engine/ops.hpp"
#include "engine/saved_slot.hpp"

namespace gradlife {
namespace {

struct ReadyNode {
  NodePtr node;
  TensorList inputs;
};

struct RunsLater {
  bool operator()(const ReadyNode& a, const ReadyNode& b) const {
    return a.node->sequence_nr() < b.node->sequence_nr();
  }
};

struct Capture {
  uint32_t input_nr;
  size_t output;
};

struct ExecInfo {
  bool is_needed = false;
  std::vector<Capture> captures;
  bool should_run() const { return is_needed || !captures.empty(); }
};

struct GraphTask;
thread_local GraphTask* running_task = nullptr;
thread_local Node* running_node = nullptr;
int64_t next_task_id = 0;

struct GraphTask {
  BackwardOptions options;
  int64_t id = next_task_id++;
  std::unordered_map<Node*, uint32_t> dependencies;
  std::unordered_map<Node*, ReadyNode> waiting;
  std::unordered_map<Node*, ExecInfo> exec_info;  // empty: run everything
  std::priority_queue<ReadyNode, std::vector<ReadyNode>, RunsLater> ready;
  std::vector<NodePtr> prefetched;
  TensorList captured;
  std::vector<std::function<void()>> callbacks;

  void count_dependencies(const EdgeList& roots);
  void plan_for(const EdgeList& roots, const EdgeList& inputs);
  void prefetch_saved(const EdgeList& roots);
  void deliver(const Edge& edge, Tensor gradient);
  void run();
  void evaluate(ReadyNode& item);
};

void GraphTask::count_dependencies(const EdgeList& roots) {
  std::unordered_set<Node*> seen;
  std::vector<Node*> stack;
  const auto reach = [&](const EdgeList& edges) {
    for (const Edge& edge : edges) {
      if (!edge) continue;
      dependencies[edge.node.get()] += 1;
      if (seen.insert(edge.node.get()).second) stack.push_back(edge.node.get());
    }
  };
  reach(roots);
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    reach(node->next_edges());
  }
}

// Marks what must run for the gradients of `inputs`: a depth-first walk without recursion, children before parents.
void GraphTask::plan_for(const EdgeList& roots, const EdgeList& inputs) {
  size_t output = 0;
  for (const Edge& input : inputs) {
    ExecInfo& info = exec_info[input.node.get()];
    if (options.accumulate) {
      info.is_needed = true;
    } else {
      info.captures.push_back({input.input_nr, output++});
    }
  }
  captured.resize(output);
  struct Frame {
    Node* node;
    size_t next = 0;
  };
  std::unordered_set<Node*> seen;
  std::vector<Frame> stack;
  for (const Edge& root : roots) {
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
        const auto found = edge ? exec_info.find(edge.node.get()) : exec_info.end();
        if (found == exec_info.end() || !found->second.should_run()) continue;
        exec_info[frame.node].is_needed = true;
        break;
      }
      stack.pop_back();
    }
  }
}

// The `upfront` schedule: everything is unpacked before anything runs, so hooks fire out of order and all of it is
// live.
void GraphTask::prefetch_saved(const EdgeList& roots) {
  std::unordered_set<Node*> seen;
  std::vector<Node*> stack;
  const auto reach = [&](const EdgeList& edges) {
    for (const Edge& edge : edges)
      if (edge && seen.insert(edge.node.get()).second) stack.push_back(edge.node.get());
  };
  reach(roots);
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    reach(node->next_edges());
    if (node->slot_count() == 0) continue;
    prefetched.push_back(NodePtr::share(node));
    for (size_t i = 0; i < node->slot_count(); ++i) node->slot(i).prefetch(prefetched.back());
  }
}

bool may_accumulate_in_place(const Tensor& tensor) {
  return tensor->use_count() == 1 && tensor->storage()->use_count() == 1 && tensor->is_contiguous();
}

Tensor accumulated(Tensor held, Tensor arriving) {
  if (grad_enabled()) return ops::add(held, arriving);
  if (held->sizes() == arriving->sizes() && held->dtype() == arriving->dtype()) {
    if (may_accumulate_in_place(held)) return ops::add_in_place(held, arriving);
    if (may_accumulate_in_place(arriving)) return ops::add_in_place(arriving, held);
  }
  return ops::add(held, arriving);
}

void GraphTask::deliver(const Edge& edge, Tensor gradient) {
  Node* target = edge.node.get();
  const auto pending = dependencies.find(target);
  require(pending != dependencies.end(), "dependency not found for ", target->name());
  const bool is_ready = --pending->second == 0;
  if (is_ready) dependencies.erase(pending);
  if (!exec_info.empty()) {
    const auto found = exec_info.find(target);
    if (found == exec_info.end() || !found->second.should_run()) return;
  }
  auto slot = waiting.find(target);
  if (slot == waiting.end()) {
    slot = waiting.emplace(target, ReadyNode{edge.node, TensorList(std::max<size_t>(target->num_inputs(), 1))}).first;
  }
  TensorList& inputs = slot->second.inputs;
  if (edge.input_nr >= inputs.size()) inputs.resize(edge.input_nr + 1);
  Tensor& held = inputs[edge.input_nr];
  if (gradient) held = held ? accumulated(std::move(held), std::move(gradient)) : std::move(gradient);
  if (!is_ready) return;
  ready.push(std::move(slot->second));
  waiting.erase(slot);
}

TensorList call_tensor_hooks(Node& node, TensorList inputs) {
  std::vector<Node::TensorHookEntry> hooks = node.tensor_hooks;
  for (const auto& hook : node.live_tensor_hooks()) hooks.push_back({hook, 0});
  for (const Node::TensorHookEntry& entry : hooks) {
    if (entry.input_nr >= inputs.size()) continue;
    record(EventKind::hook, node, "tensor hook");
    inputs[entry.input_nr] = entry.hook->call(std::move(inputs[entry.input_nr]));
  }
  const auto retained = node.retains_grad_hooks;
  for (const auto& [input_nr, hook] : retained)
    if (input_nr < inputs.size()) inputs[input_nr] = hook->call(std::move(inputs[input_nr]));
  return inputs;
}

bool is_expandable_to(const Dims& from, const Dims& to) {
  if (from.size() > to.size()) return false;
  for (size_t i = 0; i < from.size(); ++i) {
    const int64_t size = from[from.size() - 1 - i];
    if (size != 1 && size != to[to.size() - 1 - i]) return false;
  }
  return true;
}

// Brings each gradient to the shape and dtype of the forward value it belongs to. Error: it can't be brought there.
void validate_outputs(const Node& node, TensorList& outputs) {
  const EdgeList& edges = node.next_edges();
  require(outputs.size() == edges.size() || outputs.empty(), "Function ", node.name(),
          " returned an invalid number of gradients - got ", outputs.size(), ", but expected ", edges.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!edges[i] || !outputs[i]) continue;
    const std::vector<InputMetadata>& all = edges[i].node->input_metadata();
    if (edges[i].input_nr >= all.size()) continue;
    const InputMetadata& metadata = all[edges[i].input_nr];
    Tensor& gradient = outputs[i];
    if (gradient->sizes() != metadata.sizes) {
      require(is_expandable_to(metadata.sizes, gradient->sizes()), "Function ", node.name(),
              " returned an invalid gradient at index ", i, " - got ", gradient->sizes(),
              " but expected shape compatible with ", metadata.sizes);
      gradient = ops::sum_to_size(gradient, metadata.sizes);
    }
    if (gradient->dtype() != metadata.dtype) gradient = ops::to_dtype(gradient, metadata.dtype);
  }
}

class RunningNode {
 public:
  explicit RunningNode(Node* node) : previous_(running_node) { running_node = node; }
  ~RunningNode() { running_node = previous_; }

 private:
  Node* previous_;
};

TensorList call_node(Node& node, TensorList inputs, bool keep_graph) {
  inputs = call_tensor_hooks(node, std::move(inputs));
  for (size_t i = 0; i < node.pre_hooks.size(); ++i) {
    record(EventKind::hook, node, "pre hook");
    inputs = node.pre_hooks[i]->call(std::move(inputs));
  }
  RunningNode running(&node);
  TensorList kept;
  if (!node.post_hooks.empty()) kept = inputs;
  TensorList outputs = node.apply(std::move(inputs));
  validate_outputs(node, outputs);
  if (PostAccumulateHook* hook = node.post_accumulate_hook()) {
    record(EventKind::hook, node, "post accumulate hook");
    hook->call(static_cast<AccumulateGrad&>(node).variable());
  }
  for (size_t i = 0; i < node.post_hooks.size(); ++i) {
    record(EventKind::hook, node, "post hook");
    outputs = node.post_hooks[i]->call(std::move(outputs), kept);
  }
  if (!keep_graph) node.release_variables();
  return outputs;
}

void GraphTask::evaluate(ReadyNode& item) {
  Node& node = *item.node;
  if (!exec_info.empty()) {
    const ExecInfo info = exec_info[&node];
    TensorList seen = item.inputs;
    if (!info.is_needed) seen = call_tensor_hooks(node, std::move(item.inputs));
    for (const Capture& capture : info.captures)
      if (capture.input_nr < seen.size()) captured[capture.output] = seen[capture.input_nr];
    if (!info.is_needed) return;
  }
  TensorList outputs = call_node(node, std::move(item.inputs), options.keep_graph);
  const EdgeList& edges = node.next_edges();
  for (size_t i = 0; i < outputs.size() && i < edges.size(); ++i)
    if (edges[i]) deliver(edges[i], std::move(outputs[i]));
}

void GraphTask::run() {
  while (!ready.empty()) {
    // The comparator never looks at a moved-from element: it is popped at once.
    ReadyNode item = std::move(const_cast<ReadyNode&>(ready.top()));
    const NodePtr keep = item.node;
    const_cast<ReadyNode&>(ready.top()).node = keep;
    ready.pop();
    evaluate(item);
  }
  for (size_t i = 0; i < callbacks.size(); ++i) callbacks[i]();
}

class RunningTask {
 public:
  explicit RunningTask(GraphTask* task) : previous_(running_task) { running_task = task; }
  ~RunningTask() { running_task = previous_; }

 private:
  GraphTask* previous_;
};

// Prefetched tensors that no node asked for (it did not run, or the backward failed) are let go with the task.
class DropPrefetched {
 public:
  explicit DropPrefetched(GraphTask& task) : task_(task) {}
  ~DropPrefetched() {
    for (const NodePtr& node : task_.prefetched)
      for (size_t i = 0; i < node->slot_count(); ++i) node->slot(i).drop_prefetched();
  }

 private:
  GraphTask& task_;
};

}  // namespace

TensorList run_backward(const EdgeList& roots, TensorList gradients, const BackwardOptions& options,
                        const EdgeList& inputs) {
  GraphTask task;
  task.options = options;
  task.count_dependencies(roots);
  if (!inputs.empty()) task.plan_for(roots, inputs);
  RunningTask running(&task);
  GradMode mode(options.create_graph);
  DropPrefetched drop(task);
  if (current_policy()->unpack_schedule == UnpackSchedule::upfront) task.prefetch_saved(roots);
  for (size_t i = 0; i < roots.size(); ++i)
    if (roots[i]) task.deliver(roots[i], std::move(gradients[i]));
  gradients.clear();
  task.run();
  return std::move(task.captured);
}

Node* current_node() { return running_node; }

int64_t current_task_id() { return running_task != nullptr ? running_task->id : -1; }

void queue_callback(std::function<void()> callback) {
  require(running_task != nullptr, "Final callbacks can only be installed during backward pass.");
  running_task->callbacks.push_back(std::move(callback));
}

}  // namespace gradlife
