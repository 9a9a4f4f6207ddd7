"""An entry of the log: a pair of programs, where it was reported, and the line that has to be reported."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.twins.pair import Pair

#: The `source` of a program whose pattern is common, without a report that was read.
PATTERN = "pattern, no report cited"


@dataclass(frozen=True)
class Entry:
    """A pair and its source."""

    pair: Pair
    #: `owner/repository#number` of the issue or pull request that describes the mechanism, or PATTERN.
    source: str
    #: What the reported source line must contain; several with "|" between them; empty if no one line is right.
    line: str = ""
    #: What the advice must contain; several with "|" between them.
    advice: str = ""
    #: What the advice must not contain, because it would break the program: several with "|" between them.
    harmful: str = ""
    #: What to give `--step-on`, as gradlife asks if no optimizer takes steps.
    step_on: str = ""
