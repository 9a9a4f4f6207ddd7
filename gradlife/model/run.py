"""The run of one scenario in one system. Every ending is a value, including a crash and a hang."""

from __future__ import annotations

from dataclasses import dataclass

from gradlife.model.reading import Event, OwnerGraph, Ownership, Reading
from gradlife.model.source_text import Lines


@dataclass(frozen=True, slots=True)
class _Run:
    scenario: str
    system: str
    readings: tuple[Reading, ...] = ()
    output: Lines = ""  # the end of what the story printed

    outcome = "?"
    is_failure = False

    @property
    def reason(self) -> str:
        """Why there are no more readings, on one line; empty if the story ended normally."""
        return ""


@dataclass(frozen=True, slots=True)
class RunOk(_Run):
    """The story ran to its end."""

    seconds: float = 0.0
    events: tuple[Event, ...] = ()  # of the mini engine, if asked for
    owners: tuple[Ownership, ...] = ()  # if asked for
    graphs: tuple[OwnerGraph, ...] = ()  # if asked for

    outcome = "ok"


@dataclass(frozen=True, slots=True)
class RunFailed(_Run):
    """The story raised."""

    error: str = ""  # "Type: first line of its text"
    line: int = 0  # line in the scenario file; 0 if unknown
    traceback: Lines = ""

    outcome = "failed"
    is_failure = True

    @property
    def reason(self) -> str:
        """The exception, and where it was raised."""
        return f"{self.error} (line {self.line})" if self.line else self.error


@dataclass(frozen=True, slots=True)
class RunCrashed(_Run):
    """The child process ended before its story did."""

    exit_code: int = 0  # negative: the number of the signal
    signal: str = ""  # its name, if it was a signal

    outcome = "crashed"
    is_failure = True

    @property
    def reason(self) -> str:
        """The signal or the exit code."""
        return f"killed by {self.signal}" if self.signal else f"exited with {self.exit_code} during its story"


@dataclass(frozen=True, slots=True)
class RunTimedOut(_Run):
    """The story exceeded its time limit and was killed with all its processes."""

    seconds: float = 0.0

    outcome = "timed out"
    is_failure = True

    @property
    def reason(self) -> str:
        """The time limit."""
        return f"not done after {self.seconds:g} s"


@dataclass(frozen=True, slots=True)
class RunUnavailable(_Run):
    """The system lacks something that the story needs."""

    why: str = ""

    outcome = "not available"

    @property
    def reason(self) -> str:
        """The missing feature."""
        return self.why


ScenarioRun = RunOk | RunFailed | RunCrashed | RunTimedOut | RunUnavailable

#: The class of each outcome.
OUTCOMES: dict[str, type[ScenarioRun]] = {
    kind.outcome: kind for kind in (RunOk, RunFailed, RunCrashed, RunTimedOut, RunUnavailable)
}
