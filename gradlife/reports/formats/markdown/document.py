"""A document as Markdown for GitHub. No text of a program acts as markup in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gradlife.reports.document.blocks import (
    Block,
    Card,
    Code,
    Commands,
    Diff,
    Document,
    Facts,
    Item,
    List,
    Paragraph,
    Section,
    TraceBlock,
    Words,
    spans,
)
from gradlife.reports.document.tables import Table
from gradlife.reports.document.terminal import trace_drawing
from gradlife.reports.formats.documents import document_of

#: Characters with a meaning in Markdown or HTML.
SPECIAL = re.compile(r"([\\`*_\[\]<>|~])")


def markdown_of(report: object) -> str:
    """Return a report for an issue, or for the summary of a job."""
    return document_markdown(document_of(report))


def document_markdown(document: Document) -> str:
    """Return a document as Markdown."""
    title = f"## {document.tool}: {document.verdict}" + (f" in {code_span(document.target)}" if document.target else "")
    parts = [title, f"{plain(document.headline)}.", *parts_of(document.head), *parts_of(document.sections)]
    return "\n\n".join(parts) + "\n"


def parts_of(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield blocks as Markdown, without the empty lines between them; drawings are left out."""
    for block in blocks:
        match block:
            case Paragraph():
                lead = f"**{upper_first(plain(block.lead))}:** " if block.lead else ""
                words = lead + sentence(block.words)
                yield f"<sub>{words}</sub>" if block.tone == "quiet" else words
            case Facts():
                yield "\n".join(f"- {plain(name)}: {sentence(words)}" for name, words in block.rows)
            case List() if block.items:
                yield "\n".join(row for item in block.items for row in item_rows(item))
            case Table():
                yield "\n".join(rows_of(block))
            case TraceBlock():
                yield fenced(trace_drawing(block.trace), "text")
            case Code():
                yield fenced(block.text, "python")
            case Diff():
                yield fenced(block.text, "diff")
            case Commands():
                yield fenced("\n".join(f"{command}  # {purpose}" for command, purpose in block.rows), "sh")
            case Card():
                lead = f"{block.code}: " if block.code else f"{block.number}. "
                yield f"#### {lead}{sentence(block.title)}"
                yield from [plain(block.facts)] if block.facts else []
                yield from parts_of(block.blocks)
            case Section():
                yield from section_parts(block)


def item_rows(item: Item) -> Iterator[str]:
    """Yield an item of a list, and its details as a list of their own."""
    mark = f"{item.mark} " if item.mark not in ("", "-") else ""
    lead = f"{plain(item.lead)}: " if item.lead else ""
    yield f"- {mark}{lead}{sentence(item.words)}"
    yield from (f"  - {plain(words)}" for words in item.below)


def section_parts(section: Section) -> Iterator[str]:
    """Yield a section that has parts."""
    parts = [*parts_of(section.blocks)]
    if parts and section.is_folded:
        yield "\n\n".join((f"<details><summary>{plain(section.title)}</summary>", *parts, "</details>"))
    elif parts:
        yield from (f"### {plain(section.title)}", *parts)


def sentence(words: Words) -> str:
    """Return a sentence as Markdown."""
    return "".join(code_span(span.text) if span.is_code else spaced(span.text) for span in spans(words))


def spaced(text: str) -> str:
    """Escape a part of a sentence with the blanks around it."""
    return f"{' ' * text[:1].isspace()}{plain(text)}{' ' * (text[-1:].isspace() and not text.isspace())}"


def upper_first(text: str) -> str:
    """Return a text that begins like a sentence."""
    return text[:1].upper() + text[1:]


def rows_of(block: Table) -> Iterator[str]:
    """Yield the lines of a table."""
    yield f"| {' | '.join(in_a_cell(plain(column.name)) for column in block.columns)} |"
    yield "".join("| ---: " if column.is_number else "| --- " for column in block.columns) + "|"
    for _, cells in block.lines:
        texts = [in_a_cell(plain(str(cell.text))) for cell in cells]
        bold = [f"**{text}**" if cell.style == "title" else text for cell, text in zip(cells, texts, strict=True)]
        yield f"| {' | '.join(bold)} |"


def in_a_cell(text: str) -> str:
    """Escape Markdown for a cell: a bar in code would end the cell."""
    return re.sub(r"(?<!\\)\|", r"\|", text)


def fenced(text: str, language: str) -> str:
    """Return code in a fence longer than any fence in it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def code_span(text: str) -> str:
    """Return code within a sentence."""
    one_line = " ".join(text.split())
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", one_line)), default=0))
    pad = " " if "`" in one_line else ""
    return f"{fence}{pad}{one_line}{pad}{fence}"


def plain(text: str) -> str:
    """Escape text so that it is no markup; text in backticks stays code."""
    pieces = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(piece if number % 2 else SPECIAL.sub(r"\\\1", piece) for number, piece in enumerate(pieces))
