"""Passes through modules after the last training step: what serves or evaluates for long takes no steps.

They are counted, not timed, so that rounds of them are the same on every machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from gradlife import _heap

#: Passes without a backward pass or an optimizer's step after which they count, also in times the longest pause that a
#: training step has ended: an evaluation in each epoch is no phase of its own.
QUIET, QUIET_PAUSES = 100, 4

#: How many times as many passes there are at the end of a round as at its beginning: rounds are few however many passes.
ROUND_GROWTH = 1.3


class LaterPasses:
    """Counts the calls of modules, without those within others, since the last training step in any thread.

    ``on_round`` is called with their number at the end of each round, ``on_training`` when training goes on after that.
    """

    def __init__(self, on_round: Callable[[int], object], on_training: Callable[[], object]) -> None:
        self._on_round = on_round
        self._on_training = on_training
        self._is_counting = self._has_rounds = False
        self._longest = 0  # pause that a training step has ended

    def trained(self) -> None:
        """Count from here on: a backward pass or an optimizer's step."""
        if not self._is_counting:
            self._start()
        self._longest = max(self._longest, _heap.counted_calls())
        _heap.set_counted_calls(0, max(QUIET, QUIET_PAUSES * self._longest))
        if self._has_rounds:
            self._has_rounds = False
            self._on_training()

    @property
    def number(self) -> int:
        """Passes since the last training step; 0 if there was none."""
        return _heap.counted_calls() if self._is_counting else 0

    def stop(self) -> None:
        """Stop counting."""
        if self._is_counting:
            self._is_counting = False
            _heap.count_calls(None, None)

    def _start(self) -> None:
        module: Any = sys.modules.get("torch.nn.modules.module")
        call = module.Module.__call__ if module is not None else None
        if isinstance(call, FunctionType):
            _heap.count_calls(call, self._end_round)
            self._is_counting = True

    def _end_round(self) -> None:
        number = _heap.counted_calls()
        _heap.set_counted_calls(number, int(ROUND_GROWTH * number))
        self._has_rounds = True
        self._on_round(number)
