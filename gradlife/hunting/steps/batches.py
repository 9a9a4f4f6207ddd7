"""Steps of programs in which no optimizer fires: one batch of a DataLoader each."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

#: Batches that are taken without any optimizer's firing before they count.
WARMUP_BATCHES = 8

Step = Callable[[], object]


class BatchSteps:
    """Hears every batch that is taken from a DataLoader in this process."""

    def __init__(self, begin: Callable[[str], Step]) -> None:
        self._begin = begin
        self._step: Step | None = None
        self.heard = 0  # batches that were taken while they were wanted
        self.is_wanted = True  # until an optimizer is stepped by
        self._undo: Callable[[], object] = lambda: None

    def detach(self) -> None:
        """Puts the iterators' own next back."""
        self.is_wanted = False
        self._undo()

    def attach(self, dataloader_module: Any) -> None:
        """Wraps the iterators' next."""
        iterator = dataloader_module._BaseDataLoaderIter
        plain = iterator.__next__
        self._undo = functools.partial(setattr, iterator, "__next__", plain)

        @functools.wraps(plain)
        def next_batch(loader: Any) -> Any:
            self._about_to_take()
            return plain(loader)

        iterator.__next__ = next_batch

    def _about_to_take(self) -> None:
        """The batch before is done with."""
        if not self.is_wanted:
            return
        self.heard += 1
        if self._step is not None:
            self._step()
        elif self.heard > WARMUP_BATCHES:
            self._step = self._begin("batch of a DataLoader")
