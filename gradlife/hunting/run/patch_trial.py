"""Patches proven: the program runs again with them, with the same seeds, and rates and losses are compared."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gradlife.errors import UsageError
from gradlife.hunting.process.settings import Settings
from gradlife.hunting.run.trial import losses_of, prepare_trial
from gradlife.hunting.stores.patched_text import NotApplicable, file_of, patched
from gradlife.model.hunt import Finding, HuntReport, PerStep, Proof
from gradlife.output import reason

Run = Callable[[Settings], HuntReport | None]

#: A rate that has fallen to less than this part of what it was is gone.
REST = 0.05


@dataclass(frozen=True)
class Outcome:
    """A run with sources changed, beside the run before."""

    report: HuntReport | None  # None: it left none
    losses: str  # how they compare, in words; empty where the program has none
    is_same: bool  # no loss differs that does not differ between two runs as they are


def changed_files(findings: Sequence[Finding]) -> dict[str, str]:
    """The whole texts of the files that the patches of findings change, by path. UsageError where one has changed since."""
    texts: dict[str, str] = {}
    for one in findings:
        if one.patch is None:
            continue
        path = os.path.abspath(file_of(one.patch.diff))
        try:
            texts[path] = patched(texts[path] if path in texts else text_of(path), one.patch.diff)
        except NotApplicable as error:
            raise UsageError(f"the patch of {os.path.relpath(path)} does not fit: {error}", "hunt again") from None
    return texts


def text_of(path: str) -> str:
    """A source as it is, its line ends among it. UsageError where it cannot be read."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        words = reason(error) if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"cannot read {path}: {words}", "gradlife hunt --patch FILE, and git apply") from None


def write_texts(texts: dict[str, str]) -> list[str]:
    """Write files, each whole or not at all; their names. UsageError where one cannot be written."""
    for path, text in texts.items():
        try:
            with tempfile.NamedTemporaryFile(
                "w", encoding="utf-8", newline="", dir=os.path.dirname(path), delete=False
            ) as file:
                file.write(text)
            os.chmod(file.name, os.stat(path).st_mode)
            os.replace(file.name, path)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {reason(error)}", "gradlife hunt --patch FILE") from None
    return [os.path.relpath(path) for path in texts]


def try_texts(texts: dict[str, str], settings: Settings, run: Run) -> Outcome:
    """Run once more with these texts in the place of files; ``settings`` are those of the run before, a trial, too."""
    with tempfile.TemporaryDirectory(prefix="gradlife-trial-") as folder:
        prepare_trial(folder, texts)
        report = run(replace(settings, trial=folder))
        before, after = losses_of(settings.trial), losses_of(folder)
    shared = min(len(before), len(after))
    if not shared:
        return Outcome(report, "", True)
    first = difference(before, after)
    if first is None:
        return Outcome(report, f"{shared:,} {'loss is' if shared == 1 else 'losses are'} the same", True)
    if differs_by_itself(before, settings, run):
        return Outcome(report, "its losses differ from run to run", True)
    words = f"loss {first + 1:,} is {after[first]:.6g} instead of {before[first]:.6g}"
    return Outcome(report, words, False)


def difference(before: Sequence[float], after: Sequence[float]) -> int | None:
    """The first loss that differs; None where as many as both have are equal."""
    pairs = enumerate(zip(before, after, strict=False))
    return next(
        (at for at, (one, other) in pairs if one != other and not (math.isnan(one) and math.isnan(other))), None
    )


def differs_by_itself(before: Sequence[float], settings: Settings, run: Run) -> bool:
    """Do the losses differ if the program runs again as it is?"""
    with tempfile.TemporaryDirectory(prefix="gradlife-trial-") as folder:
        run(replace(settings, trial=folder))
        return difference(before, losses_of(folder)) is not None


def patch_proof(finding: Finding, found: Outcome) -> Proof:
    """The rate of a finding before and after. Without rounds there is no rate, and nothing is proven."""
    after, stored = found.report, finding.stored_at
    changed = f"{stored.file}:{stored.line} changed" if stored is not None else "the source changed"
    if after is None or len(after.rounds) < 2:
        trouble = after.trouble if after is not None else "the program left no report"
        return Proof(changed, finding.per_step, finding.per_step, False, f"the second run has no rate: {trouble}")
    rest = rest_of(finding, after)
    rate = rest.per_step if rest is not None else PerStep()
    return Proof(changed, finding.per_step, rate, rest is None and found.is_same, found.losses)


def rest_of(finding: Finding, after: HuntReport) -> Finding | None:
    """The same finding, or another that has taken on a good part of what this one kept."""
    same = next((one for one in after.findings if one.fingerprint == finding.fingerprint), None)
    return same or next((one for one in after.findings if is_large(one.per_step, finding.per_step)), None)


def is_large(rate: PerStep, before: PerStep) -> bool:
    """Is this more than a rest of the rate before?"""
    amounts = [(rate.bytes, before.bytes), (rate.tensors, before.tensors), (rate.objects, before.objects)]
    return any(old > 0 and new > REST * old for new, old in amounts)
