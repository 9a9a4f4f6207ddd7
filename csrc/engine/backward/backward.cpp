#include "engine/backward/backward.hpp"

#include <algorithm>
#include <map>
#include <memory>

#include "base/events.hpp"
#include "base/host.hpp"
#include "engine/backward/backward_thread.hpp"
#include "engine/backward/graph_task.hpp"
#include "engine/graph/anomaly.hpp"
#include "engine/graph/needed_ops.hpp"
#include "engine/policy/traits.hpp"

namespace gradlife {
namespace {

thread_local GraphTask* running_task = nullptr;
thread_local int running_depth = 0;
// Beyond this depth a nested backward runs in its own thread, as in PyTorch.
constexpr int max_in_one_thread = 60;

// Restores the default hooks after this backward, whatever its nodes push or pop.
class KeepDefaultHooks {
 public:
  KeepDefaultHooks() : restore_(copy_of_default_hooks()) {}
  ~KeepDefaultHooks() { restore_(); }
  KeepDefaultHooks(const KeepDefaultHooks&) = delete;
  KeepDefaultHooks& operator=(const KeepDefaultHooks&) = delete;

 private:
  std::function<void()> restore_;
};

// The ready nodes that a failed backward never ran. PyTorch (since 1.6, with a queue per thread) keeps them queued,
// with the graph behind them, until the thread's next backward or its end.
class UnrunNodes {
 public:
  UnrunNodes() = default;
  // A thread without such nodes ends without the lock. Once the interpreter is gone, the graph is left alone.
  ~UnrunNodes() {
    if (!nodes_) return;
    const Locked locked;
    if (!locked.may_touch_objects()) nodes_.release();
    drop();
  }
  UnrunNodes(const UnrunNodes&) = delete;
  UnrunNodes& operator=(const UnrunNodes&) = delete;
  void take(ReadyQueue& queue) {
    if (queue.empty()) return;
    if (!nodes_) nodes_ = std::make_unique<std::vector<ReadyNode>>();
    for (ReadyNode& item : queue.take_all()) nodes_->push_back(std::move(item));
  }
  // Empty the list first: a dying node may run another backward.
  void drop() { const auto dropped = std::move(nodes_); }

 private:
  std::unique_ptr<std::vector<ReadyNode>> nodes_;
};

UnrunNodes& unrun_nodes() {
  thread_local UnrunNodes of_thread;
  return of_thread;
}

// Micrograd has no queue: its nodes are closures.
bool leaves_its_queue(const Policy& policy) {
  return has(policy, traits::failed_backward_leaves_queue) && policy.saved_slot != SavedSlotPolicy::closure;
}

// Sets the running node for a scope.
class RunningNode {
 public:
  explicit RunningNode(Node* node) : previous_(set_current_node(node)) {}
  ~RunningNode() { set_current_node(previous_); }
  RunningNode(const RunningNode&) = delete;
  RunningNode& operator=(const RunningNode&) = delete;

 private:
  Node* previous_;
};

// Sets a variable of this thread for a scope.
template <class T>
class Scoped {
 public:
  Scoped(T& variable, T value) : variable_(variable), previous_(variable) { variable = value; }
  ~Scoped() { variable_ = previous_; }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;

 private:
  T& variable_;
  T previous_;
};

// Since PyTorch 2.0 gradients accumulate into the first gradient's memory if nothing else owns it. Later gradients are
// never written to.
bool may_accumulate_in_place(const Tensor& tensor) {
  const Policy& policy = tensor->policy();
  return has(policy, traits::accumulates_in_place) && tensor->has_at_most(1 + (tensor->is_cached() ? 1 : 0)) &&
         tensor->storage()->use_count() == 1 && is_non_overlapping_and_dense(*tensor);
}

Tensor accumulated(Tensor held, const Tensor& arriving) {
  const bool is_alike = held->sizes() == arriving->sizes() && held->dtype() == arriving->dtype();
  const bool is_watched = operation_watcher() != nullptr;  // the watcher may have kept it
  if (!grad_enabled() && is_alike && !is_watched && may_accumulate_in_place(held))
    return ops::add_in_place(held, arriving);
  return ops::add(held, arriving);
}

void call_each(Node& node, std::vector<Node::TensorHookEntry> hooks, TensorList& inputs, const char* event) {
  for (const Node::TensorHookEntry& entry : hooks) {
    if (entry.input_nr >= inputs.size()) continue;
    if (event != nullptr) record(EventKind::hook, node, event);
    inputs[entry.input_nr] = entry.hook->call(std::move(inputs[entry.input_nr]));
  }
}

TensorList call_tensor_hooks(Node& node, TensorList inputs) {
  call_each(node, node.tensor_hooks, inputs, "tensor hook");
  call_each(node, node.live_tensor_hooks(), inputs, "tensor hook");
  call_each(node, node.retains_grad_hooks, inputs, nullptr);
  return inputs;
}

void call_pre_hook(const Node& node, NodePreHook& hook, TensorList& inputs) {
  record(EventKind::hook, node, "pre hook");
  inputs = hook.call(std::move(inputs));
}

// Up to 1.13 a node's hooks are called in the order of their registration, then those of its leaf.
TensorList call_hooks_in_order(Node& node, TensorList inputs) {
  std::map<uint64_t, std::function<void()>> calls;
  for (const auto& each : node.tensor_hooks)
    calls[each.hook->number] = [&, each] { call_each(node, {each}, inputs, "tensor hook"); };
  for (const auto& each : node.retains_grad_hooks)
    calls[each.hook->number] = [&, each] { call_each(node, {each}, inputs, nullptr); };
  for (const auto& each : node.pre_hooks)
    calls[each->number] = [&, hook = each.get()] { call_pre_hook(node, *hook, inputs); };
  for (const auto& [number, call] : calls) call();
  if (inputs.empty() || inputs[0]) call_each(node, node.live_tensor_hooks(), inputs, "tensor hook");
  return inputs;
}

TensorList call_hooks_before(Node& node, TensorList inputs) {
  if (!has(node.policy(), traits::tensor_hooks_come_first)) return call_hooks_in_order(node, std::move(inputs));
  inputs = call_tensor_hooks(node, std::move(inputs));
  for (size_t i = 0; i < node.pre_hooks.size(); ++i) call_pre_hook(node, *node.pre_hooks[i], inputs);
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

// Convert each gradient to the shape and dtype of its forward value. Raise if that fails; the message begins with
// `head()`. Operations of the engine may give a real value a complex gradient, whose real part counts.
template <class Head>
void fit_gradients(const EdgeList& edges, TensorList& gradients, bool are_of_engine, Head head) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!edges[i] || !gradients[i]) continue;
    const std::vector<InputMetadata>& all = edges[i].node->input_metadata();
    if (edges[i].input_nr >= all.size()) continue;
    const InputMetadata& metadata = all[edges[i].input_nr];
    Tensor& gradient = gradients[i];
    if (gradient->sizes() != metadata.sizes) {
      require(is_expandable_to(metadata.sizes, gradient->sizes()), head(), "invalid gradient at index ", i, " - got ",
              gradient->sizes(), " but expected shape compatible with ", metadata.sizes);
      gradient = ops::sum_to_size(gradient, metadata.sizes);
    }
    const bool is_real = is_differentiable(gradient->dtype()) && !is_complex(gradient->dtype());
    require(are_of_engine || is_real || is_complex(gradient->dtype()) == is_complex(metadata.dtype),
            "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be true, but got "
            "false.  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)");
    const DType dtype = edges[i].node->gradient_dtype(edges[i].input_nr).value_or(gradient->dtype());
    if (gradient->dtype() != dtype) gradient = ops::to_dtype(gradient, dtype);
  }
}

void validate_outputs(const Node& node, TensorList& outputs) {
  const EdgeList& edges = node.next_edges();
  if (outputs.size() != edges.size() && !outputs.empty())
    fail(ErrorKind::runtime, "Function ", qualified_name(node), " returned an invalid number of gradients - got ",
         outputs.size(), ", but expected ", edges.size());
  fit_gradients(edges, outputs, !node.has_python_context(),
                [&] { return concat("Function ", qualified_name(node), " returned an "); });
}

}  // namespace

bool GraphTask::wants(const Edge& edge) const { return edge && (exec_info_.empty() || should_run(*edge.node)); }

// CopySlices applies the in-place operation, whose edge to the view's old node may be the only one to that node.
// Without this the plan, which does not see that edge, would drop the operation's gradient, and the base would get
// none.
void GraphTask::need_also(const Edge& edge, const Edge& other) {
  if (exec_info_.empty() || !edge || !wants(other)) return;
  exec_info_[edge.node.get()].is_needed |= !should_run(*edge.node);
}

// If only some gradients are needed, an operation's hooks see undefined ones in place of the rest.
void GraphTask::drop_unneeded(const Node& node, TensorList& outputs) const {
  if (node.computes_all_outputs() || !has(node.policy(), traits::drops_unneeded_gradients)) return;
  const EdgeList& edges = node.next_edges();
  const auto is_wanted = [&](const Edge& edge) { return wants(edge); };
  if (node.computes_outputs_together() && std::any_of(edges.begin(), edges.end(), is_wanted)) return;
  for (size_t i = 0; i < outputs.size() && i < edges.size(); ++i)
    if (!is_wanted(edges[i])) outputs[i].reset();
}

TensorList GraphTask::call_node(Node& node, TensorList inputs) const {
  inputs = call_hooks_before(node, std::move(inputs));
  TensorList kept;
  if (!node.post_hooks.empty()) kept = inputs;
  TensorList outputs = node.apply(std::move(inputs));
  drop_unneeded(node, outputs);
  validate_outputs(node, outputs);
  for (size_t i = 0; i < node.post_hooks.size(); ++i) {
    record(EventKind::hook, node, "post hook");
    outputs = node.post_hooks[i]->call(std::move(outputs), kept);
  }
  // A closure is never released: backward may always run again.
  if (!options_.keep_graph && node.policy().saved_slot != SavedSlotPolicy::closure) node.release_variables();
  return outputs;
}

// If the gradient is added to another, the caller's `gradient` still owns it until `evaluate` returns.
void GraphTask::deliver(const Edge& edge, Tensor&& gradient) {
  Node* target = edge.node.get();
  const auto pending = dependencies_.find(target);
  require(pending != dependencies_.end(), "dependency not found for ", target->name());
  const bool is_ready = --pending->second == 0;
  if (is_ready) dependencies_.erase(pending);
  const bool is_sole_root = roots_.size() == 1 && target == roots_[0].node.get();
  if (!should_run(*target) && !(is_sole_root && has(target->policy(), traits::unneeded_root_calls_hooks))) return;
  auto slot = waiting_.find(target);
  if (slot == waiting_.end()) {
    slot = waiting_.emplace(target, ReadyNode{edge.node, TensorList(std::max<size_t>(target->num_inputs(), 1))}).first;
  }
  TensorList& inputs = slot->second.inputs;
  if (edge.input_nr >= inputs.size()) inputs.resize(edge.input_nr + 1);
  Tensor& held = inputs[edge.input_nr];
  if (gradient) held = held ? accumulated(std::move(held), gradient) : std::move(gradient);
  if (!is_ready) return;
  ready_.push(std::move(slot->second));
  waiting_.erase(slot);
}

void GraphTask::evaluate(ReadyNode& item) {
  Node& node = *item.node;
  if (!exec_info_.empty()) {
    const ExecInfo info = exec_info_[&node];
    TensorList seen = item.inputs;
    if (!info.is_needed && has(node.policy(), traits::tensor_hooks_come_first))
      seen = call_tensor_hooks(node, std::move(item.inputs));
    for (const ExecInfo::Capture& capture : info.captures)
      if (capture.input_nr < seen.size()) captured_[capture.output] = seen[capture.input_nr];
    if (!info.is_needed) return;
  }
  TensorList outputs = call_node(node, std::move(item.inputs));
  if (anomaly_mode.is_enabled && anomaly_mode.checks_nan) refuse_nan(node, outputs);
  const EdgeList& edges = node.next_edges();
  for (size_t i = 0; i < outputs.size() && i < edges.size(); ++i)
    if (edges[i]) deliver(edges[i], std::move(outputs[i]));
}

TensorList GraphTask::run(TensorList gradients) {
  const Scoped<GraphTask*> running(running_task, this);
  const Scoped<int> deeper(running_depth, running_depth + 1);
  // The gradients are the caller's: they are converted in the caller's grad mode.
  fit_gradients(roots_, gradients, false, [] { return std::string(); });
  // Only now: if the caller's gradients do not fit, the nodes stay queued.
  unrun_nodes().drop();
  const GradMode mode(options_.create_graph);
  const KeepDefaultHooks hooks;
  if (current_policy()->unpack_schedule == UnpackSchedule::upfront) prefetch_saved();
  for (size_t i = 0; i < roots_.size(); ++i)
    if (roots_[i]) deliver(roots_[i], Tensor(gradients[i]));  // a copy: no sum may overwrite one of `gradients`
  while (!ready_.empty()) {
    unrun_nodes().drop();
    ReadyNode item = ready_.pop();
    const NodePtr keep = item.node;
    const RunningNode running(keep.get());
    set_grad_enabled(options_.create_graph);  // the previous node may have changed it
    try {
      evaluate(item);
    } catch (...) {
      report_failure(*keep);
      if (leaves_its_queue(*current_policy())) unrun_nodes().take(ready_);
      throw;
    }
  }
  for (size_t i = 0; i < callbacks_.size(); ++i) callbacks_[i]();
  return std::move(captured_);
}

TensorList run_backward(const EdgeList& roots, TensorList gradients, const BackwardOptions& options,
                        const EdgeList& inputs) {
  GraphTask task(roots, options, inputs);
  // Up to 1.3 PyTorch also ran CPU graphs in a worker thread.
  const Policy& policy = *current_policy();
  const bool has_worker = has(policy, traits::has_backward_worker) && running_depth == 0;
  if (running_depth < max_in_one_thread && !has_worker) return task.run(std::move(gradients));
  TensorList captured;
  run_in_own_thread([&] { captured = task.run(std::move(gradients)); });
  return captured;
}

bool is_wanted(const Edge& edge) {
  return running_task == nullptr || !has(*current_policy(), traits::drops_unneeded_gradients) ||
         running_task->wants(edge);
}

GraphTask* current_task() { return running_task; }

}  // namespace gradlife
