"""Draws the output of `print(torch.owners(obj))`: each kind of reference has its colour and arrow."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from gradlife.reports.svg import svg_of
from gradlife.reports.theme import GOOD, NOTE, QUIET, TITLE

STYLES = {"strong": "", "weak": GOOD, "borrowed": "cyan", "coupled": NOTE}
HELD = re.compile(
    r"(?P<arrow>\S+ )(?P<label>.*?) \((?P<how>strong|weak|borrowed|coupled)\) (?P<name>\S+(?: #\d+)?)(?P<rest>.*)"
)


def drawn(printed: str, title: str) -> str:
    """Draw printed output; equal output gives an equal picture, byte for byte."""
    lines = list(map(coloured, printed.splitlines()))
    width = max(60, *(cell_len(line.plain) + 2 for line in lines))

    def show(console: Console) -> None:
        for line in lines:
            console.print(line, soft_wrap=True)

    return svg_of(show, title, width)


def coloured(line: str) -> Text:
    """Colour one line."""
    return Text.assemble(*pieces(line))


def pieces(line: str) -> Iterator[tuple[str, str]]:
    """Yield the branches, the arrow, its label and the object."""
    lead = re.match(r"[\s│├└─]*", line)
    start = lead.end() if lead else 0
    yield line[:start], QUIET
    held = HELD.fullmatch(line[start:])
    if held is None:
        name, gap, rest = line[start:].partition("  [")
        yield name, TITLE
        yield gap + rest, QUIET
        return
    style = STYLES[held["how"]]
    yield held["arrow"], style
    yield f"{held['label']} ({held['how']}) ", style
    yield held["name"], f"{TITLE} {style}"
    yield held["rest"], QUIET
