"""Pages whose blocks are one program: what stands below each block, as words or as a picture, is what it gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_programs import PICTURES, Block, drawings, program_pages, renewed, run_page

MEND = "make pictures renews it"


@pytest.fixture(scope="module", params=program_pages(), ids=lambda page: page.stem)
def ran(request: pytest.FixtureRequest) -> tuple[Path, list[Block]]:
    return request.param, run_page(request.param)


def test_each_program_prints_what_the_page_shows(ran: tuple[Path, list[Block]]) -> None:
    page, blocks = ran
    assert renewed(page, blocks) == page.read_text(encoding="utf-8"), MEND


def test_what_a_program_prints_is_shown_or_drawn(ran: tuple[Path, list[Block]]) -> None:
    assert [block.code for block in ran[1] if block.printed and block.shown is None and block.picture is None] == []


def test_each_picture_is_drawn_from_what_the_program_prints(ran: tuple[Path, list[Block]]) -> None:
    for path, picture in drawings(ran[1]):
        assert path.read_text(encoding="utf-8") == picture, f"{path.name}: {MEND}"


def test_every_picture_is_shown_and_needs_nothing_beside_itself() -> None:
    pages = "\n".join(
        page.read_text(encoding="utf-8") for page in [*program_pages(), PICTURES.parents[1] / "README.md"]
    )
    for picture in PICTURES.glob("*.svg"):
        assert f"pictures/{picture.name})" in pages, picture.name
        text = picture.read_text(encoding="utf-8").replace('"http://www.w3.org/2000/svg"', "")
        assert ("url(http" in text, "@import" in text, "<image" in text) == (False, False, False)
