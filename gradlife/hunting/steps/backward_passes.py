"""Steps of programs without optimizers and DataLoaders: one backward pass each.

Module calls are not steps: a language model is called once per token, and its cache of earlier tokens grows by design.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from gradlife.hunting.steps.compiler import uncompiled
from gradlife.hunting.steps.count_step import Begin, CountStep
from gradlife.hunting.steps.replacement import replaced
from gradlife.safe_access import LibraryObject

#: Backward passes before they count as steps, if nothing better is found.
WARMUP_PASSES = 8


class BackwardSteps:
    """Listens to every backward pass except nested ones. The first ``warmup`` ones are no steps."""

    def __init__(self, begin: Begin, warmup: int = WARMUP_PASSES) -> None:
        self._begin = begin
        self._warmup = warmup
        self._step: CountStep | None = None
        self.heard = 0  # passes while listening
        self._running: set[int] = set()  # the threads that have begun a pass
        self.is_wanted = True  # until better steps are found
        self.resumes: Callable[[], bool] = lambda: False  # whether passes are wanted again from now on
        self.on_pass: Callable[[], object] = lambda: None  # called after each pass
        self._undo: Callable[[], object] = lambda: None

    def detach(self) -> None:
        """Restore torch's own function."""
        self.is_wanted = False
        self._undo()

    def forget(self) -> None:
        """Begin anew at the next pass."""
        self.is_wanted, self._step = True, None

    def attach(self, autograd: LibraryObject) -> None:
        """Wrap the function that `Tensor.backward` and `autograd.grad` both call, if this torch has it."""
        plain = getattr(autograd, "_engine_run_backward", None)
        if plain is None:
            return

        @functools.wraps(plain)
        def run_backward(*args: Any, **kwargs: Any) -> Any:
            return self._around(plain, *args, **kwargs)

        self._undo = replaced(autograd, "_engine_run_backward", run_backward)

    def _around(self, plain: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        thread = threading.get_ident()
        if thread in self._running:
            return plain(*args, **kwargs)
        self._running.add(thread)
        try:
            return plain(*args, **kwargs)
        finally:
            self._running.discard(thread)
            self._count()

    def count_replayed(self) -> None:
        """Count a pass that a graph has replayed. During a pass it is a part of it, in a thread of the device."""
        if not self._running:
            self._count()

    @uncompiled
    def _count(self) -> None:
        self.heard += 1
        self.on_pass()
        if not self.is_wanted and not self.resumes():
            return
        if self._step is not None:
            self._step()
        elif self.heard > self._warmup:
            self._step = self._begin("backward pass")
