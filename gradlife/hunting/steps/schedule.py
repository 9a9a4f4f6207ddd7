"""The number of steps before each snapshot."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

#: Rounds are prime numbers of steps, so that a period of the program seldom hides in one; each longer than the last, so
#: that what is proportional to the steps shows.
KNOWN_LENGTH = (13, 17, 29, 41)
UNKNOWN_LENGTH = (5, 7, 11, 17, 29, 31)
EXTENSION = (61, 89)
CONFIRMATION = (131, 197)

#: Rounds without which nothing is shown, and the seconds of stepping after which no more are added to them.
LEAST_ROUNDS = 3
PATIENCE = 8.0

#: Seconds that an extension may take.
MOST_EXTENSION = 2.5


@dataclass(frozen=True)
class Schedule:
    """Steps of the warm-up and of each round."""

    warmup: int = 5
    rounds: tuple[int, ...] = UNKNOWN_LENGTH
    extension: tuple[int, ...] = EXTENSION
    confirmation: tuple[int, ...] = CONFIRMATION  # where what grows grows ever more slowly
    lines: int = 5  # steps of a round in which it is recorded where objects are created, where no other follows
    collector: int = 5  # steps of the round in which the collector rests
    watched: int = 11  # steps of the round in which reads are watched
    is_known: bool = False  # that something grows: it is judged at once, and needs no other rounds
    may_end: bool = False  # the steps may be over before the hunt is, and with them what held their survivors


def schedule_for(steps: int | None, *, is_endless: bool) -> Schedule:
    """The rounds of a hunt: `steps` in all where that was asked for; a target without end affords longer ones at once."""
    if steps is None:
        return Schedule(7, KNOWN_LENGTH) if is_endless else Schedule(may_end=True)
    warmup = max(1, steps // 10)
    return Schedule(warmup, tuple(shared_out(steps - warmup)), extension=(), confirmation=(), lines=0, may_end=True)


def shared_out(steps: int) -> Iterator[int]:
    """A number of steps as rounds of growing length, as many as the usual ones or fewer."""
    collector = Schedule.collector if steps > 6 * Schedule.collector else 0
    left = steps - collector
    usual = [length for length in UNKNOWN_LENGTH if length <= max(2, left // LEAST_ROUNDS)]
    while usual and sum(usual) > left:
        usual.pop()
    rest = left - sum(usual)
    if usual and rest < usual[-1]:
        rest += usual.pop()
    yield from usual
    if rest > 0:
        yield rest


class Clock:
    """Seconds of the program's own stepping: looks are no part of them, and neither is waiting for a busy processor.

    How a program is judged must not depend on what else the machine is doing.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._since = own_seconds()

    def stop(self) -> None:
        """A look begins."""
        self.seconds += max(0.0, own_seconds() - self._since)

    def start(self) -> None:
        """Resume the clock: the pause is over."""
        self._since = own_seconds()


def own_seconds() -> float:
    """A clock that stands still while this thread could run and may not (Linux; elsewhere it never does)."""
    try:
        waited = int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        waited = 0.0
    return time.monotonic() - waited
