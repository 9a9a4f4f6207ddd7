"""The table of all patterns, in order: the first that fits a trace names the leak."""

from __future__ import annotations

from gradlife.patterns.matching.pattern import Pattern
from gradlife.patterns.rules.devices import ALLOCATOR_STATES
from gradlife.patterns.rules.functions import FUNCTION_CYCLES, FUNCTION_PATHS
from gradlife.patterns.rules.graphs import GRAPH_PATHS
from gradlife.patterns.rules.holders import EXCEPTION_PATHS, HOLDER_CYCLES, HOLDER_PATHS, PLAIN_PATHS, SPREAD_PATHS
from gradlife.patterns.rules.modules import CHECKPOINT_PATHS, MODULE_CYCLES, MODULE_PATHS
from gradlife.patterns.rules.native import NATIVE_PATHS

#: Specific patterns before general ones.
PATTERNS: tuple[Pattern, ...] = (
    *FUNCTION_CYCLES,
    *MODULE_CYCLES,
    *HOLDER_CYCLES,
    *SPREAD_PATHS,
    *EXCEPTION_PATHS,
    *FUNCTION_PATHS,
    *CHECKPOINT_PATHS,
    *HOLDER_PATHS,
    *MODULE_PATHS,
    *GRAPH_PATHS,
    *NATIVE_PATHS,
    *PLAIN_PATHS,
    *ALLOCATOR_STATES,
)


def patterns_of(code: str) -> tuple[Pattern, ...]:
    """Return the rows of a code: some leaks differ between reachable and unreachable objects."""
    return tuple(pattern for pattern in PATTERNS if pattern.code == code)
