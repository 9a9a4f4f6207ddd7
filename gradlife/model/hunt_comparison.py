"""Compare a hunt with an earlier one of the same program: what is new, what grows faster, what is gone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gradlife.model.fix_verification import MIN_ROUNDS, is_same, is_same_place, taken
from gradlife.model.hunt import (
    WORSE,
    Amounts,
    ChangeKind,
    Finding,
    FindingChange,
    HuntComparison,
    HuntReport,
    HuntVerdict,
)

#: A rate is larger from this factor on. Two runs of a program whose batches have random sizes differed by up to 11 %, those
#: of one with equal batches, cut after 100 and after 300 steps, by 1 %.
LARGER = 1.25


def against(report: HuntReport, before: HuntReport, file: str) -> HuntReport:
    """Return the report with its comparison with an earlier one, read from a file. The report's own severity to fail on
    decides which changes count.
    """
    return replace(report, against=compare_hunts(before, report, file))


def compare_hunts(before: HuntReport, after: HuntReport, file: str) -> HuntComparison:
    """Match the findings of two hunts: by fingerprint, then by their place."""
    order = list(ChangeKind)
    changes = sorted(changes_of(before, after), key=lambda one: (not one.is_failure, order.index(one.kind)))
    return HuntComparison(file, tuple(changes), trouble_of(before, after))


def changes_of(before: HuntReport, after: HuntReport) -> Iterator[FindingChange]:
    """Yield what became of each finding."""
    left = list(after.findings)
    same = [taken(finding, left, is_same) for finding in before.findings]
    for old, found in zip(before.findings, same, strict=True):
        new = found or taken(old, left, is_same_place)
        yield changed(old, new, after)
    for new in left:
        yield changed(None, new, after)


def changed(old: Finding | None, new: Finding | None, report: HuntReport) -> FindingChange:
    """Return what became of one finding."""
    shown = new or old
    assert shown is not None
    kind = kind_of(old, new)
    place = f"{shown.stored_at.file}:{shown.stored_at.line}" if shown.stored_at is not None else ""
    before, after = (one.per_step if one is not None else Amounts() for one in (old, new))
    is_failure = new is not None and kind in WORSE and report.is_failure(new)
    return FindingChange(kind, shown.code, shown.title, shown.fingerprint, place, before, after, is_failure)


def kind_of(old: Finding | None, new: Finding | None) -> ChangeKind:
    """Return what became of a finding, by the objects and bytes of a step; of what does not grow, by the bytes it keeps."""
    if old is None or new is None:
        return ChangeKind.NEW if old is None else ChangeKind.GONE
    pairs = list(zip(figures(old), figures(new), strict=True))
    if any(now > then * LARGER for then, now in pairs):
        return ChangeKind.LARGER
    return ChangeKind.SMALLER if any(then > now * LARGER for then, now in pairs) else ChangeKind.SAME


def figures(finding: Finding) -> tuple[float, float]:
    """Return the objects and the bytes of a finding, per step if it grows."""
    rate = finding.per_step
    nbytes = max(rate.bytes, rate.retained_bytes)
    return (rate.objects, nbytes) if rate.objects or nbytes else (finding.survivors, finding.retained_bytes)


def trouble_of(before: HuntReport, after: HuntReport) -> str:
    """Return why two hunts cannot be compared; empty if they can be."""
    if before.verdict is HuntVerdict.INCONCLUSIVE:
        return "the earlier hunt was inconclusive"
    for name, report in (("the earlier hunt", before), ("this hunt", after)):
        if len(report.rounds) < MIN_ROUNDS and report.findings and not report.ranks:
            return f"{name} has {len(report.rounds)} rounds: a rate needs {MIN_ROUNDS}"
    return ""
