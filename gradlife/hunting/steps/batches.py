"""Counts each batch of a DataLoader as a step, in programs without an optimizer."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gradlife.hunting.steps.count_step import Begin, CountStep
from gradlife.hunting.steps.replacement import replaced

#: Wait this many batches for an optimizer to step. If no optimizer does, each later batch is a step.
WARMUP_BATCHES = 8


class BatchSteps:
    """Listens to every batch taken from a DataLoader in this process.

    `begin`, given a name for the steps, starts the hunt and returns the function to call at each step.
    """

    def __init__(self, begin: Begin) -> None:
        self._begin = begin
        self._step: CountStep | None = None
        self._is_in_use = False  # whether the program works on a batch that is not counted yet
        self.heard = 0  # batches finished while listening
        self.is_wanted = True  # False once an optimizer's steps are counted instead
        self.resumes: Callable[[], bool] = lambda: False  # whether batches are wanted again from now on
        self._undo: Callable[[], object] = lambda: None

    def detach(self) -> None:
        """Restore the iterators' own `__next__`."""
        self.is_wanted = False
        self._undo()

    def attach(self, dataloader_module: Any) -> None:
        """Wrap the iterators' `__next__`."""
        iterator_class = dataloader_module._BaseDataLoaderIter
        plain = iterator_class.__next__

        @functools.wraps(plain)
        def next_batch(iterator: Any) -> Any:
            self._finish()
            batch = plain(iterator)
            self._is_in_use = True
            return batch

        self._undo = replaced(iterator_class, "__next__", next_batch)

    def forget(self) -> None:
        """Begin anew at the next batch."""
        self.is_wanted, self._step = True, None

    def _finish(self) -> None:
        """Count the previous batch as a step: it is finished, because the program asks for another one.

        The end of a pass finishes the last batch, so that the first batch of the next pass finishes none. The first
        `WARMUP_BATCHES` are no steps. Then the hunt begins.
        """
        if not self._is_in_use:
            return
        self._is_in_use = False
        self.heard += 1
        if not self.is_wanted and not self.resumes():
            return
        if self._step is not None:
            self._step()
        elif self.heard >= WARMUP_BATCHES:
            self._step = self._begin("batch of a DataLoader")
