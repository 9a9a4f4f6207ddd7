"""Proves patches: runs the program again with them and the same seeds, and compares growth rates and losses."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gradlife.errors import UsageError
from gradlife.heap.program_modules import absolute
from gradlife.hunting.process.own_folders import TRIAL, OwnFolder
from gradlife.hunting.process.settings import Settings
from gradlife.model.fix_verification import is_same_place
from gradlife.model.hunt import NO_RATE, Amounts, Finding, HuntReport, Proof, malloc_rates
from gradlife.model.trace import UNHELD
from gradlife.program.hunt.patched_files import text_of
from gradlife.program.parent import Result
from gradlife.program.trial import losses_of, prepare_trial
from gradlife.source.diffs import NotApplicable, patched

#: Hunts the program with these settings to its end.
Run = Callable[[Settings], Result[HuntReport]]

#: The error of a program that reads its input.
NO_INPUT = "EOFError"

#: A rate below this share of the earlier rate counts as gone.
REST = 0.05


@dataclass(frozen=True)
class Outcome:
    """A run with changed sources, compared with the run before."""

    ended: Result[HuntReport]
    losses: str  # the comparison in words; empty if the program has no losses
    is_same: bool  # no loss differs, or losses differ between unchanged runs, too

    def failure(self, status_before: int | None) -> str:
        """Return how the changed program failed where the unchanged one did not; empty if it ended alike."""
        status, report = self.ended.status, self.ended.report
        if not status or status == status_before:
            return ""
        trouble = report.trouble if report is not None else ""
        if NO_INPUT in trouble:
            return f"the program reads its input, which a second run does not have: {trouble}"
        return f"with this change {trouble or f'the program ended with exit status {status}'}"


def changed_files(findings: Sequence[Finding]) -> dict[str, str]:
    """Return the patched texts of files, by path. UsageError if a file has changed since the hunt."""
    texts: dict[str, str] = {}
    for one in findings:
        if one.patch is None:
            continue
        path = absolute(one.patch.file)
        try:
            texts[path] = patched(texts[path] if path in texts else text_of(path), one.patch.diff)
        except NotApplicable as error:
            raise UsageError(f"the patch of {os.path.relpath(path)} does not fit: {error}", "hunt again") from None
    return texts


def try_texts(texts: dict[str, str], settings: Settings, run: Run) -> Outcome:
    """Run once more with these texts in place of the files. ``settings``: those of the run before, also a trial."""
    with OwnFolder(TRIAL) as folder:
        prepare_trial(folder, texts)
        ended = run(replace(settings, trial=folder))
        before, after = losses_of(settings.trial), losses_of(folder)
    shared = min(len(before), len(after))
    if not shared:
        return Outcome(ended, "", True)
    first = difference(before, after)
    if first is None:
        return Outcome(ended, f"{shared:,} {'loss is' if shared == 1 else 'losses are'} the same", True)
    if differs_by_itself(before, settings, run):
        return Outcome(ended, "its losses differ from run to run", True)
    words = f"loss {first + 1:,} is {after[first]:.6g} instead of {before[first]:.6g}"
    return Outcome(ended, words, False)


def difference(before: Sequence[float], after: Sequence[float]) -> int | None:
    """Return the index of the first loss that differs; None if all losses that both runs have are equal."""
    pairs = enumerate(zip(before, after, strict=False))
    return next(
        (at for at, (one, other) in pairs if one != other and not (math.isnan(one) and math.isnan(other))), None
    )


def differs_by_itself(before: Sequence[float], settings: Settings, run: Run) -> bool:
    """Whether the losses also differ between two unchanged runs."""
    with OwnFolder(TRIAL) as folder:
        run(replace(settings, trial=folder))
        return difference(before, losses_of(folder)) is not None


def patch_proof(finding: Finding, found: Outcome, before: HuntReport) -> Proof:
    """Compare the rate of a finding before and after its patch. A run without rounds has no rate and proves nothing, nor
    does one whose program fails with the patch and not without it.
    """
    after, stored = found.ended.report, finding.stored_at
    changed = f"{stored.file}:{stored.line} changed" if stored is not None else "the source changed"
    if after is None or len(after.rounds) < 2:
        trouble = after.trouble if after is not None else "the program left no report"
        return Proof(changed, finding.per_step, finding.per_step, False, f"{NO_RATE}: {trouble}")
    rest = rest_of(finding, before, after)
    rate = rest.per_step if rest is not None else Amounts()
    failure = found.failure(before.script_status)
    is_proven = rest is None and found.is_same and not failure
    return Proof(changed, finding.per_step, rate, is_proven, failure or found.losses)


def rest_of(finding: Finding, before: HuntReport, after: HuntReport) -> Finding | None:
    """Return the same finding, or another that is new, or has grown faster since, by a large part of this one's rate.

    A program may have other leaks, which this change does not end.
    """
    same = next((one for one in after.findings if one.fingerprint == finding.fingerprint), None)
    others = {one.fingerprint for one in before.findings} - {finding.fingerprint}
    new = (one for one in after.findings if one.fingerprint not in others)
    same = same or next((one for one in new if is_same_place(finding, one)), None)
    if same is not None:
        return same
    known = ((one, rate_before(one, finding, before)) for one in after.findings)
    return next((one for one, rate in known if is_large(one.per_step, rate, finding.per_step)), None)


def rate_before(one: Finding, finding: Finding, before: HuntReport) -> Amounts:
    """Return the rate that another leak had before. Memory that no object has may have been hidden behind the finding."""
    if one.trace.object == UNHELD:
        own = max(finding.per_step.bytes, finding.per_step.retained_bytes)
        return Amounts(bytes=max(0.0, min(malloc_rates([each for each in before.rounds if each.steps])) - own))
    return next((each.per_step for each in before.findings if each.fingerprint == one.fingerprint), Amounts())


def is_large(rate: Amounts, known: Amounts, whole: Amounts) -> bool:
    """Whether a rate exceeds the known one by more than a small rest of the whole."""
    names = ("bytes", "tensors", "objects")
    amounts = [(getattr(rate, name) - getattr(known, name), getattr(whole, name)) for name in names]
    return any(old > 0 and new > REST * old for new, old in amounts)
