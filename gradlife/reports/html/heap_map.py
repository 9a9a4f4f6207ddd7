"""The map of a heap: an area per holder by its retained bytes, coloured by the device of most of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradlife.model.heap_map import Area, HeapMap, MappedObject, OtherEnd
from gradlife.reports.document.blocks import NARROW, WIDE
from gradlife.reports.drawing import Cell, Svg, treemap
from gradlife.reports.html.traces import Drawn
from gradlife.reports.values import short, short_name, size

#: Most letters of a description in an area, which has little room.
MAX_LETTERS = 60
#: Least share of an area that its parts must have together to be drawn in it.
WORTHWHILE = 0.3
OTHERS = "all other holders"
#: Most colours of areas, one per device; only storages have one.
TONES = ("1", "2", "3", "4")


def heap_drawing(found: HeapMap, *, has_links: bool = True, height: float = 460.0) -> Drawn:
    """Draw the map for a wide page and for a narrow one."""
    return Drawn(
        drawing(found, WIDE + 480, height, has_links=has_links), drawing(found, NARROW, height, has_links=has_links)
    )


def drawing(found: HeapMap, width: float, height: float, *, has_links: bool) -> Svg:
    """Draw the map at a width."""
    cells = list(AreaCells(found, has_links).cells())
    first = "; ".join(cell.description for cell in sorted(cells, key=lambda one: -one.weight)[:8])
    return treemap(cells, width, height, "Retained bytes by holder", first)


def devices_of(found: HeapMap) -> list[str]:
    """Return the devices with storages, those with the most bytes first."""
    devices: dict[str, int] = {}
    for one in found.objects:
        if one.above <= 0:
            for device, nbytes in one.storages:
                devices[device] = devices.get(device, 0) + nbytes
    return sorted(devices, key=lambda device: -devices[device])


def legend(found: HeapMap) -> list[tuple[str, str]]:
    """Return the meaning of the colours: class and text."""
    lines = [(tone, f"mostly tensors' storages on {device}") for device, tone in tones(devices_of(found)).items()]
    return [*lines, ("plain", "mostly other objects")]


def tones(devices: Sequence[str]) -> dict[str, str]:
    """Return a colour for each device; if there are more devices than colours, the rest share the last."""
    return {device: TONES[min(number, len(TONES) - 1)] for number, device in enumerate(devices)}


def tells(area: Area) -> bool:
    """Whether the first parts are large enough to show what an object consists of, unlike those of a list of equals."""
    return sum(part.retained for part in area.parts) >= area.bytes * WORTHWHILE


class AreaCells:
    """Converts areas to cells of a treemap."""

    def __init__(self, found: HeapMap, has_links: bool) -> None:
        self._found = found
        self._objects = {one.node: one for one in found.objects}
        self._tones = tones(devices_of(found))
        self._total = max(1, found.reached_bytes)
        self._has_links = has_links

    def cells(self) -> Iterator[Cell]:
        """Return a cell per area, and one for the rest."""
        for area in self._found.areas:
            yield self._area(area)
        rest = self._found.reached_bytes - sum(area.bytes for area in self._found.areas)
        if rest > 0:
            yield Cell(OTHERS, rest, self._describe(OTHERS, rest), size(rest), "quiet")

    def _area(self, area: Area) -> Cell:
        name = named(area.holder) + (" but for its parts beside it" if area.is_rest else "")
        return Cell(
            label=name,
            weight=area.bytes,
            description=self._describe(name, area.bytes),
            amount=size(area.bytes),
            tone=self._tone(area.holder),
            link=self._link(area.holder),
            parts=tuple(self._part(part, area) for part in area.parts) if tells(area) else (),
        )

    def _part(self, part: OtherEnd, area: Area) -> Cell:
        name = named(part)
        result = self._describe(name, part.retained)
        return Cell(
            name,
            part.retained,
            result,
            size(part.retained),
            self._tone(part),
            self._link(part) or self._link(area.holder),
        )

    def _describe(self, name: str, nbytes: int) -> str:
        return f"{name}: {size(nbytes)}, {nbytes / self._total:.1%}"

    def _tone(self, one: OtherEnd) -> str:
        """Return the colour of the device with more than half of the bytes."""
        known: MappedObject | None = self._objects.get(one.node)
        device, nbytes = known.storages[0] if known is not None and known.storages else ("", 0)
        return self._tones[device] if 2 * nbytes > one.retained else "plain"

    def _link(self, one: OtherEnd) -> str:
        return f"#object-{one.node}" if self._has_links and one.node in self._objects else ""


def named(one: OtherEnd | MappedObject) -> str:
    """Describe an object: its reference, and its type."""
    return short(f"{one.via} {what(one)}".strip(), MAX_LETTERS)


def what(one: OtherEnd | MappedObject) -> str:
    """Return the short type of an object and its details."""
    return short(f"{short_name(one.type)} {one.detail}".strip())
