"""Features of a framework that a scenario may need, tested by trying.

The docstring of each test is the text of `needs NAME: ...` in reports and recordings.
"""

from __future__ import annotations

import importlib
import warnings
import weakref
from typing import Any, Callable


def reach(fw: Any, dotted: str) -> bool:
    """Whether the framework has this dotted name. Imports submodules on the way."""
    value = fw
    for part in dotted.split("."):
        if not hasattr(value, part) and getattr(value, "__path__", None) is not None:
            try:
                importlib.import_module(f"{value.__name__}.{part}")
            except ImportError:
                return False
        if not hasattr(value, part):
            return False
        value = getattr(value, part)
    return True


def has_hooks(fw: Any) -> bool:
    """Pack and unpack hooks."""
    return reach(fw, "autograd.graph.saved_tensors_hooks")


def has_numpy(fw: Any) -> bool:
    """numpy, and a framework that shares memory with it."""
    try:
        importlib.import_module("numpy")
    except ImportError:
        return False
    return hasattr(fw, "from_numpy")


def is_engine(fw: Any) -> bool:
    """The mini engine, with its live counts and its event log."""
    return hasattr(fw, "live_counts") and hasattr(fw, "owners")


def calls_legacy_functions(fw: Any) -> bool:
    """Instances of a Function with instance methods may be called."""

    class Legacy(fw.autograd.Function):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x * 2

        def backward(self, grad: Any) -> Any:
            return grad

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Legacy()(fw.ones(1))
    except Exception:
        return False
    return True


def has_cxx_metadata(fw: Any) -> bool:
    """Nodes that are not written in Python carry a metadata dictionary."""
    x = fw.ones(1)
    x.requires_grad_()
    try:
        return isinstance((x * 2).grad_fn.metadata, dict)
    except (AttributeError, TypeError):  # OneFlow's nodes have only the name
        return False


def has_checkpoint_by_hooks(fw: Any) -> bool:
    """Checkpoints that need no backward inside a backward, use_reentrant=False."""
    if not reach(fw, "utils.checkpoint.checkpoint"):
        return False
    try:
        fw.utils.checkpoint.checkpoint(lambda x: x, fw.ones(1), use_reentrant=False)
    except (TypeError, ValueError):
        return False
    return True


def has_compile(fw: Any) -> bool:
    """A compiler of Python functions, torch.compile."""
    return callable(getattr(fw, "compile", None)) and reach(fw, "_dynamo.disable")


def has_ctx_attributes(fw: Any) -> bool:
    """Attributes on the ctx of a Function."""

    class Noting(fw.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.note = None
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    return works(lambda: Noting.apply(needing_gradient(fw)))


def has_none_gradients(fw: Any) -> bool:
    """Functions whose backward has None for an input that needs no gradient."""

    class Scaling(fw.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, scale: Any) -> Any:
            return x * scale

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad, None

    return works(lambda: Scaling.apply(needing_gradient(fw), fw.ones(1)).sum().backward())


def has_node_hooks(fw: Any) -> bool:
    """Hooks on grad nodes."""
    return works(lambda: (needing_gradient(fw) * 2).grad_fn.register_hook(lambda inputs, outputs: None))


def has_tensor_attributes(fw: Any) -> bool:
    """Attributes on a tensor."""
    return works(lambda: setattr(fw.ones(1), "note", None))


def has_tensor_weakrefs(fw: Any) -> bool:
    """Weak references to a tensor."""
    return works(lambda: weakref.ref(fw.ones(1)))


def has_module_hook_handles(fw: Any) -> bool:
    """Handles that take a module's forward hook off again."""
    return works(lambda: fw.nn.Linear(1, 1).register_forward_hook(lambda module, inputs, output: None).remove())


def has_added_param_groups(fw: Any) -> bool:
    """Optimizers that take a further group of parameters."""
    return works(lambda: an_optimizer(fw).add_param_group({"params": [fw.nn.Parameter(fw.ones(1))]}))


def has_param_group_items(fw: Any) -> bool:
    """Groups of an optimizer that give their parameters as an item, ["params"]."""
    return works(lambda: an_optimizer(fw).param_groups[0]["params"])


def needing_gradient(fw: Any) -> Any:
    """Return a tensor that requires a gradient."""
    return fw.ones(1).requires_grad_()


def an_optimizer(fw: Any) -> Any:
    """Return an optimizer of one parameter."""
    return fw.optim.SGD([fw.nn.Parameter(fw.ones(1))], lr=0.1)


def works(action: Callable[[], object]) -> bool:
    """Whether the action ends without an exception."""
    try:
        action()
    except Exception:
        return False
    return True


FEATURES: dict[str, Callable[[Any], bool]] = {
    "hooks": has_hooks,
    "numpy": has_numpy,
    "engine": is_engine,
    "legacy": calls_legacy_functions,
    "cxx_metadata": has_cxx_metadata,
    "checkpoint_by_hooks": has_checkpoint_by_hooks,
    "compile": has_compile,
    "ctx_attributes": has_ctx_attributes,
    "none_gradients": has_none_gradients,
    "node_hooks": has_node_hooks,
    "tensor_attributes": has_tensor_attributes,
    "tensor_weakrefs": has_tensor_weakrefs,
    "module_hook_handles": has_module_hook_handles,
    "added_param_groups": has_added_param_groups,
    "param_group_items": has_param_group_items,
}


def missing_feature(fw: Any, needs: str) -> str | None:
    """Return which needed feature is missing here, or None."""
    for word in needs.split():
        check = FEATURES.get(word)
        if check is None and "." not in word:
            raise ValueError("unknown word {!r} in needs; known: {}".format(word, ", ".join(sorted(FEATURES))))
        if check is None and not reach(fw, word):
            return f"needs {word}"
        if check is not None and not check(fw):
            return "needs {}: {}".format(word, (check.__doc__ or "").rstrip("."))
    return None
