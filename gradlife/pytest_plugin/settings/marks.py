"""The marker ``no_leaks``: its arguments, checked at collection."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from gradlife.pytest_plugin.settings.bad_marker import BadMarker
from gradlife.pytest_plugin.settings.limit_marks import MAX_GROWTH, limit_of
from gradlife.pytest_plugin.settings.options import ALLOW, FAIL, WARN

MARKER = "no_leaks"

DESCRIPTION = (
    f"{MARKER}(tensors=0, bytes=0, cycles='fail', repeat=7, warmup=2, allow=[], until='', reason=''): "
    "repeats the test, and fails it if every counted run leaves more tensors or bytes behind than allowed. "
    "By default, cycles that wait for the collector fail it from 4 KiB a run on."
)


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a test's marker. Limits are per counted run; None means no limit."""

    tensors: int | None = 0
    bytes: int | None = 0
    cycles: str = FAIL  # "fail", "warn", "allow": for tensors in collectable cycles
    repeat: int = 7  # counted runs
    warmup: int = 2
    allow: tuple[str, ...] = ()  # fingerprints, codes, "torch>=1.4:pt#94990"
    until: datetime.date | None = None  # allowed until this date; everything if nothing is named
    reason: str = ""
    mode: str = FAIL  # or "warn"
    how: str = "marker"  # or "--leaks", "--leaks-repeat"
    min_cycle_bytes: int = 0  # bytes per run: smaller cycles are only reported
    growth: int | None = None  # of the marker max_growth: bytes per run, in place of the other limits
    is_growth: bool = False  # whether the test has that marker; without a limit that of the baseline counts

    @property
    def has_expired(self) -> bool:
        """Whether the date until which leaks were allowed has passed."""
        return self.until is not None and datetime.date.today() > self.until


#: Options that check tests without a marker: after one run, or by repeating them.
SWEPT, REPEATED = "--leaks", "--leaks-repeat"

#: Least bytes in cycles that each run must leave to fail a test whose marker does not mention cycles.
MIN_CYCLE_BYTES = 4096

#: The key of an item's terms.
TERMS = pytest.StashKey[Terms]()

#: The key of whether an item's call raised.
RAISED = pytest.StashKey[bool]()

#: The fixture that asserts lifetimes.
FIXTURE = "lifetimes"


def is_concerned(item: pytest.Item) -> bool:
    """Whether a test itself asks for a check."""
    return MARKER in item.keywords or MAX_GROWTH in item.keywords or FIXTURE in getattr(item, "fixturenames", ())


def terms_of(item: pytest.Item) -> Terms | None:
    """Read the terms of a test's closest marker; None if it has none. Raises `BadMarker`."""
    mark, growth = item.get_closest_marker(MARKER), limit_of(item, MAX_GROWTH)
    if mark is not None and growth is not None:
        raise BadMarker(f"{MARKER} and {MAX_GROWTH}: one of them is enough, {MARKER}(bytes=0) for both")
    if growth is not None:
        return Terms(None, None, WARN, growth=growth.nbytes, is_growth=True)
    if mark is None:
        return None
    if mark.args:
        raise BadMarker(f"{MARKER} takes keywords only: {MARKER}(tensors=1)")
    unknown = sorted(mark.kwargs.keys() - PARSERS.keys())
    if unknown:
        raise BadMarker(f"{MARKER} does not know {', '.join(unknown)}; it takes {', '.join(PARSERS)}")
    values = {name: PARSERS[name](name, value) for name, value in mark.kwargs.items()}
    values["min_cycle_bytes"] = 0 if "cycles" in values else MIN_CYCLE_BYTES
    if ("tensors" in values) != ("bytes" in values):
        values = {"tensors": None, "bytes": None, **values}
    return Terms(**values)


def count(name: str, value: object) -> int:
    """Read an argument that is a non-negative number."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadMarker(f"{MARKER}({name}={value!r}): a whole number from 0 on")
    return value


def count_of_runs(name: str, value: object) -> int:
    """Read an argument that is a number of at least 1."""
    if count(name, value) == 0:
        raise BadMarker(f"{MARKER}({name}=0): at least one run is counted")
    return count(name, value)


def policy(name: str, value: object) -> str:
    """Return what to do about cycles."""
    if value not in (FAIL, WARN, ALLOW):
        raise BadMarker(f"{MARKER}({name}={value!r}): {FAIL!r}, {WARN!r} or {ALLOW!r}")
    return str(value)


def names(name: str, value: object) -> tuple[str, ...]:
    """Read an argument that is a list of strings."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise BadMarker(f"{MARKER}({name}={value!r}): a list of fingerprints, codes, or 'torch>=1.4:pt#94990'")
    found = tuple(value)
    if not all(isinstance(one, str) and one for one in found):
        raise BadMarker(f"{MARKER}({name}={value!r}): a list of texts")
    return found


def date(name: str, value: object) -> datetime.date | None:
    """Read an argument that is a date."""
    if value in ("", None):
        return None
    if isinstance(value, datetime.datetime):
        return value.date()
    if isinstance(value, datetime.date):
        return value
    try:
        return datetime.date.fromisoformat(str(value))
    except ValueError:
        raise BadMarker(f"{MARKER}({name}={value!r}): a day such as '2027-03-01'") from None


def text(name: str, value: object) -> str:
    """Read an argument that is a string."""
    if not isinstance(value, str):
        raise BadMarker(f"{MARKER}({name}={value!r}): a text")
    return value


PARSERS: dict[str, Any] = {
    "tensors": count,
    "bytes": count,
    "cycles": policy,
    "repeat": count_of_runs,
    "warmup": count,
    "allow": names,
    "until": date,
    "reason": text,
}
