"""The process that watches a hunt: it watches the memory of the program, too, and reports if the program is killed."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from gradlife.hunting.process.memory_limits import Memory
from gradlife.hunting.process.own_folders import HUNT
from gradlife.hunting.process.settings import ANSWER, END, INTERIM, PROGRESS, Settings, was_refused
from gradlife.hunting.process.shared_memory import Key, SharedMemoryWatch, files_there
from gradlife.hunting.process.start_folder import environment
from gradlife.hunting.workers.merge import with_workers
from gradlife.model import hunt_codec
from gradlife.model.hunt import LEFT_NONE, HuntReport
from gradlife.program.hunt.shared_ledger import leave_ledger, with_shared_memory
from gradlife.program.parent import Guard, Result
from gradlife.program.progress import Viewer

#: How a program can end without a report, and when a signal killed it that left none.
HOW_LOST = "it became another program (os.exec), or C code ended it"
TOO_EARLY = "before enough steps were seen"


class HuntGuard(Guard[HuntReport]):
    """Runs and watches one program that is hunted in."""

    prefix = HUNT
    decode = staticmethod(hunt_codec.loads)

    def __init__(
        self,
        settings: Settings,
        memory: Memory,
        on_answer: Callable[[HuntReport], object],
        is_quiet: bool = False,
        meanwhile: Callable[[], object] = lambda: None,
        folder: str | None = None,
        viewer: Viewer | None = None,
    ) -> None:
        super().__init__(settings, on_answer, is_quiet, meanwhile, folder, viewer)
        self._memory = memory
        self._files_before: set[Key] = set()
        self._shared: SharedMemoryWatch  # once the program runs

    def run(self) -> Result[HuntReport]:
        """Run the program to its end; return its result."""
        self._files_before = {key for key, _ in files_there()}
        return super().run()

    def _environment(self) -> dict[str, str]:
        return environment()

    def _begin(self, pid: int) -> None:
        self._shared = SharedMemoryWatch(pid, self._files_before)

    def _attend(self, pid: int, requests: int) -> None:
        self._shared.look_if_due()
        if self._memory.is_time(pid):
            with suppress(OSError):
                os.write(requests, b"?")

    def _resident(self) -> int:
        return self._memory.resident

    def _ask(self, requests: int) -> None:
        with suppress(OSError):
            os.set_blocking(requests, False)  # nobody may read them
            os.write(requests, PROGRESS)

    def _last_report(self, code: int, folder: str) -> HuntReport | None:
        report = self._latest or left_report(folder) or self._without_report(code, folder)
        self._shared.add_noted(folder)
        leave_ledger(folder, self._shared.ledger())
        if report is None:
            return None
        report = with_shared_memory(with_workers(report, folder), folder)
        if code >= 0:
            return report
        early = f" {TOO_EARLY}" if report.trouble == TOO_EARLY else ""
        return replace(report, trouble=f"killed by signal {-code} at {self._memory.words}{early}")

    def _without_report(self, code: int, folder: str) -> HuntReport | None:
        """Return the report of a program that left none: it crashed, or was killed, too early, or became another program.
        None if its process has printed why it did not run.
        """
        if was_refused(folder):
            return None
        ended = f"the program ended with exit status {code} and {LEFT_NONE}: {HOW_LOST}"
        status, trouble = (code, ended) if code >= 0 else (None, TOO_EARLY)
        return HuntReport(self._settings.target, "", 0, (), (), script_status=status, trouble=trouble)


def left_report(folder: str) -> HuntReport | None:
    """Return the last report of a launched process, which has no channel to this one."""
    found = (HuntGuard.read_report(folder, moment) for moment in (END, ANSWER, INTERIM))
    return next((report for report in found if report is not None), None)
