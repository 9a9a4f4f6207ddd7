"""One document with every block, in every format."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from fabricated_hunts import HISTORY
from gradlife.reports.document.blocks import (
    Bar,
    Bars,
    Block,
    Card,
    Charts,
    Code,
    Commands,
    Diff,
    Document,
    Drawing,
    Facts,
    Item,
    List,
    Paragraph,
    Section,
    Series,
    Span,
    Summary,
    TraceBlock,
)
from gradlife.reports.document.tables import Column, Table
from gradlife.reports.document.terminal import print_document
from gradlife.reports.drawing import Svg
from gradlife.reports.formats.markdown.document import document_markdown
from gradlife.reports.html import environment
from gradlife.reports.html.document import document_page
from printing import printed

HOSTILE = "<b>*x*"


def only_on_pages() -> tuple[Block, ...]:
    return (Paragraph("the first screen"),)


def bars() -> tuple[Bar, ...]:
    return (Bar("band-0", "owner-1", "parameters", "net.py:3", "2 MB", Svg("<svg></svg>")),)


BLOCKS: tuple[Block, ...] = (
    Paragraph(("a sentence with ", Span("code", is_code=True)), "about"),
    Facts((("a step is", HOSTILE),)),
    List((Item("found", "✔", tone="good", below=("a detail",)), Item("words", lead="skew"))),
    Table("A caption", (Column("head"), Column("bytes", True)), (("row", 1234),), key="a-table"),
    TraceBlock(HISTORY),
    Code("x = 1"),
    Diff("-old\n+new"),
    Commands((("gradlife hunt", "looks again"),)),
    Charts((Series("bytes", (7, 7), (1.0, 2.0), str),)),
    Drawing(lambda width: Svg(f"<svg>{width:.0f}</svg>"), "a caption of a drawing", legend=(("tone-1", "meant"),)),
    Bars(bars, "lives:", (("lag", "before its use"),)),
    Summary(only_on_pages),
    Card(1, "a card", (Paragraph("in the card"),), "Problem 1 of 1", "GL000", "7 objects"),
    Section("Inner", (Paragraph("in the inner section"),)),
)
DOCUMENT = Document(
    "The title", "gradlife try", "LEAK", "bad", "train.py", "1 leak", (), (Section("Outer", BLOCKS, "outer"),)
)
WORDS = (
    "LEAK", "1 leak", "Outer", "a sentence with", "a step is", "✔ found", "a detail", "skew", "head", "1,234",
    "Tensor float32", "x = 1", "-old", "+new", "gradlife hunt", "looks again", "a card", "GL000", "7 objects",
    "in the card", "Inner", "in the inner section",
)  # fmt: skip


def terminal_text(document: Document) -> str:
    return printed(lambda console: print_document(console, document), 80)


def page_text(document: Document) -> str:
    text = re.sub(r"<(script|style).*?</\1>", " ", document_page(document), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def test_the_document_has_every_kind_of_block() -> None:
    assert {type(block) for block in BLOCKS} == set(get_args(Block))


@pytest.mark.parametrize("render", [terminal_text, document_markdown, page_text])
def test_each_format_shows_what_every_block_says(render: object) -> None:
    assert callable(render)
    text = " ".join(str(render(DOCUMENT)).split())
    assert [words for words in WORDS if words not in text and words.capitalize() not in text] == []


def test_only_pages_have_drawings_and_the_first_screen() -> None:
    page = page_text(DOCUMENT)
    for words in ("a caption of a drawing", "meant", "lives:", "the first screen", "net.py:3"):
        assert words in page
        assert words not in terminal_text(DOCUMENT) + document_markdown(DOCUMENT)


def test_a_section_of_drawings_alone_is_left_out_where_there_are_none() -> None:
    drawn = replace(DOCUMENT, sections=(Section("Drawn", BLOCKS[9:12]),))
    assert "Drawn" not in terminal_text(drawn) + document_markdown(drawn)
    assert "Drawn" in page_text(drawn)


def test_words_are_no_markup() -> None:
    assert HOSTILE in terminal_text(DOCUMENT)
    assert "\\<b\\>\\*x\\*" in document_markdown(DOCUMENT)
    assert html.escape(HOSTILE) in document_page(DOCUMENT)


def test_a_table_that_has_no_room_is_folded() -> None:
    long = Table("", (Column("name"), Column("bytes", True)), (("word " * 30, 1),))
    lines = terminal_text(Document("", "", "", "", "", "", (), (Section("T", (long,)),))).splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) > 4


def test_templates_name_every_kind_of_block() -> None:
    text = (Path(environment.FOLDER) / "blocks.html").read_text("utf-8")
    assert set(re.findall(r'kind == "(\w+)"', text)) == {kind.__name__ for kind in get_args(Block)}
