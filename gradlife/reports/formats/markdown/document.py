"""Markdown as GitHub renders it, in which no text of a program is markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

#: Characters with a meaning in Markdown or HTML.
SPECIAL = re.compile(r"([\\`*_\[\]<>|~])")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], align: str = "---") -> Iterator[str]:
    """A table; its cells are Markdown already. A row may have fewer than there are heads."""
    yield f"| {' | '.join(heads)} |"
    yield f"|{f' {align} |' * len(heads)}"
    for cells in rows:
        yield f"| {' | '.join(map(in_a_cell, cells))} |"


def in_a_cell(text: str) -> str:
    """Markdown for a cell: a bar that stands in code would end it."""
    return re.sub(r"(?<!\\)\|", r"\|", text)


def folded(summary: str, body: Iterable[str]) -> Iterator[str]:
    """A part that is shown when it is clicked on."""
    yield f"\n<details><summary>{plain(summary)}</summary>\n"
    yield from body
    yield "\n</details>"


def fenced(text: str, language: str) -> Iterator[str]:
    """Code, in a fence longer than any in it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    yield f"\n{fence}{language}\n{text.rstrip()}\n{fence}"


def code_span(text: str) -> str:
    """Code within a sentence."""
    one_line = " ".join(text.split())
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", one_line)), default=0))
    pad = " " if "`" in one_line else ""
    return f"{fence}{pad}{one_line}{pad}{fence}"


def plain(text: str) -> str:
    """Text that is no markup; what stands in backticks stays code."""
    pieces = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(piece if number % 2 else SPECIAL.sub(r"\\\1", piece) for number, piece in enumerate(pieces))
