"""Runs of two ranks in which one is killed, late, hanging or gone: none may hang, and the report must name the rank."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = str(Path(__file__).with_name("training.py"))

#: Seconds after which a run counts as hung.
HANGS = 180.0

#: Seconds that ranks wait for one another here.
PATIENCE = 5

LAUNCHED = "hunt --nproc-per-node"
INSIDE = "torchrun -m gradlife"
AROUND = "hunt torchrun"

TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")


@dataclass(frozen=True)
class Fault:
    """What happens to rank 1, and how the ranks are started."""

    door: str
    name: str
    ends: tuple[str, ...]  # of rank 1, as the report may say it
    is_ended_by_us: bool = False  # nothing else would end it: SIGTERM to the launcher when rank 0 waits


ALL = ("killed", "failed", "lost", "running")
FAULTS = (
    *(
        Fault(LAUNCHED, name, ALL)
        for name in ("killed", "aborted", "fails", "out of memory", "exits past all handlers")
    ),
    *(Fault(LAUNCHED, name, ALL) for name in ("terminated", "alone hangs")),
    *(Fault(LAUNCHED, name, ("finished",)) for name in ("late", "alone leaves early")),
    *(Fault(INSIDE, name, ALL) for name in ("killed", "fails", "terminated", "alone killed")),
    *(Fault(INSIDE, name, ("finished",)) for name in ("late", "alone leaves early")),
    Fault(INSIDE, "alone hangs", ALL, is_ended_by_us=True),
    *(Fault(AROUND, name, ALL) for name in ("killed", "fails", "terminated")),
    Fault(AROUND, "late", ("finished",)),
)


@dataclass(frozen=True)
class Outcome:
    """The end of such a run."""

    status: str
    seconds: float
    verdict: str
    words: str
    has_hung: bool
    is_right: bool


def command_of(fault: Fault, folder: str) -> list[str]:
    """The command of a run."""
    options = ["--json", f"{folder}/report.json", "--rank-timeout", str(PATIENCE)]
    program = [PROGRAM, "130", fault.name]
    hunt = ["-m", "gradlife", "hunt", *options]
    if fault.door == LAUNCHED:
        return [sys.executable, *hunt, "--nproc-per-node=2", *program]
    if fault.door == INSIDE:
        return [sys.executable, *TORCHRUN, *hunt, *program]
    return [sys.executable, *hunt, *TORCHRUN, *program]


def run_fault(fault: Fault) -> Outcome:
    """One run to its end, or to the time at which it counts as hung."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            command_of(fault, folder),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )
        has_hung = not ends(process, 60.0 if fault.is_ended_by_us else HANGS)
        if has_hung and fault.is_ended_by_us:
            process.send_signal(signal.SIGTERM)
            has_hung = not ends(process, HANGS)
        if has_hung:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        report = read(Path(folder, "report.json"))
    seconds = time.monotonic() - began
    end = end_of_rank(report, "1")
    words = f"rank 1 {end}; {report.get('trouble', '')}".rstrip("; ")
    is_right = not has_hung and end in fault.ends and end_of_rank(report, "0") != ""
    return Outcome(str(process.returncode), seconds, report.get("verdict", "no report"), words, has_hung, is_right)


def ends(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether the process ends in so many seconds."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def read(path: Path) -> dict[str, Any]:
    """The report; empty where there is none."""
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found


def end_of_rank(report: dict[str, Any], rank: str) -> str:
    """How a rank ended; empty where the report does not have it."""
    return next((row["end"] for row in report.get("ranks", ()) if row["ranks"] == rank), "")
