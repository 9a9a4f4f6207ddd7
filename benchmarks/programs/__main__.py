"""Hunt ten training programs as they are, and with each of the leaks planted in them. Run with `make programs`."""

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

from benchmarks.corpus.paths import lacking_words
from benchmarks.corpus.running import Hunted, hunt
from benchmarks.programs.planted import FOLDER, PLANTED, Planted

NONE = "none"


@dataclass(frozen=True)
class Row:
    """One hunt of one program."""

    program: str
    leak: str
    expected: str
    got: str
    is_right: bool
    lacking: tuple[str, ...]
    codes: tuple[str, ...]
    stepped_by: str
    seconds: float
    cpu_seconds: float
    said: str = ""


def judge(program: str, leak: str, hunted: Hunted) -> Row:
    """Judge a hunt of a program: clean if unmodified, otherwise the planted holder must be named."""
    planted = PLANTED[program].get(leak)
    document: dict[str, Any] = hunted.document or {"findings": [], "verdict": "no report", "stepped_by": ""}
    findings = document["findings"]
    found = finding_for(planted, findings)
    lacking = lacking_words([[name] for name in planted.names], found["trace"]) if planted and found else ()
    verdict = str(document["verdict"])
    return Row(
        program=program,
        leak=leak,
        expected=planted.kind if planted else "clean",
        got=str(findings[0]["kind"]) if findings else verdict,
        is_right=(found is not None and not lacking) if planted else verdict == "clean",
        lacking=tuple(lacking),
        codes=tuple(str(one["code"]) for one in findings),
        stepped_by=document["stepped_by"],
        seconds=round(hunted.seconds, 1),
        cpu_seconds=round(hunted.cpu_seconds, 1),
        said="" if hunted.document else hunted.said or f"exit status {hunted.status}",
    )


def finding_for(planted: Planted | None, findings: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the first finding if it is of the planted kind."""
    first = findings[0] if findings else None
    return first if planted and first and first["kind"] == planted.kind else None


def hunt_all(arguments: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """Hunt each program unmodified, then with each leak."""
    jobs = [(program, leak) for program, leaks in PLANTED.items() for leak in (NONE, *leaks)]
    jobs = [job for job in jobs if arguments.k in f"{job[0]}-{job[1]}"]

    def one(job: tuple[str, str]) -> Row:
        program, leak = job
        extra = () if leak == NONE else ("--leak", leak)
        return judge(program, leak, hunt(str(FOLDER / f"{program}.py"), folder, arguments.limit, extra))

    with ThreadPoolExecutor(arguments.jobs) as pool:
        for row in pool.map(one, jobs):
            print(f"{row.program} {row.leak}: {'right' if row.is_right else 'WRONG'}", file=sys.stderr)
            yield row


def print_rows(rows: list[Row]) -> None:
    """Print a row per hunt, then the totals."""
    console = Console(highlight=False, markup=False, width=None if Console().is_terminal else 150)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in ("program", "leak", "expected", "got", "", "codes", "trace lacks", "a step is", "s", "CPU s"):
        table.add_column(head, overflow="fold")
    for row in rows:
        mark = "ok" if row.is_right else "WRONG"
        cells = [row.program, row.leak, row.expected, row.got, mark, " ".join(row.codes), ", ".join(row.lacking)]
        table.add_row(*cells, row.stepped_by or row.said, f"{row.seconds:.1f}", f"{row.cpu_seconds:.1f}")
    console.print(table)
    leaking, clean = [row for row in rows if row.leak != NONE], [row for row in rows if row.leak == NONE]
    console.print(f"planted leaks found, their holders named: {sum(row.is_right for row in leaking)} of {len(leaking)}")
    console.print(f"clean programs clean: {sum(row.is_right for row in clean)} of {len(clean)}")


def main() -> int:
    """Print the table; 0 if all is right."""
    parser = argparse.ArgumentParser(prog="benchmarks.programs", description=__doc__)
    parser.add_argument("-k", metavar="TEXT", default="", help="only hunts with this in their name, mlp-losses")
    parser.add_argument("--jobs", type=int, default=1, help="hunts at a time (default 1)")
    parser.add_argument("--limit", type=float, default=120, help="seconds after which a hunt is killed (default 120)")
    parser.add_argument("--json", metavar="FILE", help="write the rows here as well")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="programs-") as folder:
        rows = list(hunt_all(arguments, Path(folder)))
    print_rows(rows)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    return 0 if all(row.is_right for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
