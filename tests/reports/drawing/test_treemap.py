from __future__ import annotations

import math
from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from drawn import all_of, number, parsed, words_of
from gradlife.reports.drawing import Cell, treemap
from gradlife.reports.drawing.squarify import Rect, squarified

WHOLE = Rect(10, 20, 300, 200)
WEIGHTS = st.lists(st.integers(0, 10**12), max_size=40)


def overlap(a: Rect, b: Rect) -> float:
    across = min(a.x + a.width, b.x + b.width) - max(a.x, b.x)
    down = min(a.y + a.height, b.y + b.height) - max(a.y, b.y)
    return max(0.0, across) * max(0.0, down)


@given(WEIGHTS)
def test_areas_are_as_weights_are(weights: list[int]) -> None:
    total = sum(weights)
    for weight, place in zip(weights, squarified(weights, WHOLE), strict=True):
        wanted = WHOLE.area * weight / total if total else 0.0
        assert math.isclose(place.area, wanted, rel_tol=1e-6, abs_tol=1e-6)


@given(WEIGHTS)
def test_nothing_overlaps_and_nothing_stands_out(weights: list[int]) -> None:
    places = squarified(weights, WHOLE)
    for one in places:
        assert one.x >= WHOLE.x - 1e-6
        assert one.y >= WHOLE.y - 1e-6
        assert one.x + one.width <= WHOLE.x + WHOLE.width + 1e-6
        assert one.y + one.height <= WHOLE.y + WHOLE.height + 1e-6
    assert max((overlap(a, b) for a, b in combinations(places, 2)), default=0.0) < 1e-6


def test_the_example_of_the_paper_is_laid_out_as_there() -> None:
    places = squarified([6, 6, 4, 3, 2, 2, 1], Rect(0, 0, 6, 4))
    expected = [(0, 0, 3, 2), (0, 2, 3, 2), (3, 0, 12 / 7, 7 / 3), (33 / 7, 0, 9 / 7, 7 / 3)]
    for place, one in zip(places, expected, strict=False):
        assert (place.x, place.y, place.width, place.height) == pytest.approx(one)


def test_order_of_weights_does_not_matter_for_their_places() -> None:
    assert squarified([1, 6, 3], WHOLE) == [squarified([6, 3, 1], WHOLE)[i] for i in (2, 0, 1)]


def test_equal_weights_in_a_square_are_squares() -> None:
    assert {(round(p.width, 6), round(p.height, 6)) for p in squarified([1] * 4, Rect(0, 0, 10, 10))} == {(5.0, 5.0)}


def test_a_weight_below_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="a weight is no less than nothing"):
        squarified([1, -1], WHOLE)


def cell(label: str, weight: float, **more: object) -> Cell:
    return Cell(label, weight, f"{label}, {weight} B", f"{weight} B", **more)  # type: ignore[arg-type]


def test_cells_with_room_have_their_name_and_amount_and_all_say_them_to_a_pointer() -> None:
    root = parsed(treemap([cell("list", 1000), cell("tiny", 1)], 200, 100, "Retained"))
    assert words_of(root) == ["list", "1000 B"]
    assert [one.text for one in all_of(root, "title")] == ["list, 1000 B", "tiny, 1 B"]


def test_an_amount_is_whole_or_not_there() -> None:
    root = parsed(treemap([Cell("weights", 1, "weights", "123.45 MB")], 60, 60, "Retained"))
    assert words_of(root) == ["weig…"]
    root = parsed(treemap([cell("weights", 1234567, parts=(cell("b", 9),))], 90, 80, "Retained"))
    assert words_of(root, "name")[0] == "weights"


def test_parts_too_thin_to_be_seen_are_left_out() -> None:
    root = parsed(treemap([cell("a", 10**6, parts=(cell("b", 999999), cell("c", 1)))], 300, 200, "Retained"))
    assert len(all_of(root, "rect")) == 2


def test_every_cell_can_be_reached_by_keyboard_and_those_with_a_link_are_links() -> None:
    root = parsed(treemap([cell("a", 3, link="#n1"), cell("b", 2)], 200, 100, "Retained"))
    (link,) = all_of(root, "a")
    (other,) = all_of(root, "g")
    assert (link.get("href"), link.get("aria-label")) == ("#n1", "a, 3 B")
    assert (other.get("tabindex"), other.get("role"), other.get("aria-label")) == ("0", "img", "b, 2 B")


def test_parts_stand_in_their_cell_below_its_name_and_leave_room_for_what_is_its_own() -> None:
    whole = cell("a", 100, parts=(cell("b", 50), cell("c", 25)))
    outer, *inner = all_of(parsed(treemap([whole], 400, 300, "Retained")), "rect")
    room = (number(outer, "width") - 6) * (number(outer, "height") - 24)
    for one, part in zip(inner, (0.5, 0.25), strict=True):
        assert number(one, "y") >= 21
        assert number(one, "width") * number(one, "height") == pytest.approx(room * part, rel=1e-3)


def test_a_cell_too_small_for_parts_is_drawn_without() -> None:
    whole = cell("a", 100, parts=(cell("b", 50),))
    assert len(all_of(parsed(treemap([whole], 60, 40, "Retained")), "rect")) == 1


@given(st.lists(st.tuples(st.text(max_size=30), st.integers(0, 1000)), max_size=12))
def test_hostile_names_are_drawn_as_words(parts: list[tuple[str, int]]) -> None:
    drawn = treemap([Cell(name, weight, name, name) for name, weight in parts], 300, 200, "Retained")
    assert len(all_of(parsed(drawn), "rect")) == sum(weight > 0 for _, weight in parts)


@pytest.mark.parametrize("weights", [[2**64 - 1, 1, 1], [1e300, 1.0], [2.0**n for n in range(-500, 500, 20)]])
def test_a_weight_beside_which_others_vanish_ends_nothing(weights: list[float]) -> None:
    """What was left of the whole after it was nothing, by which the next one was divided."""
    places = squarified(weights, WHOLE)
    assert len(places) == len(weights)
    assert max(place.area for place in places) <= WHOLE.area
    assert places[weights.index(max(weights))].area > 0
