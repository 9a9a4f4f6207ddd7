"""The statement that stores a survivor and its function, as a fingerprint knows them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gradlife.hunting.snapshots.creation_sites import short_path
from gradlife.hunting.stores.program_sources import Source
from gradlife.hunting.stores.stored_at import Evidence, is_of_program, stored_at
from gradlife.model.growth import Growth
from gradlife.model.hunt import Confidence, StoredAt
from gradlife.model.trace import Trace

#: A line of a creation stack: ``train.py:41 in step``.
CREATED = re.compile(r"(?P<file>.+):\d+ in (?P<function>.+)")

#: The part of a qualified name that marks an inner function, which names from sources do not have.
INSIDE = ".<locals>"


def storing_function(
    trace: Trace, stored: StoredAt | None, created_at: Sequence[str], sources: Sequence[Source], growth: Growth
) -> tuple[str, str]:
    """Return the module and the function of the statement that stores, and the statement; empty if it is not certain.

    It is certain if the function was running when the survivor was created, or if no other statement fits. Which lines ran
    in a step does not count: tests do not know it. If no path from a root names the program, the function that created the
    survivor stands in.
    """
    running = [(found["file"], plain(found["function"])) for line in created_at if (found := CREATED.match(line))]
    if stored is not None and (stored.file, stored.function) not in running:
        alone = stored_at(trace, Evidence(), sources, growth)
        stored = alone if alone is not None and alone.confidence is Confidence.SURE else None
    if stored is not None:
        return f"{module_of(stored.file, sources)} {stored.function}", stored.source
    if not running or names_program(trace, sources):
        return "", ""
    file, function = running[0]
    return f"{module_of(file, sources)} {function}", ""


def names_program(trace: Trace, sources: Sequence[Source]) -> bool:
    """Whether a path from a root has a module or a class of the program."""
    modules = {one.module for one in sources}
    return any(
        step.detail in modules if step.type == "module" else is_of_program(step.type, modules) for step in trace.steps
    )


def plain(function: str) -> str:
    """Return a qualified name without what marks inner functions; empty for the top of a module."""
    return "" if function == "<module>" else function.replace(INSIDE, "")


def module_of(file: str, sources: Sequence[Source]) -> str:
    """Return the module of a file, as the main process knows it."""
    found = next((one.module for one in sources if short_path(one.file) == file), "")
    return "__main__" if found == "__mp_main__" else found
