"""A treemap: one rectangle per part, with its own parts inside if there is room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradlife.reports.drawing.drawing import fitted, width_of
from gradlife.reports.drawing.squarify import Rect, squarified
from gradlife.reports.drawing.svg import Svg, element, joined, picture

TEXT_SIZE, LINE = 12.0, 16.0
#: Names are bold, which takes as much room as larger letters.
NAME_SIZE = 1.12 * TEXT_SIZE
MARGIN = 5.0
#: Least size of a rectangle with words in it, and of one with parts drawn in it.
MIN_WORDS = (34.0, 19.0)
MIN_PARTS = (70.0, 56.0)
#: Least thickness of a part.
MIN_SIDE = 1.5


@dataclass(frozen=True, slots=True)
class Cell:
    """A part: its name, its weight, and the text for a pointer or a screen reader."""

    label: str
    weight: float
    description: str  # the full description: "list len 400, 26.2 MB, 41 %"
    amount: str = ""  # the text below the name: "26.2 MB"
    tone: str = "plain"  # the CSS class of its colour
    link: str = ""  # the target of a click
    parts: tuple[Cell, ...] = ()  # the parts of it that are known


def treemap(cells: Sequence[Cell], width: float, height: float, title: str, description: str = "") -> Svg:
    """Draw the treemap. Every cell can be reached by keyboard; cells too small for words show them in a tooltip."""
    drawn = list(drawings(cells, Rect(0, 0, width, height).inset(1, 1, 1, 1)))
    return picture(width, height, title, description, drawn, kind="treemap", role="group")


def drawings(cells: Sequence[Cell], place: Rect) -> Iterator[Svg]:
    """Yield a group per cell."""
    for cell, rect in zip(cells, squarified([cell.weight for cell in cells], place), strict=True):
        if rect.area > 0:
            yield drawing(cell, rect)


def drawing(cell: Cell, rect: Rect) -> Svg:
    """Draw one cell, with its parts behind it, outside its link."""
    box = element("rect", x=rect.x, y=rect.y, width=rect.width, height=rect.height)
    inside = (element("title", cell.description), box, *words(cell, rect))
    tone = f"cell tone-{cell.tone}"
    if cell.link:
        own = element("a", *inside, href=cell.link, class_=tone, aria_label=cell.description)
    else:
        own = element("g", *inside, class_=tone, tabindex="0", role="img", aria_label=cell.description)
    return joined([own, *part_drawings(cell, rect)])


def words(cell: Cell, rect: Rect) -> Iterator[Svg]:
    """Draw the name at the top and the amount below it, as far as there is room. An amount is never cut."""
    if rect.width < MIN_WORDS[0] or rect.height < MIN_WORDS[1]:
        return
    room = rect.width - 2 * MARGIN
    is_one_line = bool(cell.parts) and has_room(rect)
    whole = f"{cell.label}  {cell.amount}".rstrip()
    name = whole if is_one_line and width_of(whole, NAME_SIZE) <= room else fitted(cell.label, room, NAME_SIZE)
    yield from line(name, rect, 0, "name")
    has_line = name and rect.height >= 2 * LINE + MARGIN and not is_one_line
    if has_line and width_of(cell.amount, TEXT_SIZE) <= room:
        yield from line(cell.amount, rect, 1, "amount")


def line(text: str, rect: Rect, number: int, kind: str) -> Iterator[Svg]:
    """Draw a line of words in a rectangle."""
    if text:
        at = rect.y + MARGIN + 0.75 * TEXT_SIZE + number * LINE
        yield element("text", text, x=rect.x + MARGIN, y=at, class_=kind)


def has_room(rect: Rect) -> bool:
    """Whether the rectangle has room for parts."""
    return rect.width >= MIN_PARTS[0] and rect.height >= MIN_PARTS[1]


def part_drawings(cell: Cell, rect: Rect) -> Iterator[Svg]:
    """Draw the parts below the name; what belongs to no part stays empty."""
    if not cell.parts or not has_room(rect):
        return
    place = rect.inset(3, LINE + MARGIN, 3, 3)
    weights = [part.weight for part in cell.parts]
    places = squarified([*weights, max(0.0, cell.weight - sum(weights))], place)
    for part, one in zip(cell.parts, places, strict=False):
        if min(one.width, one.height) >= MIN_SIDE:
            yield drawing(part, one)
