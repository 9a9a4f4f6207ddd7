"""Read and check the arguments of the marker ``peak_memory``."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gradlife.model.threshold import bytes_of, percent_of
from gradlife.pytest_plugin.settings.bad_marker import BadMarker
from gradlife.pytest_plugin.settings.limit_marks import MAX_PEAK, limit_of

MARKER = "peak_memory"

DESCRIPTION = (
    f"{MARKER}(limit='', drag=''): the test is run again a few times, and the memory of tensors is recorded; it fails if "
    "its peak is above the limit ('1.2 GB'), or if more of the peak than drag ('5 %') is never read again."
)


@dataclass(frozen=True, slots=True)
class PeakTerms:
    """The arguments of a test's marker. None means no limit."""

    limit: int | None = None  # bytes of the peak
    drag: float | None = None  # the part of the peak that may be never read again, in per cent
    has_baseline: bool = False  # whether the limit is that of the baseline, if that is larger or there is no other


#: The key of a test's terms in its stash.
TERMS = pytest.StashKey[PeakTerms]()


def terms_of(item: pytest.Item) -> PeakTerms | None:
    """Return the terms of a test's closest markers; None if it has none. Raises `BadMarker`."""
    mark = item.get_closest_marker(MARKER)
    try:
        most = limit_of(item, MAX_PEAK)
    except BadMarker as error:
        raise BadMarker(f"{item.nodeid}: {error}") from None
    if mark is None:
        return PeakTerms(most.nbytes, has_baseline=True) if most is not None else None
    unknown = sorted(mark.kwargs.keys() - {"limit", "drag"})
    if mark.args or unknown or not mark.kwargs:
        raise BadMarker(f"{item.nodeid}: {MARKER} takes limit='1.2 GB', drag='5 %', or both")
    limit, drag = mark.kwargs.get("limit"), mark.kwargs.get("drag")
    if limit is not None and most is not None:
        raise BadMarker(f"{item.nodeid}: {MARKER}(limit={limit!r}) and {MAX_PEAK}: one of them is enough")
    share = per_cent(item, drag) if drag is not None else None
    if most is not None:
        return PeakTerms(most.nbytes, share, has_baseline=True)
    return PeakTerms(nbytes(item, limit) if limit is not None else None, share)


def nbytes(item: pytest.Item, value: object) -> int:
    """Parse ``1.2 GB`` or a number of bytes."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    try:
        found = bytes_of(value) if isinstance(value, str) else 0
    except ValueError:
        found = 0
    if not found:
        raise BadMarker(f"{item.nodeid}: {MARKER}(limit={value!r}): a size such as '1.2 GB'")
    return found


def per_cent(item: pytest.Item, value: object) -> float:
    """Parse ``5 %``."""
    try:
        return percent_of(value if isinstance(value, str) else "")
    except ValueError:
        raise BadMarker(f"{item.nodeid}: {MARKER}(drag={value!r}): a share such as '5 %'") from None
