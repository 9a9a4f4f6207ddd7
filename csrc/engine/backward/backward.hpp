// The backward pass.
#pragma once

#include "engine/graph/autograd.hpp"
#include "engine/graph/node.hpp"

namespace gradlife {

struct BackwardOptions {
  bool keep_graph = false;
  bool create_graph = false;
  bool accumulate = true;  // into .grad; false: only `inputs` are wanted (autograd.grad)
};

// Run backward from `roots` with `gradients`. With `inputs`, run only the nodes on paths to them; without `accumulate`,
// return their gradients (empty if unused). Iterative, so graphs may be of any depth; reentrant and safe in several
// threads.
TensorList run_backward(const EdgeList& roots, TensorList gradients, const BackwardOptions& options,
                        const EdgeList& inputs);

// Whether this thread's backward needs the gradient of this edge. True outside a backward.
bool is_wanted(const Edge& edge);

}  // namespace gradlife
