"""Where the CPU seconds of a hunt go: bare run, hunted run, and the parts of the hunt. Run with `make bench-hunt ARGS=--parts`.

Both runs are processes of their own. The parts are measured in one more process, which hunts the same script and is asked
for its own CPU seconds and those of its forked copies around each part. Modules are compiled before, as those of an
installed package are.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import runpy
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

SCRIPT = Path(__file__).parents[2] / "docs" / "examples" / "train.py"

#: Seconds that a hunt may take more than the bare run, on two idle cores, and CPU seconds of all its parts.
MAX_WALL = 4.0
MAX_CPU = 2.0


@dataclass
class Part:
    """One part of a hunt."""

    times: int = 0
    own: float = 0.0  # CPU seconds of the program's process
    copies: float = 0.0  # and of its forked copies


@dataclass(frozen=True)
class Spent:
    """Seconds of a process and its children."""

    wall: float
    cpu: float


def cpu_seconds() -> tuple[float, float]:
    """Of this process, and of its children that have ended."""
    rows = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    own, children = (row.ru_utime + row.ru_stime for row in rows)
    return own, children


def spent(command: list[str], environment: dict[str, str]) -> Spent:
    """Run a command to its end."""
    began, before = time.perf_counter(), cpu_seconds()[1]
    subprocess.run(command, capture_output=True, check=False, env=environment)
    return Spent(time.perf_counter() - began, cpu_seconds()[1] - before)


class Meter:
    """Measures calls; what one of them calls itself is a part of it."""

    def __init__(self) -> None:
        self.parts: defaultdict[str, Part] = defaultdict(Part)
        self._is_inside = False

    def around(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, measured."""

        def measured(*arguments: Any, **options: Any) -> Any:
            if self._is_inside:
                return function(*arguments, **options)
            self._is_inside, before = True, cpu_seconds()
            try:
                return function(*arguments, **options)
            finally:
                after, self._is_inside, part = cpu_seconds(), False, self.parts[name]
                part.times += 1
                part.own += after[0] - before[0]
                part.copies += after[1] - before[1]

        return measured


def hunt_measured() -> None:
    """Hunt the script in this process, and print the parts as JSON."""
    from torch.optim.optimizer import register_optimizer_step_post_hook

    began = time.process_time()
    from gradlife.hunting.process import forked
    from gradlife.hunting.session import judgement, method, report
    from gradlife.hunting.session.clean_report import TargetFacts
    from gradlife.hunting.session.step_counter import Counter
    from gradlife.hunting.steps.schedule import schedule_for

    meter = Meter()
    meter.parts["import"] = Part(1, time.process_time() - began)
    assert judgement
    places: dict[str, list[tuple[Any, str]]] = {
        "snapshots: fork (program), walk (copy)": [(method, "take_snapshot"), (report, "take_snapshot")],
        "judge: what grows": [(method, "in_fork")],
        "count C++ objects": [(forked.Answer, "wait")],
        "report": [(report, "in_fork"), (method.Hunt, "in_copy")],
    }
    for name, found in places.items():
        for module, function in found:
            setattr(module, function, meter.around(name, getattr(module, function)))
    gc.collect = meter.around("collector", gc.collect)
    hunt = method.Hunt(schedule_for(None, is_endless=False, may_be_short=True))
    counter = Counter(hunt)
    counter.on_done = lambda: None
    register_optimizer_step_post_hook(lambda *_: counter.is_done or counter.step())
    runpy.run_path(str(SCRIPT), run_name="__main__")
    report.report_of(hunt, TargetFacts(str(SCRIPT), "SGD.step", is_script=True))
    print(json.dumps({name: asdict(part) for name, part in meter.parts.items()}))


def print_parts(rounds: int = 3) -> None:
    """The least of some runs, bare and hunted, then the parts."""
    with tempfile.TemporaryDirectory(prefix="overhead-") as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        print_with(rounds, environment)


def print_with(rounds: int, environment: dict[str, str]) -> None:
    """Measure in this environment, in which modules are compiled once."""

    def least(*words: str) -> Spent:
        spent([sys.executable, *words], environment)
        return min((spent([sys.executable, *words], environment) for _ in range(rounds)), key=lambda one: one.cpu)

    bare, hunted = least(str(SCRIPT)), least("-m", "gradlife", "hunt", str(SCRIPT))
    start = least("-m", "gradlife", "hunt", os.devnull)
    console = Console(highlight=False, markup=False, width=None if Console().is_terminal else 120)
    console.print(
        f"{SCRIPT.name}: {bare.wall:.1f} s, {bare.cpu:.1f} CPU s; hunted {hunted.wall:.1f} s, {hunted.cpu:.1f} CPU s"
    )
    console.print(f"wall time added: {hunted.wall - bare.wall:.1f} s (target {MAX_WALL:.0f} on two idle cores)")
    console.print(f"a hunt of an empty script: {start.wall:.1f} s, {start.cpu:.1f} CPU s")
    command = [sys.executable, "-m", "benchmarks.overhead.breakdown"]
    output = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    parts = {name: Part(**row) for name, row in json.loads(output.splitlines()[-1]).items()}
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in ("part", "times", "CPU s of the program", "of its copies"):
        table.add_column(head, justify="left" if head == "part" else "right")
    for name, part in sorted(parts.items(), key=lambda one: -(one[1].own + one[1].copies)):
        table.add_row(name, str(part.times), f"{part.own:.2f}", f"{part.copies:.2f}")
    console.print(table)
    whole = sum(part.own + part.copies for name, part in parts.items() if name != "import")
    console.print(f"all looks: {whole:.1f} CPU s (target {MAX_CPU:.0f})")


if __name__ == "__main__":
    hunt_measured()
