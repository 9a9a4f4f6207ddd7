"""Rectangles of given areas side by side, each as close to a square as possible.

Bruls, Huizing and van Wijk, "Squarified Treemaps", 2000: rows are filled along the shorter side of the free space, and
a row is closed when one more rectangle would make its rectangles longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle, in pixels."""

    x: float
    y: float
    width: float
    height: float

    @property
    def area(self) -> float:
        """Return the area in pixels."""
        return self.width * self.height

    def inset(self, left: float, top: float, right: float, bottom: float) -> Rect:
        """Return the rectangle without a margin inside it."""
        return Rect(
            self.x + left, self.y + top, max(0.0, self.width - left - right), max(0.0, self.height - top - bottom)
        )


def squarified(weights: Sequence[float], whole: Rect) -> list[Rect]:
    """Return a rectangle for each weight, in the order given; together they fill `whole`, each by its share.

    If no weight is positive, all are empty. Raises ValueError for a negative weight. Costs as much as sorting them.
    """
    if any(weight < 0 for weight in weights):
        raise ValueError("a weight is no less than nothing")
    total = float(sum(weights))
    places = [Rect(whole.x, whole.y, 0.0, 0.0)] * len(weights)
    if total <= 0 or whole.area <= 0:
        return places
    order = sorted((i for i, weight in enumerate(weights) if weight), key=lambda i: -weights[i])
    left, rest, at = whole, total, 0
    while at < len(order) and rest > 0 and left.area > 0:  # what is left of a page may be too small for its numbers
        count = row_length([weights[i] for i in order[at:]], rest, left)
        row = order[at : at + count]
        weight = sum(weights[i] for i in row)
        is_last = at + count == len(order)
        for i, place in zip(
            row, row_places([weights[i] for i in row], 1.0 if is_last else weight / rest, left), strict=True
        ):
            places[i] = place
        left = what_is_left(left, 1.0 if is_last else weight / rest)
        rest, at = rest - weight, at + count
    return places


def row_length(weights: Sequence[float], total: float, place: Rect) -> int:
    """Count how many of these weights, largest first, make the row with the least elongated rectangles."""
    short = min(place.width, place.height)
    scale = place.area / total
    filled, worst = 0.0, float("inf")
    for count, weight in enumerate(weights):
        filled += weight * scale
        now = max(short * short * weights[0] * scale / filled**2, filled**2 / (short * short * weight * scale))
        if now > worst:
            return count
        worst = now
    return len(weights)


def row_places(weights: Sequence[float], part: float, place: Rect) -> list[Rect]:
    """Return rectangles along the shorter side of a place that together take this share of it."""
    total, before, places = sum(weights), 0.0, []
    for weight in weights:
        start, share = before / total, weight / total
        if place.width >= place.height:
            places.append(Rect(place.x, place.y + start * place.height, part * place.width, share * place.height))
        else:
            places.append(Rect(place.x + start * place.width, place.y, share * place.width, part * place.height))
        before += weight
    return places


def what_is_left(place: Rect, part: float) -> Rect:
    """Return a place without the row along its shorter side."""
    if place.width >= place.height:
        return place.inset(part * place.width, 0, 0, 0)
    return place.inset(0, part * place.height, 0, 0)
