"""The live bytes over the step as a picture, and the lives of the lines that allocate them as bars."""

from __future__ import annotations

import os
from collections.abc import Iterator

from gradlife.model.peak.report import Band, Picture
from gradlife.reports.document.blocks import WIDE, Bar
from gradlife.reports.drawing.areas import Area, AreaChart, Stretch, span_bar
from gradlife.reports.drawing.svg import Svg
from gradlife.reports.peak.words import owner_class
from gradlife.reports.values import counted, short, size

#: Most bands with a row of their own below the picture.
MAX_BANDS = 24


def drawn(picture: Picture, width: float) -> Svg:
    """Draw the picture."""
    areas = [
        Area(band.owner.value + (f", {where(band)}" if where(band) else ""), band.bytes, owner_class(band.owner))
        for band in picture.bands
    ]
    stretches = [Stretch(phase.name, phase.first, phase.end) for phase in picture.phases]
    height = 320.0 if width > WIDE else 240.0
    chart = AreaChart(areas, picture.marks, stretches, picture.peak, lambda value: size(round(value)), width, height)
    return chart.drawn("Live bytes by owner")


def where(band: Band) -> str:
    """Return the line and the module that allocate."""
    place = f"{os.path.basename(band.place.file)}:{band.place.line}" if band.place.file else ""
    return short(" in ".join(part for part in (place, band.module) if part), 80)


def bars_of(picture: Picture, operations: int) -> Iterator[Bar]:
    """Yield the bands with the lives of their largest storages, the largest at the peak first."""
    numbered = sorted(enumerate(picture.bands), key=lambda one: -one[1].bytes[picture.peak])
    for number, band in numbered[:MAX_BANDS]:
        at_peak = band.bytes[picture.peak]
        share = (
            f"{size(at_peak)} of the peak in {counted(band.storages, 'storage')}" if at_peak else "nothing at the peak"
        )
        life = span_bar(list(pieces(band, operations)), operations)
        place = where(band) or "not made in the step"
        yield Bar(f"band-{number}", owner_class(band.owner), band.owner.value, place, share, life)


def pieces(band: Band, end: int) -> Iterator[tuple[str, float, float]]:
    """Return the parts of the lifetime of a band's largest storage: lag, use, drag."""
    died = band.died if band.died is not None else end
    if band.first_read is None or band.last_read is None:
        yield "void", band.born, died
        return
    yield "lag", band.born, band.first_read
    yield "use", band.first_read, band.last_read + 1
    if band.died is not None:
        yield "drag", band.last_read + 1, died
