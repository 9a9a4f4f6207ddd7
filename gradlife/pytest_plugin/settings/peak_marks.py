"""Read and check the arguments of the marker ``peak_memory``."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from gradlife.pytest_plugin.settings.marks import BadMarker

MARKER = "peak_memory"

DESCRIPTION = (
    f"{MARKER}(limit='', drag=''): the test is run again a few times, and the memory of tensors is recorded; it fails if "
    "its peak is above the limit ('1.2 GB'), or if more of the peak than drag ('5 %') is never read again."
)

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


@dataclass(frozen=True, slots=True)
class PeakTerms:
    """The arguments of a test's marker. None means no limit."""

    limit: int | None = None  # bytes of the peak
    drag: float | None = None  # the part of the peak that may be never read again, in per cent


#: The key of a test's terms in its stash.
TERMS = pytest.StashKey[PeakTerms]()


def terms_of(item: pytest.Item) -> PeakTerms | None:
    """Return the terms of a test's closest marker; None if it has none. Raises `BadMarker`."""
    mark = item.get_closest_marker(MARKER)
    if mark is None:
        return None
    unknown = sorted(mark.kwargs.keys() - {"limit", "drag"})
    if mark.args or unknown or not mark.kwargs:
        raise BadMarker(f"{item.nodeid}: {MARKER} takes limit='1.2 GB', drag='5 %', or both")
    limit, drag = mark.kwargs.get("limit"), mark.kwargs.get("drag")
    return PeakTerms(
        nbytes(item, limit) if limit is not None else None, per_cent(item, drag) if drag is not None else None
    )


def nbytes(item: pytest.Item, value: object) -> int:
    """Parse ``1.2 GB`` or a number of bytes."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    found = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]+)?)\s*((?:[kmgt]i?)?)b?", str(value).lower())
    if not isinstance(value, str) or found is None or float(found[1]) == 0:
        raise BadMarker(f"{item.nodeid}: {MARKER}(limit={value!r}): a size such as '1.2 GB'")
    return int(float(found[1]) * UNITS[found[2]])


def per_cent(item: pytest.Item, value: object) -> float:
    """Parse ``5 %``."""
    found = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]+)?)\s*%", value) if isinstance(value, str) else None
    if found is None or float(found[1]) > 100:
        raise BadMarker(f"{item.nodeid}: {MARKER}(drag={value!r}): a share such as '5 %'")
    return float(found[1])
