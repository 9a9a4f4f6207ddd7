// Anomaly mode: every node records its stack and the node running at the time, so that a failing backward can name the
// line of the forward.
#pragma once

#include "engine/tensor/tensor.hpp"

namespace gradlife {

class Node;

// Process-wide, as in PyTorch.
struct AnomalyMode {
  bool is_enabled = false;
  bool checks_nan = true;
};
extern AnomalyMode anomaly_mode;

// Callbacks into the embedding language.
struct AnomalyReporter {
  void (*record)(Node& made, Node* running);  // into made.metadata: the stack, and the node that is running, if any
  void (*report)(const Node& failed);         // warns with the stacks of the node and its parents
};
void install_anomaly_reporter(const AnomalyReporter& reporter);

// Both do nothing while the mode is off.
void record_origin(Node& made, Node* running);
void report_failure(const Node& failed);

// Raise if a result of `node` contains NaN.
void refuse_nan(const Node& node, const TensorList& results);

}  // namespace gradlife
