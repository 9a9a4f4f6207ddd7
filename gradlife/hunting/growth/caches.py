"""Growth that is not a leak: bounded containers that are not full yet, and library tables without tensors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from gradlife.hunting.snapshots.node_weights import LARGE_BYTES, base_types, is_data
from gradlife.hunting.snapshots.step_snapshots import ARRAY
from gradlife.model.growth import UNKNOWN_GROWTH, Growth
from gradlife.model.hunt import BOUNDED, Explained, Finding, FindingKind
from gradlife.model.trace import PathStep

#: A larger bound is never reached in practice.
LARGEST_BOUND = 1_000_000

TENSOR = "torch._C.TensorBase"


def is_meant(finding: Finding, growth: Growth = UNKNOWN_GROWTH) -> bool:
    """Whether the growth is expected: a bounded container that fills up, or a library's table."""
    return is_filling(finding, growth) or is_library_table(finding)


def is_filling(finding: Finding, growth: Growth) -> bool:
    """Whether a bounded container is filling up with plain tensors. Containers of graphs keep more than they were
    made for.

    The bounded container must itself be the one that grows. Many small bounded containers have no bound together.
    """
    bounded = bounded_step(finding)
    if bounded is None or finding.per_step.keeps_graphs:
        return False
    if growth.step is not None:
        return finding.trace.steps[growth.step] == bounded
    return not growth.is_located


def outgrows(finding: Finding, free: int) -> bool:
    """Whether memory is full before the bounded container: its bound times the size of its items is more than is free."""
    bounded = bounded_step(finding)
    if bounded is None or bounded.most is None or not bounded.length:
        return False
    return finding.retained_bytes / bounded.length * (bounded.most - bounded.length) > free


def bounded_step(finding: Finding) -> PathStep | None:
    """Return the bounded container on the path that still has room."""
    for step in finding.trace.steps:
        if step.most is not None and step.most <= LARGEST_BOUND and (step.length is None or step.length < step.most):
            return step
    return None


def is_library_table(finding: Finding) -> bool:
    """Whether a table of the standard library or of torch grows without tensors, such as source lines of generated
    code.
    """
    amounts = finding.per_step
    steps = finding.trace.steps
    if amounts.tensors or amounts.storages or amounts.graph_nodes or not steps or steps[0].object != "module":
        return False
    if is_of_program(finding):
        return False
    package = package_of(steps[0])
    return package in sys.stdlib_module_names or package == "torch"


def is_of_program(finding: Finding) -> bool:
    """Whether only a program stores such objects in a library's table: large ones, arrays, threads and the like, or any
    below an object of a class that no library's table has, such as a handler of logging.
    """
    amounts, steps = finding.per_step, finding.trace.steps
    if steps[-1].type in base_types() | {ARRAY} or max(amounts.bytes, amounts.retained_bytes) >= LARGE_BYTES:
        return True
    return any(not is_data(step.type) for step in steps[1:-1])


def package_of(step: PathStep) -> str:
    """Return the package of the module that a trace begins with; empty if it begins elsewhere."""
    return step.detail.partition(".")[0] if step.object == "module" else ""


def explained(finding: Finding) -> Explained:
    """Explain a bounded cache or a library's table on one line."""
    steps = finding.trace.steps
    bounded = bounded_step(finding)
    if bounded is not None:
        words = f"{bounded.object} {bounded.detail}".strip()
        return Explained("bounded cache", f"{words}, not full yet", finding.retained_bytes)
    return Explained(
        "table of a library", f"{steps[0].object} {steps[0].detail}: {steps[0].via}", finding.retained_bytes
    )


def limited(finding: Finding, at: int, limit: str) -> Explained:
    """Explain on one line what fills up to a limit of the program; ``limit``: where it stands, ``at``: the step that grows."""
    holder = finding.trace.steps[at]
    what = f"{path_text(finding.trace.steps[: at + 1])}, {holder.object} {holder.detail}".rstrip()
    return Explained(BOUNDED, f"{what}: not full yet; {limit} limits its length", finding.retained_bytes)


def of_fixed_size(finding: Finding, growth: Growth, empty: int) -> Explained:
    """Explain on one line a list or an array of a fixed size; ``empty``: its items that are still to be set."""
    what = path_text(finding.trace.steps[: (growth.step or 0) + 1])
    return Explained(
        BOUNDED, f"{what}: it has a fixed size, and {empty:,} items are still to be set", finding.retained_bytes
    )


def outgrows_slots(finding: Finding, references: int, empty: int, free: int) -> bool:
    """Whether memory is full before all items are set."""
    return finding.retained_bytes / max(1, references) * empty > free


def emptied(finding: Finding) -> Explained:
    """Explain on one line what grew until the program emptied it."""
    end = None if finding.grows_at is None else finding.grows_at + 1
    what = f"{path_text(finding.trace.steps[:end])}: {finding.emptied_at} empties it, and it grows again"
    return Explained("emptied now and then", what, finding.retained_bytes)


def gathered(finding: Finding, at: int, where: str) -> Explained:
    """Explain on one line the results that the program gathers to read them all; ``where``: the statement that does."""
    what = f"{path_text(finding.trace.steps[: at + 1])}: {where} reads all of it"
    return Explained("results of an evaluation", what, finding.retained_bytes)


def optimizer_state(finding: Finding, at: int) -> Explained:
    """Explain on one line the entries of parameters that the optimizer steps for the first time; ``at``: the state's step."""
    what = f"{path_text(finding.trace.steps[: at + 1])}: parameters get their first gradients"
    return Explained("optimizer state", what, finding.retained_bytes)


def built(finding: Finding, growth: Growth) -> Explained:
    """Explain on one line what an expression is building: no name holds it yet."""
    frame, holder = finding.trace.steps[0], finding.trace.steps[growth.step or 0]
    what = f"{frame.object} {frame.detail} builds a {holder.object}, {holder.detail} so far"
    return Explained("value of an expression", what, finding.retained_bytes)


def replaced(finding: Finding) -> Explained:
    """Explain on one line a place where each step stores a larger object that is not built from the previous one."""
    what = f"{path_text(finding.trace.steps)}: replaced at each step by a larger one that is not made of it"
    return Explained("larger in each step", what, finding.retained_bytes)


def let_go(finding: Finding, period: int, most: int) -> Explained:
    """Explain what finished steps keep and release together; ``period`` in steps, 0 if it varies."""
    how = f"let go every {period} steps" if period else "let go now and then"
    return Explained("kept for some steps", f"{path_text(finding.trace.steps)}: {how}, and taken again", most)


def path_text(steps: Sequence[PathStep]) -> str:
    """Format a path as it would be written in the program."""
    names = [step.via if step.via[:1] in ".[" else f" {step.via}" for step in steps[:-1]]
    return "".join(names).strip()


def slowed(finding: Finding) -> Explained:
    """Explain on one line a cache that grows less in every round because its keys repeat."""
    steps = finding.trace.steps
    place = f"{steps[-2].object} {steps[-2].detail}".strip() if len(steps) > 1 else finding.trace.object
    return Explained("cache that fills", f"{place} gets less in every round", finding.retained_bytes)


def is_compilers(finding: Finding) -> bool:
    """Whether torch's compiler keeps the growth; without tensors, also whether a Python table or an unknown holder
    does.

    Each compiled version brings functions and weak references of the compiler. Whatever the program holds is the
    program's.
    """
    steps = finding.trace.steps
    if steps and steps[0].object == "module" and steps[0].detail.startswith("torch._"):
        return True
    amounts = finding.per_step
    if amounts.tensors or amounts.storages or amounts.graph_nodes:
        return False
    is_unknown = finding.kind in {FindingKind.NATIVE, FindingKind.NEVER}
    return is_unknown or (
        bool(steps)
        and (steps[0].object == "interpreter" or package_of(steps[0]) in {"torch", *sys.stdlib_module_names})
    )


def recompiled(finding: Finding) -> Explained:
    """Explain growth of compile caches on one line, with the limit of torch.compile."""
    config: Any = getattr(sys.modules.get("torch._dynamo"), "config", None)
    most = getattr(config, "recompile_limit", None) or getattr(config, "cache_size_limit", None)
    end = f", {most} of a function at most" if isinstance(most, int) else ""
    words = f"torch.compile makes new versions of the same functions in every round{end}"
    return Explained("compile cache", words, finding.retained_bytes)
