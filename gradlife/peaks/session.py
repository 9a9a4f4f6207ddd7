"""`PeakSession`: which steps `gradlife peak` records, and when it reads the holders of storages.

After a warm-up, the first recorded step shows where memory peaks. The second one is judged: at its peaks the holders
are read. In the third, the storages of the second die. If the second step runs other operations than the first, as where
each other step collects data, the higher of both shows the peaks, and the next step like it is judged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from gradlife import _heap
from gradlife.heap.torch_layout.torch import unread_layout
from gradlife.hunting.process.forked import in_fork
from gradlife.model.peak.report import PeakReport
from gradlife.peaks.analysis.holder_snapshots import HolderSnapshot
from gradlife.peaks.analysis.judge import Judge, Recorded, judged
from gradlife.peaks.analysis.scouting import highest_step, scout_peaks
from gradlife.peaks.recording.compiled import limits_of
from gradlife.peaks.recording.holders import holders_now
from gradlife.peaks.recording.torch import Contexts, Recorder

#: Steps before the recording. Earlier calls, which show what a step is, do not count.
WARMUP = 2

#: Recorded steps. There is another one if the savings would make other moments the peak.
RECORDED = 3

#: Last step that may be judged, where steps differ; and what the report says if none was like the one with the peaks.
LAST_JUDGED = 6
UNLIKE = "The recorded steps run different operations: what holds memory at the peak may not be known."

#: Steps that other threads may take in a row, while the recorded thread takes none.
MAX_FOREIGN = 8

#: Number of such other peaks at which holders are read.
MAX_OTHER_PEAKS = 6


class PeakSession:
    """Counts steps, records some of them, and reports once."""

    def __init__(self, contexts: Contexts, on_report: Callable[[PeakReport], object], warmup: int = WARMUP) -> None:
        self._contexts = contexts
        self._on_report = on_report
        self._warmup = warmup
        self._steps = 0
        self._recorder: Recorder | None = None
        self._foreign = 0  # steps that other threads took since the last one of the recorded thread
        self._first = 0  # the first operation of the current step
        self._judged = 1  # the number of the judged step among the recorded ones
        self._like = 0  # the number of the step whose peaks are known
        self._peaks: list[int] = []  # where to read the holders in this step: operations, counted from its first
        self._snapshots: list[HolderSnapshot] = []  # the holders read so far
        self._malloc: dict[int, tuple[int, int]] = {}  # bytes that malloc has handed out, and those for our records
        self.about = PeakReport("", "")
        self.report: PeakReport | None = None

    def step(self) -> bool:
        """Count one step. Return whether the report is known."""
        if self._is_foreign():
            return False
        self._steps += 1
        if self.report is not None:
            return True
        if self._recorder is None:
            if self._steps >= self._warmup:
                self._start()
            return False
        first = self._recorder.mark_step()
        recorded, last = self._steps - self._warmup, self._judged + RECORDED - 1
        if recorded == 1:
            self._look_for(first, lambda: scout_peaks(self._so_far(), 0))
        elif recorded == self._judged + 1 and recorded <= LAST_JUDGED and not self._is_alike():
            self._like = in_fork(lambda: highest_step(self._so_far()))
            self._judged += 1
            self._look_for(first, lambda: scout_peaks(self._so_far(), self._like))
        elif recorded == last:
            self._look_for(first, self._other_peaks)
        if recorded > last or (recorded == last and not self._peaks):
            self._finish()
        return self.report is not None

    def _is_foreign(self) -> bool:
        """Whether another thread than the recorded one takes this step. If only others do, the recording begins anew."""
        if self._recorder is None or not self._recorder.is_on or self._recorder.is_here:
            self._foreign = 0
            return False
        self._foreign += 1
        if self._foreign > MAX_FOREIGN:
            self.close()
            self._recorder, self._steps, self._foreign = None, 0, 0
            self._judged, self._like, self._peaks = 1, 0, []
            self._snapshots.clear()
            self._malloc.clear()
        return True

    def _look_for(self, first: int, peaks: Callable[[], list[int]]) -> None:
        """Read the holders at some peaks of the step that begins with an operation."""
        self._first, self._peaks = first, in_fork(peaks)
        self._note_malloc(first)
        self._set_alarm()

    def _is_alike(self) -> bool:
        """Whether the step to judge ran as many operations as the one whose peaks are known."""
        assert self._recorder is not None
        lengths = [end - start for start, end in pairwise(self._recorder.steps)]
        return lengths[self._judged] == lengths[self._like]

    def close(self) -> None:
        """Stop the recording without a report."""
        if self._recorder is not None and self._recorder.is_on:
            self._recorder.stop()

    def conclude(self) -> None:
        """Report if enough steps are recorded, and stop: there are no more steps."""
        recorded = self._steps - self._warmup
        if self.report is None and recorded >= RECORDED:
            self._judged = min(self._judged, recorded - RECORDED + 1)
            self._finish()
        self.close()

    def _other_peaks(self) -> list[int]:
        """Return the moments that would be the peak after the savings."""
        return Judge(Recorded(self._so_far(), self._snapshots, self._judged)).other_peaks()[:MAX_OTHER_PEAKS]

    def _so_far(self) -> Any:
        assert self._recorder is not None
        return self._recorder.so_far()

    def _start(self) -> None:
        self._recorder = Recorder(self._contexts, self._read_holders)
        self._recorder.start()

    def _set_alarm(self) -> None:
        assert self._recorder is not None
        if self._peaks:
            self._recorder.alarm_at(self._first + self._peaks[0])

    def _read_holders(self) -> None:
        """Read the holders of all storages. The recorder calls this at the operation of an alarm."""
        operation = self._first + self._peaks.pop(0)
        self._note_malloc(operation)
        self._snapshots.append(HolderSnapshot(operation, in_fork(holders_now)))
        self._set_alarm()

    def _note_malloc(self, operation: int) -> None:
        nbytes = _heap.malloc_bytes()
        if nbytes is not None:
            self._malloc[operation] = nbytes, _heap.followed_bytes()

    def _finish(self) -> None:
        assert self._recorder is not None
        unlike = () if self._is_alike() else (UNLIKE,)
        unread = unread_layout()
        recording = self._recorder.stop()
        about = replace(
            self.about,
            warmup_steps=self.about.warmup_steps + self._warmup,
            limits=(*([f"{unread}."] if unread else []), *self.about.limits, *unlike, *limits_of(recording)),
        )
        recorded = Recorded(recording, self._snapshots, self._judged, self._contexts.seconds, self._malloc)
        self.report = in_fork(lambda: judged(recorded, about))
        self._on_report(self.report)
