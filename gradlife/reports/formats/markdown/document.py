"""A document as Markdown for GitHub. No text of a program acts as markup in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from gradlife.reports.document.blocks import (
    Block,
    Card,
    Code,
    Commands,
    Diff,
    Facts,
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
    document = document_of(report)
    title = f"## {document.tool}: {document.verdict} in {code_span(document.target)}"
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
            case List():
                leads = [f"{plain(item.lead)}: " if item.lead else "" for item in block.items]
                marks = [f"{item.mark} " if item.mark not in ("", "-") else "" for item in block.items]
                rows = zip(marks, leads, block.items, strict=True)
                yield "\n".join(f"- {mark}{lead}{sentence(item.words)}" for mark, lead, item in rows)
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


def section_parts(section: Section) -> Iterator[str]:
    """Yield a section that has parts."""
    parts = [*parts_of(section.blocks)]
    if parts and section.is_folded:
        yield "\n".join(folded(section.title, ["\n\n".join(parts)])).strip()
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
        yield f"| {' | '.join(in_a_cell(plain(str(cell.text))) for cell in cells)} |"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], align: str = "---") -> Iterator[str]:
    """Return a table of cells that are Markdown already. A row may have fewer cells than there are headings."""
    yield f"| {' | '.join(heads)} |"
    yield f"|{f' {align} |' * len(heads)}"
    for cells in rows:
        yield f"| {' | '.join(map(in_a_cell, cells))} |"


def in_a_cell(text: str) -> str:
    """Escape Markdown for a cell: a bar in code would end the cell."""
    return re.sub(r"(?<!\\)\|", r"\|", text)


def folded(summary: str, body: Iterable[str]) -> Iterator[str]:
    """Return a section that opens on a click."""
    yield f"\n<details><summary>{plain(summary)}</summary>\n"
    yield from body
    yield "\n</details>"


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
