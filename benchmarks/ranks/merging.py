"""Merging the reports of many ranks: seconds, peak memory, and the size of what comes out.

The reports are made up from two real hunts of a few hundred steps: most ranks leak alike, at rates that differ by some per cent,
and one rank in a hundred has a second leak.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import gradlife
from gradlife.model import hunt_codec
from gradlife.ranks.merge import merge
from gradlife.ranks.rank_report import reports_in

#: One rank in so many has the second leak.
RARE = 100


@dataclass(frozen=True)
class Merged:
    """One merge, in a process of its own."""

    ranks: int
    input_bytes: int
    seconds: float
    peak_bytes: int  # of the process
    report_bytes: int
    rows: int
    verdict: str


class Model:
    """Something that leaks in one way or in two."""

    def __init__(self, is_double: bool) -> None:
        self.history: list[object] = []
        self.cache: dict[int, object] = {}
        self.is_double = is_double

    def step(self, number: int) -> None:
        """One step."""
        self.history.append(lambda: number)
        if self.is_double:
            self.cache[number] = bytearray(20_000)


def report_of(model: Model) -> dict[str, Any]:
    """The report of a hunt in it."""
    return hunt_codec.encode(gradlife.hunt(model.step))


def write_ranks(folder: Path, count: int) -> int:
    """The run folder of so many ranks; returns its bytes."""
    usual, rare = report_of(Model(False)), report_of(Model(True))
    written = 0
    for rank in range(count):
        document = rare if rank % RARE == RARE - 1 else usual
        for finding in document["findings"]:
            finding["per_step"]["bytes"] = 1e6 * (1 + 0.05 * (rank % 7) / 7)
        path = folder / f"rank-{rank:05d}"
        path.mkdir()
        member = {
            "rank": rank,
            "world_size": count,
            "local": rank % 8,
            "host": f"node{rank // 8}",
            "pid": 1,
            "started": "",
        }
        snapshots = "".join(
            f"snapshot {step} {step}.0 {step}.{50 + rank % 9}\n" for step in (5, 10, 17, 28, 45, 74, 105)
        )
        written += put(path / "member.json", json.dumps(member)) + put(path / "end", json.dumps(document))
        written += put(path / "log", f"{snapshots}peak {(4 << 30) + 1000 * rank}\n")
    return written


def put(path: Path, text: str) -> int:
    """Writes a file; its size."""
    return path.write_text(text)


def measure(count: int) -> Merged:
    """Merges so many ranks in another process."""
    with tempfile.TemporaryDirectory() as folder:
        written = write_ranks(Path(folder), count)
        command = [sys.executable, "-m", "benchmarks.ranks.merging", folder]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Merged(count, written, **json.loads(done.stdout))


def measure_here(folder: str) -> dict[str, object]:
    """The merge of a folder, in this process."""
    began = time.perf_counter()
    report = merge(reports_in(folder))
    seconds = time.perf_counter() - began
    text = hunt_codec.dumps(report)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    one = Merged(0, 0, seconds, peak, len(text), len(report.ranks), report.verdict.value)
    return {name: value for name, value in asdict(one).items() if name not in ("ranks", "input_bytes")}


def measured(counts: Sequence[int]) -> list[Merged]:
    """A row for each number of ranks."""
    return [measure(count) for count in counts]


if __name__ == "__main__":
    print(json.dumps(measure_here(sys.argv[1])))
