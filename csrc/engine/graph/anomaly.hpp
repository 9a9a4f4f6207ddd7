// Anomaly mode: every node remembers where it was made and which node was running then, so that a failing backward can
// say which line of the forward it belongs to.
#pragma once

#include "engine/tensor/tensor.hpp"

namespace gradlife {

class Node;

// One per process, as in PyTorch: threads share it.
struct AnomalyMode {
  bool is_enabled = false;
  bool checks_nan = true;
};
extern AnomalyMode anomaly_mode;

// Callbacks into the embedding language.
struct AnomalyReporter {
  void (*record)(Node& made, Node* running);  // into made.metadata: the stack, and the node that is running, if any
  void (*report)(const Node& failed);         // warns, with the stacks of the node and of those that induced it
};
void install_anomaly_reporter(const AnomalyReporter& reporter);

// No-ops while the mode is off.
void record_origin(Node& made, Node* running);
void report_failure(const Node& failed);

// Error: one of these results of `node` holds a NaN.
void refuse_nan(const Node& node, const TensorList& results);

}  // namespace gradlife
