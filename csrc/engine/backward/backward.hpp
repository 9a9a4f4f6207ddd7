// Running the graph backwards.
#pragma once

#include "engine/graph/autograd.hpp"
#include "engine/graph/node.hpp"

namespace gradlife {

struct BackwardOptions {
  bool keep_graph = false;
  bool create_graph = false;
  bool allow_unused = false;
  bool accumulate = true;  // into .grad; false: only `inputs` are wanted (autograd.grad)
};

// Runs from `roots` with `gradients`. With `inputs` only what leads to them runs, and without `accumulate` their
// gradients are returned (empty where unused). Iterative: the depth of the graph does not matter. Reentrant, and
// several threads may run tasks of their own.
TensorList run_backward(const EdgeList& roots, TensorList gradients, const BackwardOptions& options,
                        const EdgeList& inputs);

// Returns whether this thread's backward needs the gradient of this edge. True outside a backward.
bool is_wanted(const Edge& edge);

}  // namespace gradlife
