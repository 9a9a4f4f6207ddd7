"""Compare two hunts of one program, before and after a fix, by growth rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gradlife.errors import EXIT_CLEAN, EXIT_COULD_NOT_TELL, EXIT_FOUND
from gradlife.model.hunt import Amounts, Finding, HuntReport, HuntVerdict

#: Rounds needed on each side for a rate.
MIN_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Change:
    """One leak before and after; `after` is None if it is gone."""

    code: str
    title: str
    before: Amounts
    after: Amounts | None
    fails: bool = True  # whether what is left makes the exit status 1, by its severity

    @property
    def is_gone(self) -> bool:
        """Whether nothing of it is left."""
        return self.after is None

    @property
    def is_left(self) -> bool:
        """Whether it is not fixed."""
        return not self.is_gone and self.fails


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether a fix holds, and what changed."""

    changes: tuple[Change, ...]
    new: tuple[Finding, ...]  # new leaks that make the exit status 1
    rounds: tuple[int, int]
    trouble: str = ""  # why the result is unknown
    minor: tuple[Finding, ...] = ()  # other new findings
    has_grown: bool = False  # whether the program grew before, without a known cause

    @property
    def exit_status(self) -> int:
        """0 if the leaks are gone, 1 if some remain or there are new ones, 3 if the result is unknown. Findings that do not
        make the exit status of a hunt 1 do not decide here either.
        """
        if self.new or any(change.is_left for change in self.changes):
            return EXIT_FOUND
        return EXIT_COULD_NOT_TELL if self.trouble else EXIT_CLEAN


def verify(before: HuntReport, after: HuntReport) -> Verification:
    """Match each finding of the first hunt in the second: by fingerprint, or by name where one has no fingerprint; then by
    its place, where a fix has changed what is kept.

    Only findings that make the exit status of ``after`` 1 decide.
    """
    left = list(after.findings)
    found = [taken(finding, left, is_same) for finding in before.findings]
    pairs = [
        (finding, same or taken(finding, left, is_same_place))
        for finding, same in zip(before.findings, found, strict=True)
    ]
    changes = [change(one, other, other is not None and after.is_failure(other)) for one, other in pairs]
    new = tuple(one for one in left if after.is_failure(one))
    minor = tuple(one for one in left if one not in new)
    rounds = len(before.rounds), len(after.rounds)
    return Verification(tuple(changes), new, rounds, trouble(before, after, rounds), minor, has_grown(before))


def change(before: Finding, after: Finding | None, fails: bool) -> Change:
    """Return the rates of one leak before and after."""
    return Change(before.code, before.title, before.per_step, after.per_step if after is not None else None, fails)


def has_grown(report: HuntReport) -> bool:
    """Whether a program grew without a known cause, which is as good a beginning as a leak."""
    return bool(report.unexplained) and all(one.is_right for one in report.controls)


def taken(finding: Finding, left: list[Finding], is_one: Callable[[Finding, Finding], bool]) -> Finding | None:
    """Remove and return the same leak among those left."""
    same = next((one for one in left if is_one(finding, one)), None)
    if same is not None:
        left.remove(same)
    return same


def is_same(one: Finding, other: Finding) -> bool:
    """Whether both findings are the same leak."""
    if one.fingerprint and other.fingerprint:
        return one.fingerprint == other.fingerprint
    return (one.kind, one.code, suspects(one)) == (other.kind, other.code, suspects(other))


def is_same_place(before: Finding, after: Finding) -> bool:
    """Whether both are kept in one place of one module, whatever they are. An earlier version noted no other fingerprint."""
    if not before.legacy_fingerprint:
        return bool(before.fingerprint) and before.fingerprint == after.legacy_fingerprint
    return (before.legacy_fingerprint, root(before)) == (after.legacy_fingerprint, root(after))


def root(finding: Finding) -> str:
    """Return the module that the path begins at; empty for another root."""
    first = finding.trace.steps[0] if finding.trace.steps else None
    return first.detail if first is not None and first.type == "module" else ""


def suspects(finding: Finding) -> Sequence[tuple[str, str]]:
    """Return the suspect stretch without indices."""
    steps = (*finding.trace.steps, *finding.trace.cycle)
    return [(step.object, "" if step.via.startswith("[") else step.via) for step in steps if step.is_suspect]


def trouble(before: HuntReport, after: HuntReport, rounds: tuple[int, int]) -> str:
    """Return why two hunts cannot be compared."""
    for name, report, count in (("before", before, rounds[0]), ("after", after, rounds[1])):
        if report.verdict is HuntVerdict.INCONCLUSIVE and not (name == "before" and has_grown(report)):
            return f"the hunt {name} the fix was inconclusive"
        if count < MIN_ROUNDS:
            return f"the hunt {name} the fix has {count} rounds: a rate needs {MIN_ROUNDS}"
    return ""
