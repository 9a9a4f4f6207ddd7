"""Hunt the leaks that people reported in public, and their clean twins. Run with `make field`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.corpus.running import hunt
from benchmarks.field.entries import AREAS
from benchmarks.field.entry import Entry
from benchmarks.field.judging import Answer, judge
from benchmarks.twins.judging import FALSE_ALARM


def hunt_all(arguments: argparse.Namespace, folder: Path) -> Iterator[Answer]:
    """Hunt each program that is asked for, one at a time."""
    for area, entries in AREAS.items():
        for entry in entries:
            if arguments.k in f"{area}/{entry.pair.name}":
                for is_leaking in (True, False):
                    if arguments.only in ("", "leaks" if is_leaking else "twins"):
                        yield hunt_one(area, entry, is_leaking, arguments, folder)


def hunt_one(area: str, entry: Entry, is_leaking: bool, arguments: argparse.Namespace, folder: Path) -> Answer:
    """Hunt one program and say on stderr what came of it."""
    path = folder / f"{entry.pair.name}_{'leak' if is_leaking else 'twin'}.py"
    path.write_text(entry.pair.source(is_leaking, arguments.steps), encoding="utf-8")
    options = ("--step-on", entry.step_on) if entry.step_on else ()
    hunted = hunt(path.name, folder, arguments.limit, options=options, python=arguments.python)
    answer = judge(area, entry, is_leaking, arguments.steps, hunted)
    row = answer.row
    print(
        f"{area}/{row.name} {row.kind}: {row.result} ({row.verdict} {' '.join(row.codes)}) {', '.join(wrong(answer))}",
        file=sys.stderr,
        flush=True,
    )
    return answer


def wrong(answer: Answer) -> list[str]:
    """Return what is wrong with an answer, in words."""
    parts = {
        "verdict": answer.is_verdict_right,
        "holder": answer.is_holder_right,
        "line": answer.is_line_right,
        "advice": answer.is_advice_right,
    }
    return [f"{name} wrong" for name, is_right in parts.items() if is_right is False]


def print_answers(answers: list[Answer]) -> None:
    """Print the wrong answers, then the totals by area."""
    console = Console(highlight=False, markup=False, width=None if Console().is_terminal else 150)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in ("program", "", "wrong", "verdict", "findings", "line"):
        table.add_column(head, overflow="fold")
    for one in answers:
        if wrong(one):
            codes = " ".join(one.row.codes)
            name = f"{one.row.area}/{one.row.name}"
            table.add_row(name, one.row.kind, ", ".join(wrong(one)), one.row.verdict, codes, one.line)
    if table.row_count:
        console.print(table)
        console.print()
    totals = Table(box=None, pad_edge=False, header_style="dim")
    for head in ("area", "leaks", "verdict", "holder", "line", "advice", "twins", "false alarms"):
        totals.add_column(head, justify="left" if head == "area" else "right")
    for area in AREAS:
        add_totals(totals, area, [one for one in answers if one.row.area == area])
    add_totals(totals, "all", answers)
    console.print(totals)


def add_totals(table: Table, title: str, answers: list[Answer]) -> None:
    """Add how many answers are right, of how many that were asked."""
    if answers:
        leaks = [one for one in answers if one.row.is_leaking]
        twins = [one for one in answers if not one.row.is_leaking]
        table.add_row(
            title,
            str(len(leaks)),
            share([one.is_verdict_right for one in leaks]),
            share([one.is_holder_right for one in leaks]),
            share([one.is_line_right for one in leaks]),
            share([one.is_advice_right for one in leaks]),
            str(len(twins)),
            str(sum(one.row.result == FALSE_ALARM for one in twins)),
        )


def share(answers: list[bool] | list[bool | None]) -> str:
    """Return how many are right of those that were asked."""
    asked = [one for one in answers if one is not None]
    return f"{sum(asked)} of {len(asked)}"


def main() -> int:
    """Print the table; 0 if nothing is wrong."""
    parser = argparse.ArgumentParser(prog="benchmarks.field", description=__doc__)
    parser.add_argument("-k", metavar="TEXT", default="", help="only entries with this in AREA/NAME")
    parser.add_argument("--only", choices=("leaks", "twins"), default="", help="only one program of each entry")
    parser.add_argument("--steps", type=int, default=40, help="length of the runs (default 40)")
    parser.add_argument("--limit", type=float, default=120, help="seconds after which a hunt is killed (default 120)")
    parser.add_argument("--json", metavar="FILE", help="write the answers here as well")
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the hunts (default: this one)")
    arguments = parser.parse_args()
    answers: list[Answer] = []
    with tempfile.TemporaryDirectory(prefix="field-") as folder:
        for answer in hunt_all(arguments, Path(folder)):
            answers.append(answer)
            if arguments.json:
                text = json.dumps([one.document() for one in answers], indent=1) + "\n"
                Path(arguments.json).write_text(text, encoding="utf-8")
    print_answers(answers)
    return 1 if any(wrong(one) for one in answers) else 0


if __name__ == "__main__":
    sys.exit(main())
