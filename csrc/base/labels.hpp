// Labels of references and of roots, declared here for the engine, for every provider and for Python
// (`gradlife._heap.LABELS`).
#pragma once

// X(name, text)
#define GRADLIFE_LABELS(X)                          \
  X(its_impl, "its C++ object")                     \
  X(its_wrapper, "its wrapper")                     \
  X(memory_of, "memory of")                         \
  X(next_edge, "next edge")                         \
  X(hooks, "hooks")                                 \
  X(prehooks, "prehooks")                           \
  X(tensor_hooks, "tensor hooks")                   \
  X(post_accumulate_hooks, "post-accumulate hooks") \
  X(hook_table, "hook table")                       \
  X(pack_hook, "pack hook")                         \
  X(unpack_hook, "unpack hook")                     \
  X(packed, "packed")                               \
  X(metadata, "metadata")                           \
  X(variable, "variable")                           \
  X(saved_tensor, "saved tensor")                   \
  X(saved_grad_fn, "saved grad_fn")                 \
  X(saved_accumulator, "saved accumulator")         \
  X(replayed_operation, "replayed operation")       \
  X(input_metadata, "input metadata")               \
  X(running_frame, "running frame")                 \
  X(argument, "argument ")                          \
  X(thread_dicts, "its dicts by thread")            \
  X(cached_arguments, "the arguments of a cached call")

namespace gradlife::labels {

#define GRADLIFE_LABEL(name, text) inline constexpr const char* name = text;
GRADLIFE_LABELS(GRADLIFE_LABEL)
#undef GRADLIFE_LABEL

}  // namespace gradlife::labels
