"""The name of a finding, from the pattern that matches its trace, and the versions of the loaded libraries."""

from __future__ import annotations

import functools
import sys
from collections.abc import Collection
from dataclasses import replace

from gradlife.hunting.stores.patches import patch_for
from gradlife.hunting.stores.program_sources import are_all_read, program_sources
from gradlife.hunting.stores.stored_at import Evidence, stored_at
from gradlife.hunting.stores.storing_function import storing_function
from gradlife.hunting.stores.whole_reads import older_read_of
from gradlife.model.growth import UNKNOWN_GROWTH, Growth, GrowthKind
from gradlife.model.heap import TypeCount
from gradlife.model.hunt import UNKNOWN_CODE, Amounts, Arrivals, Confidence, Diagnosis, Finding, FindingKind, Patch
from gradlife.model.trace import Lifetime, StepStatus, Trace
from gradlife.patterns import diagnose, fingerprint, legacy_fingerprint
from gradlife.patterns.known_leaks import modules_of_libraries
from gradlife.patterns.rewrites.kept_graph import DETACH
from gradlife.patterns.wording import expression
from gradlife.safe_access import has_method, is_a, loaded, member

#: The reason that a trace shows at the container that grows.
GROWS = "grows: it has more items after every round"
GREW_AFTER_STEPS = "grows: it got items after the last step"

#: Methods by which types of libraries let go of what they keep, the most special first.
EMPTYING = ("clear_memo", "cache_clear", "clear_cache", "clear", "reset", "purge", "unlink", "close", "shutdown")

#: Libraries whose private attributes only their own methods may change.
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
    read_at = older_read_of(trace, grows_at, sources) if grows_at is not None else ""
    diagnosis = diagnose(
        trace, kind, lifetime, growth=growth, versions=versions(), statement=statement, read_at=read_at
    )
    if diagnosis.code == UNKNOWN_CODE:
        diagnosis = with_emptying_method(diagnosis, trace)
    if is_private(trace, grows_at):
        diagnosis = replace(diagnosis, advice=replace(diagnosis.advice, code=""))
    function, certain = storing_function(trace, stored, created_at, sources, growth)
    printed = fingerprint(trace, code=diagnosis.code, function=function, statement=certain, growth=growth)
    patch = patch_for(diagnosis.code, trace, stored, sources, growth) if not also_held_by and are_all_read() else None
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


def with_emptying_method(diagnosis: Diagnosis, trace: Trace) -> Diagnosis:
    """Advise the method by which the nearest holder lets go of what it keeps, if its type has one."""
    for at in range(len(trace.steps) - 2, 0, -1):
        module, _, name = trace.steps[at].type.rpartition(".")
        kind = member(module, name)
        found = (method for method in EMPTYING if is_a(kind, type) and has_method(kind, method))
        place, method = expression(trace.steps[: at + 1], at), next(found, "")
        if method and place:
            text = f"Call its {method}() when what it keeps is needed no longer."
            return replace(diagnosis, advice=replace(diagnosis.advice, text=text, code=f"{place}.{method}()"))
    return diagnosis


def is_private(trace: Trace, at: int | None) -> bool:
    """Whether the container at a step is a private attribute of an object of Python or torch: only its methods may change it."""
    if not at:
        return False
    owner = trace.steps[at - 1]
    label = owner.hops[-1].label if owner.hops else ""
    library = owner.type.partition(".")[0]
    return label.lstrip(".").startswith("_") and (library in sys.stdlib_module_names or library in LIBRARIES)


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
    """Return the versions of the libraries with known leaks that this process has loaded."""
    named = modules_of_libraries().items()
    found = {library: version_of(library, module) for library, module in named if loaded(module)}
    return {library: version for library, version in found.items() if version}


def version_of(library: str, module: str) -> str:
    """Return the version that a loaded module or its installation names; empty if neither does."""
    named = member(module, "__version__")
    return str(named) if is_a(named, str) else installed_version(library)


@functools.cache
def installed_version(library: str) -> str:
    """Return the version of an installed library; empty if it is not installed by that name."""
    from importlib import metadata  # imported here: few libraries have no __version__

    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return ""
