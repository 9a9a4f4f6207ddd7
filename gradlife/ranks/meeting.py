"""The end of a run: ranks wait for each other, one of them merges, and all return the same exit status.

A rank waits after its program has ended, in the process beside it. A rank whose program failed does not wait, so that
its launcher can end the others at once.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from gradlife.errors import EXIT_COULD_NOT_TELL
from gradlife.hunting.process.rank import RESULT, Rank, write_whole
from gradlife.model.from_json import document_text, parsed
from gradlife.model.ranks import rank_ranges
from gradlife.output import say
from gradlife.program.parent import is_heard
from gradlife.ranks.rank_report import has_ended, json_at, member_at
from gradlife.ranks.run_folder import CLAIM, MERGED, RunFolder

#: Seconds that a rank still waits after a signal: launchers kill it some seconds later.
HURRIED = 5.0

#: Seconds after which a rank on another machine that should merge counts as gone.
GRACE = 30.0

#: Seconds between two checks of the folder.
INTERVAL = 0.05

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)

#: Merges, shows and writes the report; returns the exit status.
Merge = Callable[[], int]


class Hurry:
    """A deadline that a signal sets for waiting."""

    def __init__(self) -> None:
        self.deadline: float | None = None

    def begin(self, number: int, frame: FrameType | None) -> None:
        """Set the deadline at a signal: its sender soon sends another one that cannot be handled."""
        self.deadline = self.deadline or time.monotonic() + HURRIED

    @property
    def is_over(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() > self.deadline


@contextmanager
def hurrying() -> Iterator[Hurry]:
    """Make signals that end a process shorten the wait, so that the report is still written.

    Afterwards they are ignored, since the process ends with the status of the run. A launcher that sees the first rank
    end with it signals the others, which would otherwise end with another status. A signal that is ignored already, as by
    `nohup`, shortens nothing.
    """
    hurry = Hurry()
    for number in filter(is_heard, ENDING):
        signal.signal(number, hurry.begin)
    try:
        yield hurry
    finally:
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN)


def meet(folder: RunFolder, rank: Rank, status: int, patience: float, hurry: Hurry, merge: Merge) -> int:
    """Wait for the other ranks, and merge if this rank has to; return the exit status of the run.

    A launcher that is gradlife's own merges itself.
    """
    if folder.is_launchers:
        return status
    found = Meeting(folder, rank, patience if status == 0 else 0.0, hurry).settle(merge)
    if found is None:
        return status
    folder.leave(rank)
    return found


class Meeting:
    """A rank whose program has ended, while it waits for the others."""

    def __init__(self, folder: RunFolder, rank: Rank, patience: float, hurry: Hurry) -> None:
        self._folder = folder.path
        self._is_private = folder.is_private
        self._rank = rank
        self._hurry = hurry
        self._has_patience = patience > 0
        self._end = time.monotonic() + patience

    def settle(self, merge: Merge) -> int | None:
        """Wait until all ranks have ended; merge if this rank has to. None: some still run; the last will merge.

        Ranks that never joined end the wait in time; what the others left is merged, and the report names them.
        """
        complete_since: float | None = None
        while True:
            status = self._merged()
            if status is not None:
                return status
            is_over = time.monotonic() > self._end  # asked once: two answers could differ
            absent = self._absent() if self._has_patience and is_over else []
            if self._is_complete(absent) or self._hurry.is_over:
                complete_since = complete_since or time.monotonic()
                waited = time.monotonic() - complete_since
                if (absent or self._is_first(waited > self._grace)) and self._claim():
                    self._say_absent(absent)
                    return self._publish(merge)
                if waited > 2 * self._grace:  # the rank that should merge is gone
                    say(f"gradlife: no rank has merged the reports: gradlife merge {self._folder}")
                    return None
            elif is_over:
                return None
            time.sleep(INTERVAL)

    @property
    def _grace(self) -> float:
        """Seconds for a rank on another machine. A launcher kills some seconds after its signal."""
        return HURRIED if self._hurry.deadline is not None else GRACE

    def _merged(self) -> int | None:
        try:
            return int(parsed(document_text(os.path.join(self._folder, MERGED)))["status"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _is_complete(self, absent: list[int]) -> bool:
        return all(has_ended(self._path(rank)) for rank in set(range(self._rank.world_size)) - set(absent))

    def _absent(self) -> list[int]:
        return [rank for rank in range(self._rank.world_size) if not os.path.exists(self._path(rank))]

    def _say_absent(self, absent: list[int]) -> None:
        if absent:
            hint = " (try: --run-folder FOLDER, one that all machines share)" if self._is_private else ""
            ranks = f"rank{'s' if len(absent) > 1 else ''} {rank_ranges(absent)}"
            say(f"gradlife: {ranks} of {self._rank.world_size} never joined the run{hint}")

    def _is_first(self, is_late: bool) -> bool:
        """Whether no lower rank can merge. One on another machine is trusted for a while."""
        return not any(self._waits(rank, is_late) for rank in range(self._rank.number))

    def _waits(self, rank: int, is_late: bool) -> bool:
        member = member_at(self._path(rank))
        if member is None or json_at(os.path.join(self._path(rank), RESULT)).get("status") != 0:
            return False  # it still runs, or its program failed, and it does not wait
        return member.is_alive and not (is_late and member.host != socket.gethostname())

    def _claim(self) -> bool:
        with suppress(OSError):
            os.close(os.open(os.path.join(self._folder, CLAIM), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            return True
        return False

    def _publish(self, merge: Merge) -> int:
        status = EXIT_COULD_NOT_TELL
        try:
            status = merge()
        finally:
            with suppress(OSError):
                write_whole(os.path.join(self._folder, MERGED), json.dumps({"status": status}))
        return status

    def _path(self, rank: int) -> str:
        return os.path.join(self._folder, f"rank-{rank:05d}")
