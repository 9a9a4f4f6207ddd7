"""A small chart of sums: a program's growth, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradlife.reports.document.blocks import Series
from gradlife.reports.drawing.axis import ticks
from gradlife.reports.drawing.drawing import width_of
from gradlife.reports.drawing.svg import Svg, element, picture

TEXT_SIZE = 12.0
TOP, BOTTOM, RIGHT = 30.0, 40.0, 18.0
#: Least distance between two labels on the axis of steps.
MIN_APART = 34.0


@dataclass(frozen=True, slots=True)
class Axes:
    """The scales of the chart, from numbers to positions."""

    left: float
    width: float
    height: float
    most_steps: float
    marks: Sequence[float]  # labels on the axis of sums

    def x(self, steps: float) -> float:
        """Return the position of a number of steps."""
        return self.left + (self.width - self.left - RIGHT) * steps / self.most_steps

    def y(self, value: float) -> float:
        """Return the position of a sum."""
        least, most = self.marks[0], self.marks[-1]
        return TOP + (self.height - TOP - BOTTOM) * (most - value) / (most - least)


def growth_chart(series: Series, width: float = 340.0, height: float = 170.0) -> Svg:
    """Draw the sums over the steps so far: a leak is a straight line, a cache that fills flattens."""
    points = series.points
    sums = [value for _, value in points]
    marks = ticks(min(sums), max(sums))
    left = (
        max((width_of(series.format_sum(mark), TEXT_SIZE) for mark in marks if is_labelled(mark, sums)), default=0) + 16
    )
    axes = Axes(left, width, height, max(points[-1][0], 1.0), marks)
    text = (
        "; ".join(f"after step {steps:,.0f}: {series.format_sum(value)}" for steps, value in points[1:]) or "no round"
    )
    parts = [*grid(series, axes, sums), *curve(series, axes)]
    return picture(width, height, f"{series.name} added since the warm-up", text, parts, kind="growth")


def is_labelled(mark: float, sums: Sequence[float]) -> bool:
    """Whether the mark gets a number; if nothing was added, only the zero does."""
    return mark == 0 or min(sums) < max(sums)


def grid(series: Series, axes: Axes, sums: Sequence[float]) -> Iterator[Svg]:
    """Draw the axes with their names."""
    yield element("text", f"{series.name} added", x=2, y=14, class_="axis-name")
    for mark in axes.marks:
        y = axes.y(mark)
        yield element("path", d=f"M{axes.left:.2f} {y:.2f}H{axes.width - RIGHT:.2f}", class_="grid")
        if is_labelled(mark, sums):
            yield element("text", series.format_sum(mark), x=axes.left - 6, y=y + 4, text_anchor="end", class_="tick")
    last = -MIN_APART
    for steps, _ in series.points:
        x = axes.x(steps)
        if x - last >= MIN_APART:
            last = x
            yield element(
                "text", f"{steps:,.0f}", x=x, y=axes.height - BOTTOM + 17, text_anchor="middle", class_="tick"
            )
    yield element("text", "steps", x=axes.width - RIGHT, y=axes.height - 6, text_anchor="end", class_="axis-name")


def curve(series: Series, axes: Axes) -> Iterator[Svg]:
    """Draw the line, the area below it, and a point per round with its sum as a tooltip."""
    points = [(axes.x(steps), axes.y(value)) for steps, value in series.points]
    line = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
    zero = axes.y(0.0)
    ground = f"{points[0][0]:.2f},{zero:.2f} {line} {points[-1][0]:.2f},{zero:.2f}"
    yield element("polygon", points=ground, class_=f"ground tone-{series.tone}")
    yield element("polyline", points=line, class_=f"line tone-{series.tone}")
    for (x, y), (steps, value) in list(zip(points, series.points, strict=True))[1:]:
        text = f"after step {steps:,.0f}: {series.format_sum(value)}"
        yield element("circle", element("title", text), cx=x, cy=y, r=3.5, class_=f"point tone-{series.tone}")
