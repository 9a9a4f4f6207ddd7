"""Counts calls of modules after the last training step, because a long evaluation or a server takes no training steps.

They are counted, not timed, so that rounds of them are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType

from gradlife import _heap
from gradlife.safe_access import loaded

#: Counting begins after `QUIET` passes without a training step, and after `QUIET_PAUSES` times the longest earlier gap
#: between training steps. So the evaluation of each epoch is not a phase.
QUIET, QUIET_PAUSES = 100, 4

#: Each round ends at `ROUND_GROWTH` times the passes at its start, so the number of rounds stays small.
ROUND_GROWTH = 1.3


class LaterPasses:
    """Counts the outermost calls of modules, in all threads, since the last training step.

    ``on_round`` is called with their number at the end of each round, ``on_training`` when training goes on after that.
    """

    def __init__(self, on_round: Callable[[int], object], on_training: Callable[[], object]) -> None:
        self._on_round = on_round
        self._on_training = on_training
        self._is_counting = self._has_rounds = False
        self._longest = 0  # most passes between two training steps

    def note_training_step(self) -> None:
        """Count from here on: there was a backward pass or an optimizer's step."""
        if not self._is_counting:
            self._start()
        self._longest = max(self._longest, _heap.counted_calls())
        _heap.set_counted_calls(0, max(QUIET, QUIET_PAUSES * self._longest))
        if self._has_rounds:
            self._has_rounds = False
            self._on_training()

    @property
    def number(self) -> int:
        """Passes since the last training step; 0 if there was none, and after `stop()`."""
        return _heap.counted_calls() if self._is_counting else 0

    def stop(self) -> None:
        """Stop counting."""
        if self._is_counting:
            self._is_counting = False
            _heap.count_calls(None, None)

    def _start(self) -> None:
        """Count calls, if torch is imported and `Module.__call__` is still a Python function."""
        module = loaded("torch.nn.modules.module")
        call = module.Module.__call__ if module is not None else None
        if isinstance(call, FunctionType):
            _heap.count_calls(call, self._end_round)
            self._is_counting = True

    def _end_round(self) -> None:
        number = _heap.counted_calls()
        _heap.set_counted_calls(number, int(ROUND_GROWTH * number))
        self._has_rounds = True
        self._on_round(number)
