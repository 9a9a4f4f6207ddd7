// The policy `closure`, after micrograd: a result holds a closure over itself and its inputs, as `out._backward` does.
//
// The closure is a tuple of wrappers: (result, inputs...). It belongs to the result's impl, and the result's wrapper
// shows it to the collector as its own; so every result lies in a cycle of Python's that only the collector frees.
#pragma once

#include "base/pyref.hpp"
#include "engine/tensor/tensor.hpp"

namespace gradlife {

bool awaits_closure(const TensorImpl& tensor);
// Makes the closures of a result and of the results behind it that never had a wrapper.
void close_over(const Tensor& result);
// Whoever holds the node that was asked from a result holds what its closure holds.
void hold_closure(const TensorImpl& result, PyObject* node);

// For the wrapper of an impl: what it shows and clears of the closure, and of the node's hooks where it alone owns
// them.
int visit_closure(const TensorImpl& impl, visitproc visit, void* arg);
void clear_closure(TensorImpl& impl);
// A tensor drops a gradient that has history with its wrapper: that may lead back to the tensor, out of Python's
// sight.
void leave_gradient(TensorImpl& impl);
const TensorImpl* gradient_to_leave(const TensorImpl& impl);  // nullptr: none
// The hooks of a node with one output belong to the wrapper of that output, when nobody else owns the impl.
bool may_show_node_hooks(const TensorImpl& impl);

}  // namespace gradlife
