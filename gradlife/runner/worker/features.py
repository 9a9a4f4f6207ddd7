"""What a scenario may need of a framework, found out by trying."""

from __future__ import annotations

import importlib
import warnings
from typing import Any, Callable


def reach(fw: Any, dotted: str) -> bool:
    """Is there something under this dotted name of the framework? Submodules are imported on the way."""
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
    except (AttributeError, TypeError):  # OneFlow's nodes have the name alone
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


FEATURES: dict[str, Callable[[Any], bool]] = {
    "hooks": has_hooks,
    "numpy": has_numpy,
    "engine": is_engine,
    "legacy": calls_legacy_functions,
    "cxx_metadata": has_cxx_metadata,
    "checkpoint_by_hooks": has_checkpoint_by_hooks,
    "compile": has_compile,
}


def missing_feature(fw: Any, needs: str) -> str | None:
    """Why a scenario with these needs cannot run here, or None if it can."""
    for word in needs.split():
        check = FEATURES.get(word)
        if check is None and "." not in word:
            raise ValueError("unknown word {!r} in needs; known: {}".format(word, ", ".join(sorted(FEATURES))))
        if check is None and not reach(fw, word):
            return f"needs {word}"
        if check is not None and not check(fw):
            return "needs {}: {}".format(word, (check.__doc__ or "").rstrip("."))
    return None
