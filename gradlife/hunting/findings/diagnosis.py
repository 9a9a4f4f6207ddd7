"""The name of a finding, from the pattern that matches its trace, and the versions of the loaded libraries."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from gradlife.hunting.stores.patches import patch_for
from gradlife.hunting.stores.program_sources import program_sources
from gradlife.hunting.stores.stored_at import Evidence, stored_at
from gradlife.hunting.stores.storing_function import storing_function
from gradlife.model.growth import UNKNOWN_GROWTH, Growth, GrowthKind
from gradlife.model.heap import TypeCount
from gradlife.model.hunt import Amounts, Arrivals, Confidence, Diagnosis, Finding, FindingKind, Patch
from gradlife.model.trace import Lifetime, StepStatus, Trace
from gradlife.patterns import diagnose, fingerprint, legacy_fingerprint
from gradlife.patterns.rewrites.kept_graph import DETACH
from gradlife.safe_access import loaded

#: The reason that a trace shows at the container that grows.
GROWS = "grows: it has more items after every round"
GREW_AFTER_STEPS = "grows: it got items after the last step"

#: Libraries with known leaks.
LIBRARIES = ("torch", "numpy")


def finding(
    kind: FindingKind,
    lifetime: Lifetime,
    trace: Trace,
    per_step: Amounts,
    *,
    survivors: int,
    retained_bytes: int,
    growth: Growth = UNKNOWN_GROWTH,
    created_at: tuple[str, ...] = (),
    executed: Collection[tuple[str, int]] = (),
    also_held_by: tuple[str, ...] = (),
    retained_types: tuple[TypeCount, ...] = (),
    arrivals: Arrivals | None = None,
) -> Finding:
    """Build a finding with its name, reason and advice.

    ``growth`` is as in `diagnose`; ``executed``: files and lines of the program that ran in a step.
    """
    grows_at = growth.step if growth.kind is GrowthKind.CONTAINER else None
    evidence = Evidence(created_at, frozenset(executed))
    sources = program_sources()
    stored = stored_at(trace, evidence, sources, growth)
    statement = stored.source if stored is not None and stored.confidence is Confidence.SURE else ""
    diagnosis = diagnose(trace, kind, lifetime, growth=growth, versions=versions(), statement=statement)
    function, certain = storing_function(trace, stored, created_at, sources, growth)
    printed = fingerprint(trace, code=diagnosis.code, function=function, statement=certain, growth=growth)
    patch = patch_for(diagnosis.code, trace, stored, sources, growth) if not also_held_by else None
    if patch is not None:
        diagnosis = with_code(diagnosis, patch)
    return Finding(
        kind,
        lifetime,
        diagnosis,
        with_growing_step(trace, grows_at, GREW_AFTER_STEPS if arrivals and arrivals.is_after_steps else GROWS),
        per_step,
        survivors,
        retained_bytes,
        printed,
        created_at,
        also_held_by=also_held_by,
        retained_types=retained_types,
        stored_at=stored,
        patch=patch,
        grows_at=grows_at,
        arrivals=arrivals,
        legacy_fingerprint=legacy_fingerprint(trace, growth=growth),
    )


def with_code(diagnosis: Diagnosis, patch: Patch) -> Diagnosis:
    """Advise the patch's form of the same statement: it is sure which of the values are tensors, a pattern is not."""
    code = diagnosis.advice.code
    same = (
        line.strip() for line in patch.added if line.replace(DETACH, "").strip() == code.replace(DETACH, "").strip()
    )
    return replace(diagnosis, advice=replace(diagnosis.advice, code=next(same, code)))


def with_growing_step(trace: Trace, at: int | None, reason: str = GROWS) -> Trace:
    """Return the trace with the growing container marked."""
    if at is None or trace.steps[at].status is not StepStatus.UNKNOWN:
        return trace
    steps = (*trace.steps[:at], replace(trace.steps[at], reason=reason), *trace.steps[at + 1 :])
    return replace(trace, steps=steps)


def versions() -> dict[str, str]:
    """Return the versions of the known libraries that this process has loaded."""
    found = ((name, loaded(name)) for name in LIBRARIES)
    return {name: str(vars(module).get("__version__", "")) for name, module in found if module is not None}
