"""The markers ``max_peak`` and ``max_growth``: the most bytes of a test, or no more than its baseline has."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import pytest

from gradlife.model.threshold import bytes_of
from gradlife.pytest_plugin.settings.bad_marker import BadMarker

MAX_PEAK, MAX_GROWTH = "max_peak", "max_growth"

#: What each marker is about, as the properties of a test and the entries of a baseline name it.
FIGURES = {MAX_PEAK: "peak_bytes", MAX_GROWTH: "growth_bytes"}

#: The prefix of a test's properties in JUnit XML.
PROPERTY = "gradlife_"

#: What to do if the baseline has no figure.
NO_FIGURE = " (try: pytest --leaks-baseline FILE --leaks-update-baseline)"

DESCRIPTIONS = (
    f"{MAX_PEAK}('2 GB'): the test is run again a few times; it fails if the peak of its tensors is larger, or larger than "
    "the --leaks-baseline has it. Without a size only the baseline counts.",
    f"{MAX_GROWTH}('0 B'): the test is repeated; it fails if each run leaves more bytes behind, or more than the "
    "--leaks-baseline has. Without a size only the baseline counts.",
)


@dataclass(frozen=True, slots=True)
class Limit:
    """The argument of a marker."""

    nbytes: int | None = None  # None: that of the baseline


def limit_of(item: pytest.Item, marker: str) -> Limit | None:
    """Return the limit of a test's closest marker; None if it has none. Raises `BadMarker`."""
    mark = item.get_closest_marker(marker)
    if mark is None:
        return None
    example = "0 B" if marker == MAX_GROWTH else "2 GB"
    if mark.kwargs or len(mark.args) > 1:
        raise BadMarker(f"{marker} takes a size, {marker}({example!r}), or nothing: that of the baseline")
    if not mark.args:
        return Limit()
    [value] = mark.args
    nbytes = -1
    with contextlib.suppress(ValueError):
        nbytes = bytes_of(value) if isinstance(value, str) else nbytes
    if isinstance(value, int) and not isinstance(value, bool):
        nbytes = value
    if nbytes < (marker == MAX_PEAK):
        raise BadMarker(f"{marker}({value!r}): a size such as {example!r}")
    return Limit(nbytes)
