// The policy `closure`, after micrograd: a result holds a closure over itself and its inputs, as `out._backward` does.
//
// The closure is a tuple of wrappers: (result, inputs...). The result's impl owns it, and the result's wrapper shows it
// to the collector as its own. So every result is in a Python cycle that only the collector frees.
#pragma once

#include "base/pyref.hpp"
#include "engine/tensor/tensor.hpp"

namespace gradlife {

bool awaits_closure(const TensorImpl& tensor);
// Makes the closures of a result and of the results behind it that never had a wrapper.
void close_over(const Tensor& result);
// Lets a node that was read from a result hold what the result's closure holds.
void hold_closure(const TensorImpl& result, PyObject* node);

// For an impl's wrapper: visits and clears the closure, and the node's hooks if the wrapper alone owns them.
int visit_closure(const TensorImpl& impl, visitproc visit, void* arg);
void clear_closure(TensorImpl& impl);
// A tensor drops a gradient with history together with its wrapper: the gradient may lead back to the tensor, invisibly
// to Python.
void leave_gradient(TensorImpl& impl);
const TensorImpl* gradient_to_leave(const TensorImpl& impl);  // nullptr: none
// Whether the wrapper may show its node's hooks: the node has one output, and nobody else owns the impl.
bool may_show_node_hooks(const TensorImpl& impl);

}  // namespace gradlife
