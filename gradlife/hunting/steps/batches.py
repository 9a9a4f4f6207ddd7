"""Counts each batch of a DataLoader as a step, in programs without an optimizer."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

from gradlife.hunting.steps.compiler import uncompiled
from gradlife.hunting.steps.count_step import Begin, CountStep
from gradlife.hunting.steps.replacement import replaced
from gradlife.safe_access import LibraryObject

#: Wait this many batches for an optimizer to step. If no optimizer does, each later batch is a step.
WARMUP_BATCHES = 8

#: Batches of other iterators after which one that takes none meanwhile no longer leads: it waits for a loop inside its own.
MANY_OF_OTHERS = 8


class BatchSteps:
    """Listens to every batch taken from a DataLoader in this process.

    `begin`, given a name for the steps, starts the hunt and returns the function to call at each step.
    """

    def __init__(self, begin: Begin) -> None:
        self._begin = begin
        self._step: CountStep | None = None
        self._in_use: list[weakref.ref[Any]] = []  # iterators whose last batch is not counted yet
        self._leader: weakref.ref[Any] | None = None  # of iterators that take turns, as in `zip`, the one that counts
        self._of_others = 0  # batches of others since its last
        self.heard = 0  # batches finished while listening
        self.is_wanted = True  # False once an optimizer's steps are counted instead
        self.resumes: Callable[[], bool] = lambda: False  # whether batches are wanted again from now on
        self._undo: Callable[[], object] = lambda: None

    def detach(self) -> None:
        """Restore the iterators' own `__next__`."""
        self.is_wanted = False
        self._undo()

    def attach(self, dataloader_module: LibraryObject) -> None:
        """Wrap the iterators' `__next__`."""
        iterator_class = dataloader_module._BaseDataLoaderIter
        plain = iterator_class.__next__

        @functools.wraps(plain)
        def next_batch(iterator: Any) -> Any:
            self._finish(iterator)
            try:
                batch = plain(iterator)
            except StopIteration:
                if self._leads(iterator):
                    self._leader = None
                raise
            if not self._follows(iterator) or self._of_others >= MANY_OF_OTHERS:
                self._in_use.append(weakref.ref(iterator))
            else:
                self._of_others += 1
            return batch

        self._undo = replaced(iterator_class, "__next__", next_batch)

    def forget(self) -> None:
        """Begin anew at the next batch."""
        self.is_wanted, self._step = True, None

    @uncompiled
    def _finish(self, iterator: Any) -> None:
        """Count the iterator's previous batch as a step: it is finished, because the program asks for another one.

        The end of a pass finishes the last batch, so that the first batch of the next pass finishes none. The first
        `WARMUP_BATCHES` are no steps. Then the hunt begins.
        """
        finished = next((one for one in self._in_use if one() is None or one() is iterator), None)
        if finished is None:
            return
        self._in_use = [one for one in self._in_use if one() is not None and one() is not iterator]
        if self._follows(finished()) and self._of_others < MANY_OF_OTHERS:
            return
        self._leader, self._of_others = finished, 0
        self.heard += 1
        if not self.is_wanted and not self.resumes():
            return
        if self._step is not None:
            self._step()
        elif self.heard >= WARMUP_BATCHES:
            self._step = self._begin("batch of a DataLoader")

    def _leads(self, iterator: Any) -> bool:
        return self._leader is not None and self._leader() is iterator

    def _follows(self, iterator: Any) -> bool:
        """Whether another iterator leads."""
        leader = self._leader() if self._leader is not None else None
        return leader is not None and leader is not iterator
