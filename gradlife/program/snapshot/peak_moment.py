"""The moment at which memory peaks in a step."""

from __future__ import annotations

from collections.abc import Callable

from gradlife.heap.torch_layout.torch import ensure_calibrated
from gradlife.hunting.process.import_watch import when_imported
from gradlife.peaks.recording.torch import Contexts
from gradlife.peaks.session import PeakSession


class AtPeak(PeakSession):
    """Records a step, and acts in the next one at the operation at which memory peaked."""

    def __init__(self, contexts: Contexts, act: Callable[[], object]) -> None:
        super().__init__(contexts, id)
        self._act = act

    def _read_holders(self) -> None:
        self._peaks.clear()
        self._act()


class PeakMoment:
    """Acts once, at the peak of a step."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act
        self._contexts = Contexts()
        self._session: AtPeak | None = None
        when_imported("torch.optim.optimizer", self._contexts.attach)

    def begin(self) -> None:
        """Begin anew, with steps of another kind."""
        if self._session is not None:
            self._session.close()
        ensure_calibrated()  # not in the midst of a step
        self._session = AtPeak(self._contexts, self._act)

    def step(self, *, is_over: bool) -> None:
        """Count one step; the recording stops if the peak is over."""
        if self._session is not None and (is_over or self._session.step()):
            self._session.close()
            self._session = None
