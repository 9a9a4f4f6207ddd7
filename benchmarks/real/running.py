"""Run a program of a library bare, or hunt it: what it printed of its losses, and the CPU time of its steps."""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.corpus.running import Hunted, hunt

CLOCK = Path(__file__).parent / "clock"
#: One thread: CPU times of two runs can be compared, and losses are the same. Nothing is asked of the network.
SETTINGS = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}


@dataclass(frozen=True)
class Steps:
    """CPU seconds of each step of one run, the first left out: what lies before it is start-up."""

    seconds: tuple[float, ...] = ()

    def ratio_to(self, bare: Steps) -> float:
        """All steps of this run against those of the bare run, step by step as far as both have them; 0 if there are none."""
        count = min(len(self.seconds), len(bare.seconds))
        return sum(self.seconds[:count]) / sum(bare.seconds[:count]) if count else 0.0

    def median_ratio_to(self, bare: Steps) -> float:
        """The same for the median step, which no look falls into."""
        if not (self.seconds and bare.seconds):
            return 0.0
        return statistics.median(self.seconds) / statistics.median(bare.seconds)


def read_steps(clock: Path) -> Steps:
    """The steps of the process that took most of them."""
    lines = clock.read_text(encoding="utf-8").split("\n")[:-1] if clock.exists() else []
    pairs = [line.split() for line in lines]
    most = Counter(pid for pid, _ in pairs).most_common(1)
    times = [float(at) for pid, at in pairs if pid == most[0][0]] if most else []
    return Steps(tuple(after - before for before, after in itertools.pairwise(times)))


def loss_lines(output: str) -> tuple[str, ...]:
    """What a program printed of its losses."""
    return tuple(line for line in output.splitlines() if line.startswith("loss "))


@dataclass(frozen=True)
class Bare:
    """A run without gradlife."""

    losses: tuple[str, ...]
    steps: Steps
    trouble: str


def variables(clock: Path) -> dict[str, str]:
    """The environment variables of a run."""
    path = os.pathsep.join(filter(None, (str(CLOCK), os.environ.get("PYTHONPATH"))))
    return {**SETTINGS, "REAL_CLOCK": str(clock), "PYTHONPATH": path}


def run_bare(script: Path, folder: Path, limit: float) -> Bare:
    """Run a script as it is."""
    clock = folder / f"{script.stem}.bare"
    try:
        ended = subprocess.run(
            [sys.executable, str(script)],
            cwd=folder,
            env={**os.environ, **variables(clock)},
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Bare((), Steps(), f"took more than {limit:.0f} s")
    said = ended.stderr.strip().splitlines()[-1:] or [f"exit status {ended.returncode}"]
    return Bare(loss_lines(ended.stdout), read_steps(clock), said[0] if ended.returncode else "")


def run_hunted(script: Path, folder: Path, limit: float, options: Sequence[str] = ()) -> tuple[Hunted, Steps]:
    """Hunt a script."""
    clock = folder / f"{script.stem}.hunted"
    hunted = hunt(str(script), folder, limit, (), tuple(options), variables(clock))
    return hunted, read_steps(clock)
