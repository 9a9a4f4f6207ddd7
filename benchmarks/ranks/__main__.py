"""The cost of a snapshot for ranks that train together, and runs in which ranks fail. Run with `make bench-ranks`.

With `--workers`: a DataLoader whose dataset leaks in one worker, under each start method, and its clean twin.

Without options: data-parallel training (DDP, gloo, CPU) under a hunt on 1, 2 and 4 ranks, with the snapshots by their lengths and
by how long a rank waited for the others after its own; then the merge of made-up reports (`--merge`). With `--faults`: twenty
runs in which a rank is killed, late, hanging or gone, each with its time, its exit status and what the report says of it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.ranks.faults import FAULTS, Outcome, run_fault
from benchmarks.ranks.merging import measured

LOADER = str(Path(__file__).with_name("loader_program.py"))
PROGRAM = str(Path(__file__).with_name("training.py"))

#: Steps that show all snapshots of the usual rounds.
STEPS = 130


def snapshot_row(ranks: int) -> list[str]:
    """The snapshots of one run with so many ranks."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.json")
        command = [sys.executable, "-m", "gradlife", "hunt", "--json", str(path), "--run-folder", f"{folder}/run"]
        subprocess.run(
            [*command, f"--nproc-per-node={ranks}", PROGRAM, str(STEPS)],
            check=True,
            capture_output=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        seconds = time.perf_counter() - began
        report: dict[str, Any] = json.loads(path.read_text())
    cost = report.get("look_cost") or {}
    shared = f"{cost.get('shared', 0)} + {cost.get('alone', 0)}"
    waits = [f"{cost.get(name, 0.0):.2f}" for name in ("longest", "extra_wait", "most_extra_wait")]
    return [str(ranks), report["verdict"], shared, *waits, f"{seconds:.0f}"]


def print_snapshots(console: Console, counts: list[int]) -> None:
    """A row for each number of ranks."""
    heads = (
        "ranks",
        "verdict",
        "snapshots at one step + alone",
        "longest s",
        "median wait s",
        "longest wait s",
        "run s",
    )
    table = Table(*heads, title=f"Snapshots in {STEPS} steps of DDP, load {os.getloadavg()[0]:.1f}")
    for count in counts:
        table.add_row(*snapshot_row(count))
    console.print(table)


def print_loaders(console: Console, workers: int) -> int:
    """A leak in one worker of a DataLoader under each start method; the number of rows without it."""
    heads = ("start", "status", "verdict", "findings", "workers that have them", "stored at", "seconds")
    table = Table(*heads, title=f"A leak in __getitem__ of one of {workers} workers, load {os.getloadavg()[0]:.1f}")
    wrong = 0
    for start in ("fork", "spawn", "forkserver"):
        for leaking in (1, -1):
            row, is_right = loader_row(start, workers, leaking)
            table.add_row(*row)
            wrong += not is_right
    console.print(table)
    return wrong


def loader_row(start: str, workers: int, leaking: int) -> tuple[list[str], bool]:
    """A run, and whether it found the leak in that worker and nothing else. -1: no worker leaks."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.json")
        hunt = [sys.executable, "-m", "gradlife", "hunt", "--fail-on", "leak", "--json", str(path)]
        words = [*hunt, LOADER, start, str(workers), str(leaking)]
        done = subprocess.run(words, capture_output=True, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False)
        report: dict[str, Any] = json.loads(path.read_text())
    found = [(one["code"], one.get("in_workers") or {}, one["stored_at"] or {}) for one in report["findings"]]
    codes = " ".join(code for code, _, _ in found)
    who = " ".join(f"{workers['ranks']} of {workers['world_size']}" for _, workers, _ in found if workers)
    lines = " ".join(f"{stored['line']}: {stored['source']}" for _, _, stored in found if stored)
    seconds = f"{time.perf_counter() - began:.0f}"
    expected = f"{leaking} of {workers}" if leaking >= 0 else ""
    is_right = who == expected and report["verdict"] == ("leak" if leaking >= 0 else "clean")
    return [start, str(done.returncode), report["verdict"], codes or "-", who or "-", lines or "-", seconds], is_right


def print_merges(console: Console, counts: list[int]) -> None:
    """Time and size of merges."""
    table = Table("ranks", "reports", "merged", "seconds", "peak MB", title="Merging made-up reports")
    for one in measured(counts):
        table.add_row(
            f"{one.ranks:,}",
            f"{one.input_bytes / 1000:,.0f} kB",
            f"{one.report_bytes / 1000:.1f} kB",
            f"{one.seconds:.2f}",
            f"{one.peak_bytes / 1e6:.0f}",
        )
    console.print(table)


def print_faults(console: Console, rounds: int) -> int:
    """Every fault through every door; the number of runs that hung or said nothing of their fault."""
    table = Table("door", "fault", "status", "seconds", "verdict", "what the report says", "", title="Runs with faults")
    outcomes: list[Outcome] = []
    for _ in range(rounds):
        for fault in FAULTS:
            one = run_fault(fault)
            outcomes.append(one)
            mark = "ok" if one.is_right else "WRONG"
            table.add_row(fault.door, fault.name, one.status, f"{one.seconds:.0f}", one.verdict, one.words, mark)
            print(f"{fault.door}, {fault.name}: {mark}", file=sys.stderr, flush=True)
    console.print(table)
    wrong = [one for one in outcomes if not one.is_right]
    console.print(f"{len(outcomes)} runs, {sum(one.has_hung for one in outcomes)} hung, {len(wrong)} wrong")
    return len(wrong)


def main() -> int:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(prog="make bench-ranks ARGS=", description=__doc__)
    parser.add_argument("--faults", action="store_true", help="runs with faults")
    parser.add_argument("--merge", type=int, nargs="*", metavar="RANKS", help="merges of so many made-up ranks")
    parser.add_argument("--ranks", type=int, nargs="*", default=[1, 2, 4], help="snapshots on so many ranks")
    parser.add_argument("--workers", type=int, metavar="N", help="leaks in one of so many DataLoader workers")
    parser.add_argument("--rounds", type=int, default=1, help="how often each fault is run")
    args = parser.parse_args()
    console = Console(width=int(os.environ.get("COLUMNS", "140")))
    if args.faults:
        return min(1, print_faults(console, args.rounds))
    if args.workers is not None:
        return min(1, print_loaders(console, args.workers))
    if args.merge is not None:
        print_merges(console, args.merge or [8, 64, 512, 4096])
    else:
        print_snapshots(console, args.ranks)
    return 0


if __name__ == "__main__":
    sys.exit(main())
