"""Judge the three runs of a program: bare, hunted, and hunted with a leak planted in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.corpus.paths import lacking_words
from benchmarks.corpus.running import Hunted
from benchmarks.real.plants import Plant
from benchmarks.real.running import Bare, Steps, loss_lines

#: Severities that count as an alarm.
ALARMS = ("critical", "major", "minor")
#: Targets: the share of planted leaks found with the right container, and the CPU time of hunted steps against bare ones.
MIN_FOUND, MAX_OVERHEAD = 0.95, 1.10


@dataclass(frozen=True)
class Unmodified:
    """A program hunted as it is."""

    verdict: str
    alarms: tuple[str, ...]  # code and title of each finding above a note
    notes: tuple[str, ...]
    same_losses: bool
    overhead: float  # CPU time of all steps, looks between them included; 0 where no optimizer steps
    median_overhead: float
    steps: int
    stepped_by: str
    seconds: float
    said: str = ""

    @property
    def is_right(self) -> bool:
        """Nothing above a note, the report complete, the program undisturbed."""
        return self.verdict == "clean" and not self.alarms and self.same_losses


@dataclass(frozen=True)
class Planted:
    """A program hunted with a leak in it."""

    leak: str
    verdict: str
    codes: tuple[str, ...]
    lacking: tuple[str, ...]  # names that the first finding's trace lacks
    seconds: float
    said: str = ""

    @property
    def is_right(self) -> bool:
        """A leak, and the first finding names its container."""
        return self.verdict in {"leak", "needs-gc"} and bool(self.codes) and not self.lacking


def findings_of(hunted: Hunted) -> list[dict[str, Any]]:
    """The findings of a report, if there is one."""
    return list((hunted.document or {}).get("findings", ()))


def trouble_of(hunted: Hunted) -> str:
    """Why a hunt has no verdict."""
    return str(hunted.document["trouble"] or "") if hunted.document else hunted.said or f"exit status {hunted.status}"


def names(findings: list[dict[str, Any]]) -> tuple[str, ...]:
    """A few words for each finding."""
    return tuple(f"{one['code']} {one['severity']}: {one['title']}" for one in findings)


def verdict_of(hunted: Hunted) -> str:
    """The verdict; "-" without a report."""
    return str(hunted.document["verdict"]) if hunted.document else "-"


def judge_unmodified(bare: Bare, hunted: Hunted, steps: Steps) -> Unmodified:
    """Compare a hunt with the bare run. A note alone leaves a program as clean as none."""
    findings = findings_of(hunted)
    alarms = [one for one in findings if one["severity"] in ALARMS]
    verdict = verdict_of(hunted)
    is_quiet = bool(findings) and not alarms and verdict in {"leak", "needs-gc"}
    return Unmodified(
        verdict="clean" if is_quiet else verdict,
        alarms=names(alarms),
        notes=names([one for one in findings if one["severity"] not in ALARMS]),
        same_losses=bool(bare.losses) and loss_lines(hunted.output) == bare.losses,
        overhead=round(steps.ratio_to(bare.steps), 3),
        median_overhead=round(steps.median_ratio_to(bare.steps), 3),
        steps=len(steps.seconds),
        stepped_by=str((hunted.document or {}).get("stepped_by", "")),
        seconds=round(hunted.seconds, 1),
        said=bare.trouble or trouble_of(hunted),
    )


def judge_planted(plant: Plant, hunted: Hunted) -> Planted:
    """Whether the first finding is the planted leak."""
    findings = findings_of(hunted)
    first = findings[0]["trace"] if findings else {}
    return Planted(
        leak=plant.leak,
        verdict=verdict_of(hunted),
        codes=names(findings),
        lacking=tuple(lacking_words([[name] for name in plant.holder], first)),
        seconds=round(hunted.seconds, 1),
        said=trouble_of(hunted),
    )
