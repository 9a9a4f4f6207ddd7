from __future__ import annotations

import math
from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from drawn import all_of, number, parsed, words_of
from gradlife.reports.drawing import RingNode, ring
from gradlife.reports.drawing.drawing import width_of
from gradlife.reports.drawing.ring import TEXT_SIZE

CTX = [RingNode("RoundBackward", "ctx attribute 'result'", is_suspect=True), RingNode("Tensor", "grad_fn")]


def nodes(count: int, label: str = "Node", reference: str = ".next") -> list[RingNode]:
    return [RingNode(f"{label}{number}", f"{reference}{number}") for number in range(count)]


def boxes(drawn: str) -> list[tuple[float, float, float, float]]:
    """Return the box of a text: left, right, top, bottom."""
    found = []
    for one in all_of(parsed(drawn), "text"):
        width, x, y = width_of(one[0].tail or "", TEXT_SIZE), number(one, "x"), number(one, "y")
        left = {"start": x, "end": x - width, "middle": x - width / 2}[one.get("text-anchor", "start")]
        found.append((left, left + width, y - 10, y + 3))
    return found


def test_two_objects_stand_at_the_sides_with_an_arrow_each() -> None:
    root = parsed(ring(CTX, 480, "Cycle"))
    right, left = all_of(root, "circle")
    assert number(right, "cx") - 240 == pytest.approx(240 - number(left, "cx"))
    assert number(right, "cy") == pytest.approx(number(left, "cy"))
    assert words_of(root, "label") == ["RoundBackward", "Tensor"]
    assert words_of(root, "reference") == ["ctx attribute 'result'", "grad_fn"]


def test_a_suspect_reference_is_drawn_as_one() -> None:
    root = parsed(ring(CTX, 480, "Cycle"))
    assert [one.get("class") for one in all_of(root, "path")] == ["arrow suspect", "arrow"]
    assert words_of(root, "suspect") == ["ctx attribute 'result'"]


@pytest.mark.parametrize("width", [320, 640])
@pytest.mark.parametrize("count", range(1, 25))
def test_words_never_overlap_and_none_stands_out(count: int, width: float) -> None:
    drawn = ring(nodes(count, "AReallyRatherLongClassName", "a saved tensor of some name"), width, "Cycle")
    height = number(parsed(drawn), "height")
    found = boxes(drawn)
    for left, right, top, bottom in found:
        assert left >= 0
        assert right <= width
        assert top >= 0
        assert bottom <= height
    for a, b in combinations(found, 2):
        assert not (min(a[1], b[1]) > max(a[0], b[0]) and min(a[3], b[3]) > max(a[2], b[2]))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 12])
def test_arrows_go_round_clockwise_from_each_to_the_next(count: int) -> None:
    root = parsed(ring(nodes(count), 640, "Cycle"))
    dots = [(number(one, "cx"), number(one, "cy")) for one in all_of(root, "circle")]
    for number_, arrow in enumerate(all_of(root, "path")):
        begin, _, end = (arrow.get("d") or "").partition("A")
        start = tuple(map(float, begin[1:].split()))
        stop = tuple(map(float, end.split()[-2:]))
        assert math.dist(start, dots[number_]) < 20
        assert math.dist(stop, dots[(number_ + 1) % count]) < 20
        assert end.split()[4] == "1"


def test_long_words_are_shortened_and_given_in_full_to_a_pointer() -> None:
    root = parsed(ring([RingNode("x" * 200, "y" * 300), RingNode("b", "c")], 320, "Cycle"))
    assert all(len(text) < 40 for text in words_of(root))
    assert {"x" * 200, "y" * 300} <= {one.text for one in all_of(root, "title")}


def test_of_a_long_ring_the_middle_is_one_dot_with_a_number() -> None:
    root = parsed(ring(nodes(1000), 640, "Cycle"))
    labels = words_of(root, "label")
    assert (len(labels), labels[7:10]) == (16, ["Node7", "985 more", "Node993"])
    assert words_of(root, "reference")[8] == ".next992"


def test_a_screen_reader_gets_the_cycle() -> None:
    assert parsed(ring(CTX, 480, "Cycle")).get("aria-label") == (
        "Cycle. RoundBackward refers to the next by ctx attribute 'result'; Tensor refers to the next by grad_fn"
    )


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=20))
def test_any_words_can_be_drawn(words: list[tuple[str, str]]) -> None:
    assert len(all_of(parsed(ring([RingNode(*one) for one in words], 400, "Cycle")), "circle")) == min(len(words), 16)
