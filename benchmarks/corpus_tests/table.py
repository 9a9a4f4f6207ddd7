"""The table of all programs and their test results, with totals."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.corpus_tests.judging import FAILS, PASSES, Judged

#: The columns: under the marker, then with --leaks.
WAYS = {
    "step": "step",
    "fixed": "fixed step",
    "allowed": 'step, cycles="allow"',
    "swept": "--leaks, step",
    "swept_fixed": "--leaks, fixed step",
}


def print_judged(found: Sequence[Judged]) -> None:
    """Print a row per program, then the number that matches the labels."""
    console = Console(highlight=False, markup=False, width=None if Console().is_terminal else 170)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in ("program", *WAYS.values()):
        table.add_column(head, overflow="fold")
    for slug in dict.fromkeys(one.slug for one in found):
        by_way = {one.way: one for one in found if one.slug == slug}
        table.add_row(slug, *(cell(by_way.get(way)) for way in WAYS))
    console.print(table)
    for way, words in WAYS.items():
        for wanted in (FAILS, PASSES):
            asked = [one for one in found if (one.way, one.expected) == (way, wanted)]
            if asked:
                console.print(f"{words}: {sum(one.is_right for one in asked)} of {len(asked)} that should {wanted[:4]}")


def cell(one: Judged | None) -> str:
    """Return the cell of one test file: fails GL402; in capitals if it contradicts the label."""
    if one is None:
        return ""
    came = one.came if one.is_right else one.came.upper()
    return " ".join([came, *dict.fromkeys(one.codes)])
