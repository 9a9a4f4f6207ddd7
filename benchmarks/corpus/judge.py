"""Compare a hunt's verdict on a case with the label of the case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.corpus.cases import Case
from benchmarks.corpus.paths import expected_names, missing

RIGHT, WRONG_KIND, MISSED, FALSE_ALARM, BROKEN = "right", "wrong kind", "missed", "false alarm", "broken"


@dataclass(frozen=True)
class Judgement:
    """One variant of one case."""

    slug: str
    variant: str  # step, fixed_step
    expected: str  # kind of the finding, or clean
    verdict: str
    outcome: str
    codes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    has_path: bool = False  # whether the label names holders
    lacking: tuple[str, ...] = ()  # labelled names missing in the first finding's trace
    controls_right: bool = False
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    said: str = ""  # last line of the output if something failed

    @property
    def is_right(self) -> bool:
        """Whether a leak was found or a clean case has no finding; the path is judged separately."""
        return self.outcome == RIGHT


def judge(case: Case, variant: str, document: dict[str, Any] | None, status: int, said: str = "") -> Judgement:
    """Judge one report; None if the hunt left none."""
    wanted = case.kind if variant == "step" else None
    if document is None:
        return Judgement(case.slug, variant, wanted or "clean", "-", BROKEN, said=said or f"exit status {status}")
    findings = document["findings"]
    kinds = tuple(str(finding["kind"]) for finding in findings)
    first = findings[0]["trace"] if findings and wanted else {}
    controls = document["controls"]
    agrees = status == document["exit_status"]
    return Judgement(
        slug=case.slug,
        variant=variant,
        expected=wanted or "clean",
        verdict=document["verdict"],
        outcome=outcome(wanted, case.may_need_gc, document["verdict"], kinds) if agrees else BROKEN,
        codes=tuple(str(finding["code"]) for finding in findings),
        kinds=kinds,
        has_path=bool(wanted and expected_names(case.expected_path)),
        lacking=tuple(missing(case.expected_path, first)) if wanted else (),
        controls_right=bool(controls) and all(control["observed"] == control["expected"] for control in controls),
        said=said if agrees else f"exit status {status}, but the report says {document['exit_status']}",
    )


def outcome(wanted: str | None, may_need_gc: bool, verdict: str, kinds: tuple[str, ...]) -> str:
    """Describe how a verdict and the kinds of findings agree with a label."""
    if verdict == "inconclusive":
        return BROKEN
    if wanted is None:
        is_clean = verdict == "clean" or (may_need_gc and verdict == "needs-gc")
        return RIGHT if is_clean else FALSE_ALARM
    if not kinds:
        return MISSED
    fits = verdict == ("needs-gc" if wanted == "needs-gc" else "leak")
    return RIGHT if fits and kinds[0] == wanted else WRONG_KIND


@dataclass(frozen=True)
class Totals:
    """The totals of all judgements."""

    leaking: int
    found: int
    clean: int
    clean_right: int
    fixed: int
    fixed_right: int
    paths: int
    paths_right: int
    runs: int
    controls_right: int
    median_seconds: float
    longest_seconds: float

    @property
    def is_done(self) -> bool:
        """Whether the targets are met."""
        whole = (self.found, self.clean_right, self.fixed_right, self.controls_right)
        return whole == (self.leaking, self.clean, self.fixed, self.runs) and self.paths_right >= 0.9 * self.paths


def total(judgements: list[Judgement]) -> Totals:
    """Sum up all cases."""
    leaking = [one for one in judgements if one.variant == "step" and one.expected != "clean"]
    clean = [one for one in judgements if one.variant == "step" and one.expected == "clean"]
    fixed = [one for one in judgements if one.variant == "fixed_step"]
    paths = [one for one in leaking if one.has_path]
    seconds = sorted(one.seconds for one in judgements) or [0.0]
    return Totals(
        leaking=len(leaking),
        found=sum(one.is_right for one in leaking),
        clean=len(clean),
        clean_right=sum(one.is_right for one in clean),
        fixed=len(fixed),
        fixed_right=sum(one.is_right for one in fixed),
        paths=len(paths),
        paths_right=sum(one.verdict != "-" and not one.lacking for one in paths),
        runs=len(judgements),
        controls_right=sum(one.controls_right for one in judgements),
        median_seconds=seconds[len(seconds) // 2],
        longest_seconds=seconds[-1],
    )
