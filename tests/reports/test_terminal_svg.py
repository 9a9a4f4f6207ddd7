from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest
from rich.console import Console
from rich.text import Text

from fabricated import troubled
from fabricated_hunts import EVERYTHING
from gradlife.reports.hunt.terminal import print_hunt
from gradlife.reports.run.run import print_report
from gradlife.reports.svg import COLOURS, GROUND, TEXT, svg_of
from printing import printed

SVG = "{http://www.w3.org/2000/svg}"


def lines_of(picture: str) -> list[str]:
    """The text of a picture, line by line as it stands there."""
    rows: dict[float, list[tuple[float, str]]] = {}
    for one in ElementTree.fromstring(picture).iter(f"{SVG}text"):
        if one.get("clip-path"):
            rows.setdefault(float(one.get("y", 0)), []).append((float(one.get("x", 0)), one.text or ""))
    return ["".join(text for _, text in sorted(row)).replace("\xa0", " ").strip() for _, row in sorted(rows.items())]


def show_run(console: Console) -> None:
    print_report(console, troubled())


def show_hunt(console: Console) -> None:
    print_hunt(console, EVERYTHING)


@pytest.mark.parametrize("show", [show_run, show_hunt])
def test_a_picture_has_every_line_of_the_report(show) -> None:  # type: ignore[no-untyped-def]
    seen = [re.sub(r"\s", "", line) for line in printed(show, 100).splitlines() if line.strip()]
    drawn = [re.sub(r"\s", "", line) for line in lines_of(svg_of(show, "gradlife")) if line]
    assert drawn == seen


def test_the_same_report_is_the_same_picture() -> None:
    assert svg_of(show_hunt, "x") == svg_of(show_hunt, "x")


def test_nothing_is_fetched_from_anywhere() -> None:
    picture = svg_of(show_hunt, "gradlife hunt")
    assert "@font-face" not in picture
    assert "url(" not in re.sub(r"url\(#[\w-]+\)", "", picture)
    assert {
        one.tag for one in ElementTree.fromstring(picture).iter() if "script" in one.tag or "image" in one.tag
    } == set()


def test_text_is_no_markup_and_what_xml_cannot_carry_is_replaced() -> None:
    evil = "</svg><script>alert(1)</script>&{x}\x1b[31m\x00"
    picture = svg_of(lambda console: console.print(Text(evil)), evil)
    root = ElementTree.fromstring(picture)
    assert root.find(f"{SVG}title").text.startswith("</svg><script>alert(1)</script>&{x}\\x1b")  # type: ignore[union-attr]
    assert not list(root.iter(f"{SVG}script"))
    assert "alert(1)" in "".join(lines_of(picture))


def test_every_colour_can_be_read_even_where_it_is_quiet() -> None:
    for colour in (*COLOURS, TEXT):
        assert contrast(colour, GROUND) >= 4.5
    quiet = tuple(round(part + (ground - part) * 0.4) for part, ground in zip(TEXT, GROUND, strict=True))
    assert contrast(quiet, GROUND) >= 4.5


def contrast(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """As the guidelines for accessible content measure it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: tuple[int, ...]) -> float:
    parts = [part / 255 for part in colour]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
