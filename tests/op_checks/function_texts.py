"""The error texts of PyTorch's releases for a Function whose node is gone, word for word."""

from __future__ import annotations

DOCUMENTATION = "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function"
EXTENDING = "https://pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd"
NODE_IS_GONE = (
    "You attempted to access the anomaly metadata of a custom autograd function but the underlying PyNode has already been "
    "deallocated.  The most likely reason this occurred is because you assigned x.grad_fn to a local variable and then let "
    "the original variable get deallocated.  Don't do that!  If you really have no way of restructuring your code so this "
    "is the case, please file an issue reporting that you are affected by this."
)
NEXT_BEFORE_CALL = (
    "Legacy autograd function had next_functions accessed before the function was invoked.  This doesn't make any sense: we "
    "have no idea what the next functions are, because you haven't actually inserted this grad_fn inside a graph.  Try "
    "invoking your function first before accessing this field."
)
HOOK_BEFORE_CALL = (
    "Legacy autograd function had _register_hook called before the function was invoked.  This usage pattern is no longer "
    "supported: please call _register_hook AFTER calling your function, or port your code to use non-legacy autograd "
    f"function, see: {EXTENDING}"
)
HOOK_DICT_BEFORE_CALL = HOOK_BEFORE_CALL.replace("_register_hook", "register_hook")
CALLED_TWICE = (
    "Legacy autograd function object was called twice.  You will probably get incorrect gradients from this computation, as "
    "the saved tensors from the second invocation will clobber the saved tensors from the first invocation.  Please consider "
    f"rewriting your autograd function in the modern style; for information on the new format, please see: {EXTENDING}"
)
DEPRECATED = (
    "Legacy autograd function with non-static forward method is deprecated and will be removed in 1.3. Please use new-style "
    f"autograd function with static forward method. (Example: {DOCUMENTATION})"
)
REFUSAL = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with "
    f"static forward method. (Example: {DOCUMENTATION})"
)
BACKWARD_BEFORE_CALL = (
    "Legacy autograd function attempted to call backward before forward was called.  This could occur if you manually called "
    "_do_backward on Function.  In any case, this is very naughty!  If you absolutely need this to work, try porting your "
    f"code to use non-legacy autograd function, see: {EXTENDING}"
)


def invalid(attribute: str) -> str:
    return (
        f"Attribute '{attribute}' is invalid for this instance of _C._FunctionBase. Accessing this attribute directly on an "
        "instance of autograd.Function is a legacy access pattern that is no longer supported. For examples on how to use "
        f"new-style autograd functions, see {DOCUMENTATION} "
    )
