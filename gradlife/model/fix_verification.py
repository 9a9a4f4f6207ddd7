"""Two hunts of one program, before and after a fix: rates are compared, never levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gradlife.errors import EXIT_CLEAN, EXIT_COULD_NOT_TELL, EXIT_FOUND
from gradlife.model.hunt import Finding, HuntReport, HuntVerdict, PerStep

#: Rounds on each side without which there is no rate to compare.
LEAST_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one leak; `after` is None if it is gone."""

    code: str
    title: str
    before: PerStep
    after: PerStep | None

    @property
    def is_gone(self) -> bool:
        """Is nothing of it left?"""
        return self.after is None


@dataclass(frozen=True, slots=True)
class Verification:
    """Return whether a fix holds."""

    changes: tuple[Change, ...]
    new: tuple[Finding, ...]  # leaks that were not there before
    rounds: tuple[int, int]
    trouble: str = ""  # why it is unknown

    @property
    def exit_status(self) -> int:
        """0 the leaks are gone, 1 some are not or there are new ones, 3 could not tell."""
        if self.new or not all(change.is_gone for change in self.changes):
            return EXIT_FOUND
        return EXIT_COULD_NOT_TELL if self.trouble else EXIT_CLEAN


def verify(before: HuntReport, after: HuntReport) -> Verification:
    """Each leak of the first hunt in the second; leaks are known again by fingerprint, or by name where they have none."""
    left = list(after.findings)
    changes = [change(finding, taken(finding, left)) for finding in before.findings]
    rounds = len(before.rounds), len(after.rounds)
    return Verification(tuple(changes), tuple(left), rounds, trouble(before, after, rounds))


def change(before: Finding, after: Finding | None) -> Change:
    """One leak, then and now."""
    return Change(before.code, before.title, before.per_step, after.per_step if after is not None else None)


def taken(finding: Finding, left: list[Finding]) -> Finding | None:
    """The same leak among those that are left, taken from them."""
    same = next((one for one in left if is_same(one, finding)), None)
    if same is not None:
        left.remove(same)
    return same


def is_same(one: Finding, other: Finding) -> bool:
    """Are these the same leak?"""
    if one.fingerprint and other.fingerprint:
        return one.fingerprint == other.fingerprint
    return (one.kind, one.code, suspects(one)) == (other.kind, other.code, suspects(other))


def suspects(finding: Finding) -> Sequence[tuple[str, str]]:
    """The suspect stretch without indices."""
    steps = (*finding.trace.steps, *finding.trace.cycle)
    return [(step.object, "" if step.via.startswith("[") else step.via) for step in steps if step.is_suspect]


def trouble(before: HuntReport, after: HuntReport, rounds: tuple[int, int]) -> str:
    """Return why two hunts cannot be compared."""
    for name, report, count in (("before", before, rounds[0]), ("after", after, rounds[1])):
        if report.verdict is HuntVerdict.INCONCLUSIVE:
            return f"the hunt {name} the fix could not tell"
        if count < LEAST_ROUNDS:
            return f"the hunt {name} the fix has {count} rounds: a rate needs {LEAST_ROUNDS}"
    return ""
