"""One case under every fault: which allocations failed, and what was wrong with the outcome."""

from __future__ import annotations

import gc
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import gradlife.engine as torch
from benchmarks.hardening.cases import Case
from benchmarks.hardening.injector import KINDS, Injector
from benchmarks.hardening.modes import Modes, modes_kept

MAX_FAULTS = 3000  # no call here makes as many allocations; one that does never ends


@dataclass
class Verdict:
    """The verdict on an entry point: faults that fired, those that its calls survived, and sentences on errors."""

    cases: int = 0
    faults: int = 0
    survived: int = 0
    is_refused: bool = False
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Ending:
    """The end of a call: its result or error, whether the allocation existed, and what a failed call left set."""

    seen: Any
    has_failed: bool
    fired: bool
    left_set: str


def judge(case: Case, injector: Injector, verdict: Verdict) -> None:
    """Run the case with each allocation failing in turn, until there are no more."""
    verdict.cases += 1
    verdict.is_refused |= case.is_refused
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        usual = unharmed(case)
        unharmed(case)  # one-time caches are full now
        for kind in KINDS:
            judge_kind(case, injector, kind, usual, verdict)


def judge_kind(case: Case, injector: Injector, kind: str, usual: Any, verdict: Verdict) -> None:
    settle()
    before = torch.live_counts()
    for number in range(MAX_FAULTS):
        torch.manual_seed(0)
        ending = one_fault(case, injector, kind, number)
        verdict.faults += ending.fired
        verdict.survived += ending.fired and not ending.has_failed
        after = counts_as(before)
        where = f"{case.name}: {kind} allocation {number}"
        verdict.wrong += [f"{where}: {what}"[:400] for what in objections(case, ending, usual)]
        if after != before and (ending.has_failed or not case.keeps):
            verdict.wrong.append(f"{where}: live counts went from {before} to {after}")
        before = after
        if not ending.fired:
            return
    verdict.wrong.append(f"{case.name}: over {MAX_FAULTS} allocations")


def objections(case: Case, ending: Ending, usual: Any) -> Iterator[str]:
    """Return what is wrong with an ending, except for what it keeps alive."""
    if ending.seen != usual and not (ending.fired and ending.seen in ENDINGS):
        yield f"{ending.seen} instead of {usual}"
    if ending.fired and ending.has_failed and ending.left_set:
        yield f"the failed call left {ending.left_set}"


# The second is CPython's: without memory for a traceback's frame, a Python function loses its exception.
LOST = re.compile(r"error return without exception set|<function .*> returned NULL without setting an exception")
ENDINGS = ("raised MemoryError", "lost its exception")


def one_fault(case: Case, injector: Injector, kind: str, number: int) -> Ending:
    """Run the call with one fault, keep nothing of it, and restore modes."""
    with modes_kept():
        action = case.prepare()
        before = Modes.now()
        result, error, fired = injector.run(kind, number, action)
        return Ending(seen(case, result, error), error is not None, fired, before.changes_to(Modes.now()))


def unharmed(case: Case) -> Any:
    """Return the call's result if nothing fails."""
    torch.manual_seed(0)
    with modes_kept():
        try:
            return seen(case, case.prepare()(), None)
        except Exception as error:
            return seen(case, None, error)


def seen(case: Case, result: Any, error: BaseException | None) -> Any:
    """Return the comparable outcome; for uninitialized memory only that there was one."""
    answer = outcome(result, error)
    return "something" if "empty" in case.name and error is None else answer


def outcome(result: Any, error: BaseException | None) -> Any:
    """Return the plain values that two runs of one call share."""
    if isinstance(error, SystemError) and LOST.fullmatch(str(error)):
        return "lost its exception"
    if isinstance(error, RuntimeError) and str(error).startswith("MemoryError: "):
        return "raised MemoryError"  # up to 1.13 in quotes, if it came from a saved-tensor hook
    return f"raised {type(error).__name__}" if error is not None else plain(result)


def plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.dtype.__repr__(), tuple(value.shape), str(value.tolist())  # nan differs from itself
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    if isinstance(value, bool | str | None.__class__):
        return value
    return type(value).__name__


def counts_as(before: dict[str, int]) -> dict[str, int]:
    """Return live counts, after a collection if they differ: an exception holds its frames' variables."""
    if torch.live_counts() != before:
        settle()
    return torch.live_counts()


def settle() -> None:
    """Drop what a failed backward left in the queue, which some releases keep until the next one, and collect."""
    torch.ones(1, requires_grad=True).sum().backward()
    gc.collect()
