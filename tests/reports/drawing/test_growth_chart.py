from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from drawn import all_of, number, parsed, words_of
from gradlife.reports.document.blocks import Series
from gradlife.reports.drawing import growth_chart
from gradlife.reports.drawing.axis import ticks
from gradlife.reports.values import size


def label_of(value: float) -> str:
    return size(round(value))


LEAK = Series("bytes", (7, 7, 7), (700, 700, 700), label_of)


def test_a_leak_is_a_straight_line_from_nothing() -> None:
    (line,) = all_of(parsed(growth_chart(LEAK)), "polyline")
    points = [tuple(map(float, point.split(","))) for point in (line.get("points") or "").split()]
    slopes = {round((b[1] - a[1]) / (b[0] - a[0]), 2) for a, b in pairwise(points)}
    assert len(points) == 4
    assert len(slopes) == 1
    assert slopes.pop() < 0


def test_axes_have_names_and_round_numbers() -> None:
    root = parsed(growth_chart(LEAK))
    assert words_of(root, "axis-name") == ["bytes added", "steps"]
    assert words_of(root, "tick") == ["0 B", "1 kB", "2 kB", "3 kB", "0", "7", "14", "21"]


def test_points_and_screen_readers_get_the_sums() -> None:
    root = parsed(growth_chart(LEAK))
    assert [one.text for one in all_of(root, "title")] == [
        "after step 7: 700 B",
        "after step 14: 1.4 kB",
        "after step 21: 2.1 kB",
    ]
    assert root.get("aria-label") == (
        "bytes added since the warm-up. after step 7: 700 B; after step 14: 1.4 kB; after step 21: 2.1 kB"
    )


def test_where_nothing_grows_the_line_lies_on_nothing() -> None:
    root = parsed(growth_chart(Series("bytes", (7, 7), (0, 0), label_of)))
    (line,) = all_of(root, "polyline")
    assert len({point.split(",")[1] for point in (line.get("points") or "").split()}) == 1
    assert words_of(root, "tick")[0] == "0 B"


def test_without_a_round_there_is_an_empty_chart() -> None:
    root = parsed(growth_chart(Series("bytes", (), (), label_of)))
    assert root.get("aria-label") == "bytes added since the warm-up. no round"


@pytest.mark.parametrize(
    ("least", "most", "expected"),
    [(0, 21, [0, 10, 20, 30]), (0, 4, [0, 1, 2, 3, 4]), (-3, 5, [-4, -2, 0, 2, 4, 6]), (0, 0, [0, 1])],
)
def test_ticks_are_round_and_enclose(least: float, most: float, expected: list[float]) -> None:
    assert ticks(least, most) == expected


@given(
    st.lists(st.tuples(st.integers(1, 1000), st.floats(-1e12, 1e12)), max_size=30),
    st.sampled_from([340.0, 480.0]),
)
def test_everything_stands_within_the_drawing(rounds: list[tuple[int, float]], width: float) -> None:
    series = Series("bytes", [steps for steps, _ in rounds], [added for _, added in rounds], lambda v: f"{v:.3g}")
    root = parsed(growth_chart(series, width))
    for point in all_of(root, "circle"):
        assert 0 <= number(point, "cx") <= width
        assert 20 <= number(point, "cy") <= 140
    last = -100.0
    for text in all_of(root, "text", "tick"):
        if text.get("text-anchor") == "middle":
            assert number(text, "x") - last >= 33.9
            last = number(text, "x")
