"""Stacked areas: the parts of a total, over operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gradlife.reports.drawing.axis import ticks
from gradlife.reports.drawing.drawing import fitted, width_of
from gradlife.reports.drawing.svg import Svg, element, picture

TEXT_SIZE = 12.0
TOP, BOTTOM, RIGHT = 34.0, 36.0, 12.0


@dataclass(frozen=True, slots=True)
class Area:
    """One area: its name, its height at each mark, the CSS class of its colour."""

    name: str
    values: Sequence[float]
    tone: str


@dataclass(frozen=True, slots=True)
class Stretch:
    """A named part of the horizontal axis."""

    name: str
    first: float
    end: float


@dataclass(frozen=True)
class AreaChart:
    """Stacked areas over marks, the lowest first, with a vertical line at one mark and named stretches of the axis."""

    areas: Sequence[Area]
    marks: Sequence[float]
    stretches: Sequence[Stretch]
    line_at: int
    format_value: Callable[[float], str]
    width: float = 640.0
    height: float = 280.0

    def drawn(self, title: str) -> Svg:
        """Return the drawing. Each area has its name as a tooltip and its number as `data-area`."""
        total = self._heights[self.line_at] if self._heights else 0.0
        text = f"at most {self.format_value(total)}; " + "; ".join(
            f"{area.name}: {self.format_value(area.values[self.line_at])}" for area in self.areas if area.values
        )
        parts = [*self._grid(), *self._bands(), *self._stretches(), *self._line(total)]
        return picture(self.width, self.height, title, text, parts, kind="areas")

    @property
    def _heights(self) -> list[float]:
        return [sum(area.values[at] for area in self.areas) for at in range(len(self.marks))]

    @property
    def _axis(self) -> list[float]:
        return ticks(0.0, max(self._heights, default=1.0))

    @property
    def _left(self) -> float:
        return max(width_of(self.format_value(mark), TEXT_SIZE) for mark in self._axis) + 14

    def _x(self, mark: float) -> float:
        span = max(self.marks[-1] - self.marks[0], 1.0)
        share = min(max((mark - self.marks[0]) / span, 0.0), 1.0)
        return self._left + (self.width - self._left - RIGHT) * share

    def _y(self, value: float) -> float:
        return TOP + (self.height - TOP - BOTTOM) * (1 - value / self._axis[-1])

    def _grid(self) -> Iterator[Svg]:
        for mark in self._axis:
            y = self._y(mark)
            yield element("path", d=f"M{self._left:.2f} {y:.2f}H{self.width - RIGHT:.2f}", class_="grid")
            label = self.format_value(mark)
            yield element("text", label, x=self._left - 6, y=y + 4, text_anchor="end", class_="tick")

    def _bands(self) -> Iterator[Svg]:
        below = [0.0] * len(self.marks)
        for number, area in enumerate(self.areas):
            above = [one + value for one, value in zip(below, area.values, strict=True)]
            points = [*self._points(above), *reversed(self._points(below))]
            text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            tip = element("title", f"{area.name}: {self.format_value(area.values[self.line_at])} at the peak")
            yield element("polygon", tip, points=text, class_=f"area {area.tone}", data_area=str(number))
            below = above

    def _points(self, values: Sequence[float]) -> list[tuple[float, float]]:
        """Return the points of a step line: a value holds until the next mark."""
        found: list[tuple[float, float]] = []
        for at, value in enumerate(values):
            following = self.marks[at + 1] if at + 1 < len(self.marks) else self.marks[at]
            found += [(self._x(self.marks[at]), self._y(value)), (self._x(following), self._y(value))]
        return found

    def _stretches(self) -> Iterator[Svg]:
        y = self.height - BOTTOM
        for one in self.stretches:
            start, end = self._x(one.first), self._x(one.end)
            yield element("path", d=f"M{start:.2f} {TOP:.2f}V{y + 6:.2f}", class_="grid")
            name = fitted(one.name, end - start - 6, TEXT_SIZE)
            if name:
                yield element("text", name, x=start + 4, y=y + 17, class_="tick")
        yield element(
            "text", "operations", x=self.width - RIGHT, y=self.height - 4, text_anchor="end", class_="axis-name"
        )

    def _line(self, total: float) -> Iterator[Svg]:
        x, label = self._x(self.marks[self.line_at]) if self.marks else self._left, f"peak {self.format_value(total)}"
        yield element("path", d=f"M{x:.2f} {TOP - 12:.2f}V{self.height - BOTTOM:.2f}", class_="peak-line")
        is_right = x + width_of(label, TEXT_SIZE) > self.width - RIGHT
        yield element("text", label, x=x, y=TOP - 17, text_anchor="end" if is_right else "start", class_="peak-label")


def span_bar(pieces: Sequence[tuple[str, float, float]], most: float, width: float = 220.0) -> Svg:
    """Draw a lifetime as a bar of pieces: CSS class, start and end of each, on a scale from 0."""
    parts, height = [element("rect", x=0, y=4, width=width, height=6, class_="bar-ground")], 14.0
    for name, first, end in pieces:
        x, stop = (width * min(max(one / most, 0.0), 1.0) if most else 0.0 for one in (first, end))
        if stop > x:
            parts.append(
                element("rect", element("title", name), x=x, y=1, width=max(stop - x, 1.5), height=12, class_=name)
            )
    text = ", ".join(f"{name} from operation {max(first, 0):,.0f} to {end:,.0f}" for name, first, end in pieces)
    return picture(width, height, "life", text, parts, kind="bar")
