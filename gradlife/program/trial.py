"""A run that is compared with another: with fixed seeds, changed sources, and recorded losses.

A loss is a tensor with one number on which the program calls `backward`.
"""

from __future__ import annotations

import functools
import json
import os
import random
import struct
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

from gradlife.descriptors import move_up
from gradlife.hunting.process.changed_sources import change_sources
from gradlife.hunting.process.import_watch import when_imported
from gradlife.safe_access import LibraryObject, is_a, member, values_in

SEED = 0
SOURCES, LOSSES = "sources.json", "losses"


def prepare_trial(folder: str, texts: dict[str, str]) -> None:
    """Write the changed sources for a trial, by file path."""
    Path(folder, SOURCES).write_text(json.dumps(texts), encoding="utf-8")


def begin_trial(folder: str) -> None:
    """Set seeds, changed sources and the loss log, before the program is loaded."""
    random.seed(SEED)
    when_imported("numpy.random", lambda module: module.seed(SEED))
    when_imported("torch", lambda module: module.manual_seed(SEED))
    sources = Path(folder, SOURCES)
    if sources.exists():
        change_sources(json.loads(sources.read_text(encoding="utf-8")))
    when_imported("torch.autograd", LossLog(folder).attach)


def losses_of(folder: str) -> tuple[float, ...]:
    """Return the losses that a trial recorded; none if several processes recorded some: their order means nothing."""
    files = list(Path(folder).glob(f"{LOSSES}.*"))
    data = files[0].read_bytes() if len(files) == 1 else b""
    return tuple(value for (value,) in struct.iter_unpack("<d", data[: len(data) // 8 * 8]))


class LossLog:
    """Records the losses of all backward passes in this process, except nested ones."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._process = os.getpid()
        self._file = -1
        self._inside = threading.local()

    def attach(self, autograd: ModuleType) -> None:
        """Wrap the function that `Tensor.backward` and `autograd.grad` both call, if this torch has it."""
        plain = getattr(autograd, "_engine_run_backward", None)
        if plain is None:
            return

        @functools.wraps(plain)
        def run_backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if getattr(self._inside, "is_now", False) or os.getpid() != self._process:
                return plain(tensors, *args, **kwargs)
            self._inside.is_now = True
            try:
                self._write(tensors)
                return plain(tensors, *args, **kwargs)
            finally:
                self._inside.is_now = False

        vars(autograd)["_engine_run_backward"] = run_backward

    def _write(self, tensors: Any) -> None:
        values = [*numbers(values_in(tensors) if is_a(tensors, (tuple, list)) else (tensors,))]
        if values and self._file < 0:
            path = os.path.join(self._folder, f"{LOSSES}.{self._process}")
            self._file = move_up(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        if values:
            os.write(self._file, struct.pack(f"<{len(values)}d", *values))


def numbers(tensors: Iterable[LibraryObject]) -> Iterator[float]:
    """Yield the values of one-element tensors, without functions of their classes; skip those that cannot be read now."""
    with without_modes():
        for tensor in tensors:
            try:
                if tensor.numel() == 1:
                    yield float(tensor.item())
            except Exception:  # a tensor of a mode, or a complex one: the program goes on
                continue


@contextmanager
def without_modes() -> Iterator[None]:
    """Enter a block in which no mode is active, neither the program's nor one that records, and no class of a tensor
    handles functions of torch.
    """
    dispatch = member("torch.utils._python_dispatch", "_disable_current_modes", nullcontext)
    functions = member("torch._C", "DisableTorchFunction", nullcontext)
    with dispatch(), functions():
        yield
