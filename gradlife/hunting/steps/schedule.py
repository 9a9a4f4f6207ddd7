"""The number of steps before each snapshot."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

#: Rounds are prime numbers of steps, so that a period of the program seldom hides in one. Each is longer than the last,
#: so that growth in proportion to the steps shows.
KNOWN_LENGTH = (13, 17, 29, 41)
UNKNOWN_LENGTH = (5, 7, 11, 17, 29, 31)
EXTENSION = (61, 89)
CONFIRMATION = (131, 197)

#: Least rounds for a result, and the seconds of stepping after which these are enough.
MIN_ROUNDS = 3
MIN_SNAPSHOTS = 3  # one round shows no growth
PATIENCE = 8.0

#: Steps per round, and rounds, of a hunt in so few steps that there would be too few longer rounds.
SHORTEST_ROUND = 3
MIN_SHORT_ROUNDS = 4

#: Most seconds of an extension.
MAX_EXTENSION = 2.5


@dataclass(frozen=True)
class Schedule:
    """The steps of the warm-up and of each round."""

    warmup: int = 5
    rounds: tuple[int, ...] = UNKNOWN_LENGTH
    extension: tuple[int, ...] = EXTENSION
    confirmation: tuple[int, ...] = CONFIRMATION  # for growth that slows down
    recorded: int = 5  # steps of a round that records creation sites, if no other round follows
    collector: int = 5  # steps of the round without the collector
    watched: int = 11  # steps of the round that watches reads
    is_known: bool = False  # growth is already known: it is judged at once, without further rounds
    may_end: bool = False  # the program may end before the hunt knows enough; the holders of survivors die with it
    patience: float = PATIENCE  # seconds of stepping after which the fewest rounds are enough
    in_step: bool = False  # one of several ranks: what it finds must not change its number of steps
    has_spare: bool = False  # take a snapshot after the first step, for programs that end before there are two rounds

    @property
    def is_exact(self) -> bool:
        """Whether no step may follow the rounds: a rank that takes more steps than the others waits for them for ever."""
        return self.in_step and not self.extension


def schedule_for(steps: int | None, *, is_endless: bool, in_step: bool = False, may_be_short: bool = False) -> Schedule:
    """Return the rounds of a hunt: ``steps`` in all if given; a target without end takes longer ones at once.

    A script, which ``may_be_short``, gets a spare snapshot; a program that is already running does not end soon.
    """
    if steps is None:
        usual = (
            Schedule(7, KNOWN_LENGTH) if is_endless else Schedule(may_end=True, has_spare=may_be_short and not in_step)
        )
        return replace(usual, in_step=True, patience=math.inf) if in_step else usual
    warmup = max(1, steps // 10)
    rounds = tuple(shared_out(steps - warmup))
    schedule = Schedule(warmup, rounds, extension=(), confirmation=(), recorded=0, may_end=True, patience=math.inf)
    return replace(schedule, in_step=True, collector=steps - warmup - sum(rounds)) if in_step else schedule


def shared_out(steps: int) -> Iterator[int]:
    """Divide a number of steps into rounds of growing length, as many as usual or fewer."""
    if steps < SHORTEST_ROUND * (MIN_SHORT_ROUNDS + 1):
        yield from short_rounds(steps)
        return
    collector = Schedule.collector if steps > 6 * Schedule.collector else 0
    left = steps - collector
    usual = [length for length in UNKNOWN_LENGTH if length <= max(2, left // MIN_ROUNDS)]
    while usual and sum(usual) > left:
        usual.pop()
    rest = left - sum(usual)
    if usual and rest < usual[-1]:
        rest += usual.pop()
    yield from usual
    if rest > 0:
        yield rest


def short_rounds(steps: int) -> Iterator[int]:
    """Divide a small number of steps into equally short rounds, the last one with the rest."""
    number = max(1, min(MIN_SHORT_ROUNDS, steps // SHORTEST_ROUND))
    yield from [SHORTEST_ROUND] * (number - 1)
    if steps > 0:
        yield steps - SHORTEST_ROUND * (number - 1)


class Clock:
    """Seconds of the program's own steps, without snapshots, reports, and waiting for a busy processor.

    How a program is judged must not depend on other work on the machine.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._since: Moment | None = None  # None: stopped

    def stop(self) -> None:
        """Stop the clock: a snapshot begins."""
        if self._since is not None:
            self.seconds += self._since.seconds_until(Moment())
            self._since = None

    def start(self) -> None:
        """Start the clock: the pause is over."""
        self._since = Moment()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock within the block; a stopped clock stays stopped."""
        runs = self._since is not None
        self.stop()
        try:
            yield
        finally:
            if runs:
                self.start()


class Moment:
    """The present time, and the seconds that this thread has waited for a processor so far (Linux; elsewhere none)."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._waited = waited_seconds()
        self._now = time.monotonic()

    def seconds_until(self, later: Moment) -> float:
        """Return the seconds between two moments, without waiting if both are of one thread."""
        waited = later._waited - self._waited if later._thread == self._thread else 0.0
        return max(0.0, later._now - self._now - waited)


def waited_seconds() -> float:
    """Return the seconds that this thread was ready to run and had no processor."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
