"""Labels of references in C++ and of the interpreter, as `csrc/base/labels.hpp` declares them."""

from __future__ import annotations

from gradlife._heap import LABELS

ITS_IMPL = LABELS["its_impl"]
ITS_WRAPPER = LABELS["its_wrapper"]
#: From a storage to the owner of borrowed memory.
MEMORY_OF = LABELS["memory_of"]

NEXT_EDGE = LABELS["next_edge"]
VARIABLE = LABELS["variable"]
METADATA = LABELS["metadata"]
INPUT_METADATA = LABELS["input_metadata"]
REPLAYED_OPERATION = LABELS["replayed_operation"]
SAVED_GRAD_FN = LABELS["saved_grad_fn"]
SAVED_ACCUMULATOR = LABELS["saved_accumulator"]

HOOKS = LABELS["hooks"]
PREHOOKS = LABELS["prehooks"]
TENSOR_HOOKS = LABELS["tensor_hooks"]
POST_ACCUMULATE_HOOKS = LABELS["post_accumulate_hooks"]
HOOK_TABLE = LABELS["hook_table"]
PACK_HOOK = LABELS["pack_hook"]
UNPACK_HOOK = LABELS["unpack_hook"]
PACKED = LABELS["packed"]

#: The type of a root: a running function.
RUNNING_FRAME = LABELS["running_frame"]
#: The prefix of a variable that a function's caller passes.
ARGUMENT = LABELS["argument"]
THREAD_DICTS = LABELS["thread_dicts"]
CACHED_ARGUMENTS = LABELS["cached_arguments"]
