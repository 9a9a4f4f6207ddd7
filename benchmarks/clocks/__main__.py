"""Hunt programs that leak once an epoch, a trial or a round, and their clean twins. Run with `make clocks`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.clocks.stories import STORIES, Story
from benchmarks.corpus.running import Hunted, hunt

#: Share of the leaks that must be found; every twin must be clean.
MIN_FOUND = 0.95


@dataclass(frozen=True)
class Row:
    """One hunt."""

    name: str
    is_leaking: bool
    verdict: str
    codes: tuple[str, ...]
    has_holder: bool
    clock: str  # "14 times in 560 steps"
    seconds: float
    said: str

    @property
    def is_right(self) -> bool:
        """Whether a leak is found with its holder's name, or a twin is clean."""
        return self.verdict == "leak" and self.has_holder if self.is_leaking else self.verdict == "clean"


def judge(story: Story, is_leaking: bool, hunted: Hunted) -> Row:
    """Judge a hunt."""
    document: dict[str, Any] = hunted.document or {"verdict": "-", "findings": [], "trouble": hunted.said}
    findings = document["findings"]
    first = findings[0] if findings else {}
    arrivals = first.get("arrivals") or {}
    return Row(
        name=story.name,
        is_leaking=is_leaking,
        verdict=str(document["verdict"]),
        codes=tuple(str(one["code"]) for one in findings),
        has_holder=story.holder in json.dumps(first.get("trace", {})),
        clock=f"{arrivals['times']} in {arrivals['steps']} steps" if arrivals else "",
        seconds=round(hunted.seconds, 1),
        said=str(document.get("trouble") or ""),
    )


def hunt_all(arguments: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """Hunt each program with and without its leak."""
    jobs = [(story, is_leaking) for story in STORIES for is_leaking in (True, False) if arguments.k in story.name]
    if arguments.no_twins:
        jobs = [job for job in jobs if job[1]]

    def one(job: tuple[Story, bool]) -> Row:
        story, is_leaking = job
        path = folder / f"{story.name}_{'leak' if is_leaking else 'twin'}.py"
        path.write_text(story.source(is_leaking), encoding="utf-8")
        return judge(story, is_leaking, hunt(str(path), folder, arguments.limit))

    with ThreadPoolExecutor(arguments.jobs) as pool:
        for row in pool.map(one, jobs):
            kind = "leak" if row.is_leaking else "twin"
            print(
                f"{row.name} {kind}: {'right' if row.is_right else 'WRONG'} {row.verdict} {row.said}", file=sys.stderr
            )
            yield row


def print_rows(rows: list[Row]) -> None:
    """Print a row per hunt, then the totals."""
    console = Console(highlight=False, markup=False, width=None if Console().is_terminal else 150)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in ("program", "", "verdict", "", "codes", "came", "s"):
        table.add_column(head, overflow="fold")
    for row in rows:
        kind = "leaks" if row.is_leaking else "twin"
        mark = "ok" if row.is_right else "WRONG"
        table.add_row(row.name, kind, row.verdict, mark, " ".join(row.codes), row.clock, f"{row.seconds:.1f}")
    console.print(table)
    leaking, twins = [row for row in rows if row.is_leaking], [row for row in rows if not row.is_leaking]
    console.print(
        f"leaks on a slower clock found, their holders named: {sum(row.is_right for row in leaking)} of {len(leaking)}"
    )
    console.print(f"twins quiet: {sum(row.is_right for row in twins)} of {len(twins)}")


def is_enough(rows: list[Row]) -> bool:
    """Whether the results meet the targets."""
    leaking = [row for row in rows if row.is_leaking]
    found = sum(row.is_right for row in leaking)
    return found >= MIN_FOUND * len(leaking) and all(row.is_right for row in rows if not row.is_leaking)


def main() -> int:
    """Print the table; 0 if the targets are met."""
    parser = argparse.ArgumentParser(prog="benchmarks.clocks", description=__doc__)
    parser.add_argument("-k", metavar="TEXT", default="", help="only programs with this in their name")
    parser.add_argument("--no-twins", action="store_true", help="leave the clean twins out")
    parser.add_argument("--jobs", type=int, default=1, help="hunts at a time (default 1)")
    parser.add_argument("--limit", type=float, default=300, help="seconds after which a hunt is killed (default 300)")
    parser.add_argument("--json", metavar="FILE", help="write the rows here as well")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="clocks-") as folder:
        rows = list(hunt_all(arguments, Path(folder)))
    print_rows(rows)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    return 0 if is_enough(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
