"""The whole table: what is said of a trace first, where several patterns fit."""

from __future__ import annotations

from gradlife.patterns.pattern import Pattern
from gradlife.patterns.rows_functions import FUNCTION_RINGS, FUNCTION_WAYS
from gradlife.patterns.rows_graphs import GRAPH_WAYS
from gradlife.patterns.rows_holders import EXCEPTION_WAYS, HOLDER_RINGS, HOLDER_WAYS, PLAIN_WAYS, SPREAD_WAYS
from gradlife.patterns.rows_modules import MODULE_RINGS, MODULE_WAYS
from gradlife.patterns.rows_native import NATIVE_WAYS

#: What is special before what is general.
PATTERNS: tuple[Pattern, ...] = (
    *FUNCTION_RINGS,
    *MODULE_RINGS,
    *HOLDER_RINGS,
    *SPREAD_WAYS,
    *EXCEPTION_WAYS,
    *FUNCTION_WAYS,
    *HOLDER_WAYS,
    *MODULE_WAYS,
    *GRAPH_WAYS,
    *NATIVE_WAYS,
    *PLAIN_WAYS,
)


def patterns_of(code: str) -> tuple[Pattern, ...]:
    """The rows of a code: some leaks look different where a root holds them and where none does."""
    return tuple(pattern for pattern in PATTERNS if pattern.code == code)
