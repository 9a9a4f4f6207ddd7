"""Builders for tests of the engine: leaves, counted hooks, threads."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as torch

grad: Any = torch.autograd.grad  # never None where the tests look


def leaf(*values: float) -> Any:
    """A float32 vector that requires grad; ``[2.0]`` where no values are given."""
    return torch.tensor(list(values) or [2.0], requires_grad=True)


def text_of(error: pytest.ExceptionInfo[BaseException]) -> str:
    return str(error.value)


def copy_of(tensor: Any) -> Any:
    return tensor.detach().clone()


def identity(value: Any) -> Any:
    return value


class Mark:
    """Something that a weak reference can watch, put where a node keeps it."""


class Packed:
    """A value that a pack hook may return: a box that can be watched and counted."""

    def __init__(self, tensor: Any) -> None:
        self.values = tensor.tolist()


class Counted:
    """A pair of hooks and one packed object, with the references to each beyond those at the start."""

    def __init__(self) -> None:
        self.box = Packed(torch.tensor([7.0]))
        self.pack: Any = lambda tensor: self.box
        self.unpack: Any = lambda box: torch.tensor(box.values)
        self.base = [0, 0, 0]
        self.rebase()

    def rebase(self) -> None:
        self.base = [0, 0, 0]
        self.base = self.counts()

    def counts(self) -> list[int]:
        """References to [pack, unpack, packed] beyond those at the start."""
        objects = (self.pack, self.unpack, self.box)
        return [sys.getrefcount(item) - base for item, base in zip(objects, self.base, strict=True)]


def telling_hooks(log: list[str], name: str) -> Any:
    """Saved-tensor hooks that copy, and tell the log when they run."""

    def pack(tensor: Any) -> Any:
        log.append(f"pack {name}")
        return copy_of(tensor)

    def unpack(tensor: Any) -> Any:
        log.append(f"unpack {name}")
        return tensor

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


def in_thread(function: Callable[[], Any]) -> Any:
    """The function's result, or its exception, from a thread of its own."""
    result: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            result.append(function())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return result[0]
