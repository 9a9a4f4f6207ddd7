"""Objects of a cycle drawn around a ring: each has an arrow to the next one, labelled with the reference."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradlife.reports.drawing.drawing import fitted
from gradlife.reports.drawing.svg import Svg, element, joined, picture

TEXT_SIZE = 13.0
DOT = 6.0  # radius
SIGN = 6.0
#: Distance between two objects on the same side; half of it between an object and its arrow's label.
PITCH = 52.0
GAP = 12.0  # between the ring and words
EDGE = 30.0  # above and below the ring
#: Most objects to draw; one dot stands for the rest.
MOST = 16


@dataclass(frozen=True, slots=True)
class RingNode:
    """An object, and its reference to the next one."""

    label: str
    reference: str
    is_suspect: bool = False  # the label of the reference
    is_unseen: bool = False  # whether the collector does not see the reference
    tone: str = "plain"
    count: int = 1  # the number of objects that it stands for


@dataclass(frozen=True, slots=True)
class Place:
    """A point on the ring. `turn`: the angle from the top, clockwise, in radians."""

    x: float
    y: float
    turn: float


def ring(nodes: Sequence[RingNode], width: float, title: str, description: str = "") -> Svg:
    """Draw the ring, as high as the number of objects needs. They go round clockwise from the upper right."""
    nodes = shortened(nodes)
    drawn = RingDrawing(len(nodes), width)
    parts = [part for number in range(len(nodes)) for part in drawn.arrow(number, nodes[number])]
    parts += [drawn.node(number, node) for number, node in enumerate(nodes)]
    text = description or "; ".join(map(in_words, nodes))
    return picture(width, drawn.height, title, text, parts, kind="ring")


def in_words(node: RingNode) -> str:
    """Describe an object and its reference."""
    sight = ", which the collector does not see" if node.is_unseen else ""
    return f"{node.label} refers to the next by {node.reference}{sight}"


def shortened(nodes: Sequence[RingNode]) -> list[RingNode]:
    """Shorten a long ring to its beginning and end."""
    if len(nodes) <= MOST:
        return list(nodes)
    half = MOST // 2
    left_out = nodes[half : len(nodes) - half + 1]
    count = sum(one.count for one in left_out)
    is_suspect = any(one.is_suspect for one in left_out)
    rest = RingNode(f"{count:,} more", left_out[-1].reference, is_suspect, tone="quiet")
    return [*nodes[:half], rest, *nodes[len(nodes) - half + 1 :]]


class RingDrawing:
    """A ring with the position of each object."""

    def __init__(self, count: int, width: float) -> None:
        self.count, self.width = count, width
        self.right = (count + 1) // 2  # the number of objects on the right side
        self.down = max(PITCH * self.right / 2, 40.0)
        self.across = min(self.down, width / 8)
        self.middle = (width / 2, self.down + EDGE)
        self.height = 2 * (self.down + EDGE)
        self.room = width / 2 - self.across - GAP - DOT - 2

    def at(self, turn: float) -> Place:
        """Return a point of the ring."""
        x = self.middle[0] + self.across * math.sin(turn)
        return Place(x, self.middle[1] - self.down * math.cos(turn), turn)

    def place(self, number: int) -> Place:
        """Return the position of an object: top to bottom on the right side, then bottom to top on the left."""
        if self.count == 1:
            return self.at(math.pi / 2)
        side = self.right if number < self.right else self.count - self.right
        row = number if number < self.right else number - self.right
        turn = math.acos(1 - (2 * row + 1) / side)
        return self.at(turn if number < self.right else math.pi + turn)

    def turns(self, number: int) -> tuple[float, float]:
        """Return where an arrow begins and ends, clear of both dots."""
        start, end = self.place(number).turn, self.place((number + 1) % self.count).turn
        if end <= start:
            end += 2 * math.pi
        return start + self.clear(start), end - self.clear(end)

    def clear(self, turn: float) -> float:
        """Return the angle that is clear of a dot."""
        speed = math.hypot(self.across * math.cos(turn), self.down * math.sin(turn))
        return min((DOT + 3) / speed, 0.4)

    def arrow(self, number: int, node: RingNode) -> Iterator[Svg]:
        """Draw an arrow: the arc, its head and its label."""
        start, end = self.turns(number)
        kind = "arrow suspect" if node.is_suspect else "arrow"
        a, b = self.at(start), self.at(end)
        long = "1" if end - start > math.pi else "0"
        path = f"M{a.x:.2f} {a.y:.2f}A{self.across:.2f} {self.down:.2f} 0 {long} 1 {b.x:.2f} {b.y:.2f}"
        yield element("path", d=path, class_=kind)
        yield element("polygon", points=self.head(end), class_=kind)
        middle = self.at((start + end) / 2)
        if node.is_unseen:
            yield unseen_sign(middle)
        yield self.words(middle, node.reference, "reference suspect" if node.is_suspect else "reference")

    def head(self, turn: float) -> str:
        """Return the points of an arrow's head that ends at a place."""
        tip, back = self.at(turn), self.at(turn - self.clear(turn))
        dx, dy = tip.x - back.x, tip.y - back.y
        length = math.hypot(dx, dy)
        dx, dy = dx / length, dy / length
        tail = (tip.x - 9 * dx, tip.y - 9 * dy)
        points = (
            (tip.x, tip.y),
            (tail[0] - 4.5 * dy, tail[1] + 4.5 * dx),
            (tail[0] + 4.5 * dy, tail[1] - 4.5 * dx),
        )
        return " ".join(f"{x:.2f},{y:.2f}" for x, y in points)

    def node(self, number: int, node: RingNode) -> Svg:
        """Draw a dot and its name."""
        place = self.place(number)
        dot = element("circle", cx=place.x, cy=place.y, r=DOT, class_=f"dot tone-{node.tone}")
        return joined([dot, self.words(place, node.label, "label")])

    def words(self, place: Place, text: str, kind: str) -> Svg:
        """Draw words beside, above or below the ring; a tooltip shows them in full."""
        side = math.sin(place.turn)
        is_level = abs(side) < 0.2 and kind.startswith("reference")
        room = self.width - 8 if is_level else self.room
        shown = element("title", text), fitted(text, room, TEXT_SIZE)
        if is_level:
            y = place.y + (GAP + 9 if place.y > self.middle[1] else -GAP)
            return element("text", *shown, x=place.x, y=y, text_anchor="middle", class_=kind)
        is_right = side > 0
        x = place.x + (GAP + 1 if is_right else -GAP - 1)
        return element("text", *shown, x=x, y=place.y + 4.5, text_anchor="start" if is_right else "end", class_=kind)


def unseen_sign(place: Place) -> Svg:
    """Draw the sign on a reference that the collector does not see: a crossed circle."""
    slash = f"M{place.x - 4:.2f} {place.y + 4:.2f}L{place.x + 4:.2f} {place.y - 4:.2f}"
    return element("g", element("circle", cx=place.x, cy=place.y, r=SIGN), element("path", d=slash), class_="unseen")
