"""A progress bar and a line about work, on standard error, shown only on a terminal."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from gradlife.reports.theme import make_console
from gradlife.runner.api import Progress as RunProgress


class ProgressBar:
    """The progress of a run: the latest finished story, and the number of failed stories."""

    def __init__(self) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=make_console(sys.stderr),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task = self._bar.add_task("starting", total=None)
        self._failures = 0

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def show(self, progress: RunProgress) -> None:
        """Advance the bar."""
        text = "starting"
        if progress.run is not None:
            self._failures += progress.run.is_failure
            text = progress.run.system + (f", {self._failures} failed" if self._failures else "")
        self._bar.update(self._task, completed=progress.done, total=progress.total, description=text)


def working(text: str) -> AbstractContextManager[object]:
    """Show what is done in a block, with a sign of life; it is erased at the end of the block."""
    return make_console(sys.stderr).status(text, spinner="line") if sys.stderr.isatty() else nullcontext()
