"""Draws the output of `print(torch.owners(obj))`: each kind of reference has its colour and arrow.

The cycle that keeps the object alive is red, and a reference in it that the collector does not see has a sign, as in the
HTML report of a run.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from gradlife.reports.svg import svg_of
from gradlife.reports.theme import BAD, GOOD, NOTE, QUIET, TITLE

STYLES = {"strong": "", "weak": GOOD, "borrowed": "cyan", "coupled": NOTE}
KEEPS = ("strong", "coupled")
HELD = re.compile(
    r"(?P<arrow>\S+ )(?P<label>.*?) \((?P<how>strong|weak|borrowed|coupled)\) (?P<name>\S+(?: #\d+)?)(?P<rest>.*)"
)
NUMBER = re.compile(r"#(\d+)")
CYCLE, UNSEEN = "↻", "⊘"
KEY = ((CYCLE, "in the cycle that keeps it alive"), (UNSEEN, "a reference that the collector does not see"))

#: Two objects and the label of the reference between them.
Reference = tuple[int, int, str]


@dataclass(frozen=True)
class Row:
    """One line: its branches and text, and the reference that it shows, if that is one between two numbered objects."""

    lead: str
    text: str
    held: re.Match[str] | None
    reference: Reference | None = None

    @property
    def keeps(self) -> bool:
        """Whether the reference keeps its target alive."""
        return self.reference is not None and self.held is not None and self.held["how"] in KEEPS


def drawn(printed: str, title: str, unseen: Collection[Reference] = ()) -> str:
    """Draw printed output; equal output gives an equal picture, byte for byte."""
    rows = list(rows_of(printed))
    cycle = cycle_of(rows)
    lines = [Text.assemble(*pieces(row, row.reference in cycle, row.reference in unseen)) for row in rows]
    if cycle:
        lines += [Text(), *(Text.assemble((f"{sign} ", BAD), (words, QUIET)) for sign, words in KEY)]
    width = max(60, *(cell_len(line.plain) + 2 for line in lines))

    def show(console: Console) -> None:
        for line in lines:
            console.print(line, soft_wrap=True)

    return svg_of(show, title, width)


def rows_of(printed: str) -> Iterator[Row]:
    """Yield the lines with the references that they show."""
    above: list[int] = []  # the numbers of the objects around the line
    for line in printed.splitlines():
        lead = re.match(r"[\s│├└─]*", line)
        start = lead.end() if lead else 0
        held = HELD.fullmatch(line[start:])
        number = NUMBER.search(held["name"] if held else line)
        del above[start // 3 :]
        around = above[-1] if above else 0
        has_both = held is not None and number is not None and around
        reference = (around, int(number[1]), held["label"]) if has_both and number and held else None
        above += [int(number[1]) if number else 0]
        yield Row(line[:start], line[start:], held, reference)


def cycle_of(rows: Sequence[Row]) -> set[Reference]:
    """Return the shortest cycle of references that keep, through the first object or the nearest one that has a cycle."""
    edges = list(dict.fromkeys(row.reference for row in rows if row.keeps and row.reference is not None))
    for start in dict.fromkeys(source for source, _, _ in edges):
        waiting: deque[tuple[int, tuple[Reference, ...]]] = deque([(start, ())])
        passed = set[int]()
        while waiting:
            place, path = waiting.popleft()
            for edge in (one for one in edges if one[0] == place):
                if edge[1] == start:
                    return {*path, edge}
                if edge[1] not in passed:
                    passed.add(edge[1])
                    waiting.append((edge[1], (*path, edge)))
    return set()


def pieces(row: Row, is_in_cycle: bool, is_unseen: bool) -> Iterator[tuple[str, str]]:
    """Yield the branches, the arrow, its label and the object."""
    yield row.lead, QUIET
    held = row.held
    if held is None:
        name, gap, rest = row.text.partition("  [")
        yield name, TITLE
        yield gap + rest, QUIET
        return
    style = BAD if is_in_cycle else STYLES[held["how"]]
    signs = CYCLE + UNSEEN * is_unseen if is_in_cycle else ""
    yield held["arrow"], style
    yield f"{signs} " if signs else "", style
    yield f"{held['label']} ({held['how']}) ", style
    yield held["name"], f"{TITLE} {style}"
    yield held["rest"], QUIET
