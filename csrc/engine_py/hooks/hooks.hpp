// Hooks written in Python: each engine hook stands for a dict of callables, so that a removable handle can remove one.
#pragma once

#include <memory>

#include "base/pyref.hpp"
#include "engine/graph/hooks.hpp"
#include "engine/graph/node.hpp"

namespace gradlife {

std::shared_ptr<TensorHook> make_tensor_hook(Borrowed dict);
std::unique_ptr<PostAccumulateHook> make_post_accumulate_hook(Borrowed dict);

// Puts `callable` on a node, as `node.register_hook` does; returns the removable handle.
Ref register_post_hook(Node& node, Borrowed callable);
Ref register_pre_hook(Node& node, Borrowed callable);
// Connects a tensor's dict of hooks with the node that made it (`node._register_hook_dict(tensor)`).
void register_hook_dict(Node& node, Borrowed tensor);

}  // namespace gradlife
