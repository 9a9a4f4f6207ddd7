from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from drawn import parsed
from gradlife.reports.drawing import Svg, element
from gradlife.reports.drawing.drawing import fitted, width_of
from gradlife.reports.drawing.svg import figure, picture


@given(st.text(), st.text())
def test_words_are_words_whatever_they_are(inside: str, attribute: str) -> None:
    root = parsed(element("text", inside, class_="x" + attribute))
    legal = inside.replace("\r\n", "\n").replace("\r", "\n")
    if legal.isprintable():
        assert (root.text or "") == legal
    assert len(root) == 0
    assert set(root.attrib) == {"class"}


def test_markup_in_words_does_not_become_markup() -> None:
    assert element("text", "<script>alert('1')</script>&\"") == (
        "<text>&lt;script&gt;alert(&#x27;1&#x27;)&lt;/script&gt;&amp;&quot;</text>"
    )


def test_what_is_finished_stays_as_it_is() -> None:
    assert element("g", element("path", d="M0 0"), "a<b") == '<g><path d="M0 0"/>a&lt;b</g>'
    assert isinstance(element("g"), Svg)


def test_an_empty_attribute_is_left_out_and_underscores_are_hyphens() -> None:
    assert (
        element("text", "a", class_="", text_anchor="end", viewBox="0")
        == '<text text-anchor="end" viewBox="0">a</text>'
    )


def test_what_xml_has_no_place_for_is_replaced() -> None:
    assert element("text", "a\x00b\x1b\ud800c\ufffe") == "<text>a\ufffdb\ufffd\ufffdc\ufffd</text>"


@pytest.mark.parametrize(
    ("value", "text"),
    [(12, "12"), (0.25, "0.25"), (-0.001, "0"), (100, "100"), (1 / 3, "0.33"), (-2.5, "-2.5"), (0, "0")],
)
def test_figures_have_two_digits_at_most(value: float, text: str) -> None:
    assert figure(value) == text


def test_a_picture_shows_screen_readers_its_title_and_what_it_shows() -> None:
    root = parsed(picture(10, 20, "Growth", "after step 7: 7 kB", [], kind="growth"))
    assert (root.get("role"), root.get("aria-label")) == ("img", "Growth. after step 7: 7 kB")
    assert (root.get("viewBox"), root.get("class")) == ("0 0 10 20", "drawing growth")


@given(st.text(), st.floats(0, 300))
def test_what_is_fitted_fits(text: str, room: float) -> None:
    shown = fitted(text, room, 12)
    assert shown == "" or width_of(shown, 12) <= room + 1e-9
    assert shown in {text, ""} or (shown[-1] == "…" and text.startswith(shown[:-1]))


def test_letters_that_are_wide_in_a_font_are_wide_here() -> None:
    assert width_of("iiii", 12) < width_of("aaaa", 12) < width_of("WWWW", 12) < width_of("漢漢漢漢", 12)
    assert width_of("e\u0301", 12) == width_of("e", 12)
