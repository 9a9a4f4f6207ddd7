"""Markdown for GitHub. No text of a program acts as markup in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

#: Characters with a meaning in Markdown or HTML.
SPECIAL = re.compile(r"([\\`*_\[\]<>|~])")


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


def fenced(text: str, language: str) -> Iterator[str]:
    """Return code in a fence longer than any fence in it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    yield f"\n{fence}{language}\n{text.rstrip()}\n{fence}"


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
