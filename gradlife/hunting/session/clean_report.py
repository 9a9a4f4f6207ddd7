"""The report of a hunt whose snapshots show no leak, and what every report says of its target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradlife.hunting.growth.suspects import Clear
from gradlife.hunting.session.method import Hunt
from gradlife.model.hunt import HuntReport


@dataclass(frozen=True)
class About:
    """The facts about the target for a report."""

    target: str
    stepped_by: str
    script_status: int | None = None
    trouble: str = ""
    is_script: bool = False
    has_failed: bool = False  # what the failed step holds is reported by itself
    is_test: bool = False  # what was there before its first step belongs to fixtures
    memory_limit: int | None = None  # bytes; None: the system's
    rounds: int = 0  # in all of which there must be growth; 0: as many as usual


def cleared(hunt: Hunt, clear: Clear, about: About) -> HuntReport:
    """Build the report of a hunt that found no leak."""
    return HuntReport(
        target=about.target,
        stepped_by=about.stepped_by,
        warmup_steps=hunt.warmup_steps,
        rounds=clear.rounds,
        findings=(),
        controls=clear.controls,
        limits=(*clear.limits, *limits_of_waiting(hunt)),
        script_status=about.script_status,
        trouble=about.trouble,
    )


def limits_of_waiting(hunt: Hunt) -> Iterator[str]:
    """Yield a limit if the program ended before the steps without the collector."""
    if not hunt.has_rested:
        yield "cycles that wait for the collector: the program ended before they were looked for; a longer run shows them"
