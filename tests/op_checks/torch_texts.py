"""Error texts of PyTorch, word for word, that several tests compare with."""

from __future__ import annotations

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors after "
    "calling backward."
)
FREED_BEFORE_1_8 = (
    "Trying to backward through the graph a second time, but the buffers have already been freed. Specify retain_graph=True "
    "when calling backward the first time."
)
HINT_ANOMALY = (
    " Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
    "torch.autograd.set_detect_anomaly(True, check_nan=False)."
)


def modified(what: str, origin: str, now: int, expected: int) -> str:
    """The text for a saved tensor that was changed in place since; ``origin`` is "" or "output 0 of Mul"."""
    made_by = f", which is {origin}," if origin else ""
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{what}]{made_by} is at version {now}; expected version {expected} instead.{HINT_ANOMALY}"
    )


DETACHED_IN_PLACE = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, please use "
    "out-of-place `.detach()` instead"
)
HOOKS_ALREADY_SET = (
    "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is allowed at a "
    "time."
)
HOOKS_ON_FREED = (
    "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are freed when "
    "you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second "
    "time or if you need to access saved variables after calling backward."
)
PACK_CHANGED_ITS_INPUT = (
    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be modified by "
    "in-place operations as this can lead to unexpected side-effects. Please open an issue if you need to perform in-place "
    "operations on the input to a pack hook."
)
IN_PLACE_ON_LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
IN_PLACE_ON_VIEW_OF_LEAF = "a view of a leaf Variable that requires grad is being used in an in-place operation."
NO_HISTORY = "element 0 of tensors does not require grad and does not have a grad_fn"
NOT_SCALAR = "grad can be implicitly created only for scalar outputs"
UNUSED = (
    "The differentiated Tensor at index {} appears to not have been used in the graph. Set allow_unused=True if this is the "
    "desired behavior."
)
UNDEFINED_TENSOR = "Expected a proper Tensor but got None (or an undefined Tensor in C++)"
