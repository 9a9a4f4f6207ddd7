"""Run pytest on a folder of wrapped programs, in its own process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.corpus.running import wait
from benchmarks.corpus_tests.wrapping import OUTLIVING

#: Plugins that a machine may have and that would change the measurement.
OFF = ("cacheprovider", "randomly", "xdist", "asyncio", "rerunfailures", "pytest_cov", "memray", "hypothesispytest")


@dataclass(frozen=True)
class Tested:
    """The test results of a process: for each test file, the worst first."""

    checked: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    outliving: tuple[int, ...] = ()  # tensors left by a step and a fixed step, counted with Python's own means
    said: str = ""
    cpu_seconds: float = 0.0


def test(folder: Path, names: list[str], limit: float) -> Tested:
    """Run the test files of these names; kill the process after so many seconds."""
    report = folder / "report.json"
    off = [word for name in OFF for word in ("-p", f"no:{name}")]
    files = [f"test_{name}.py" for name in names]
    command = [sys.executable, "-m", "pytest", "-q", *off, "--leaks", f"--leaks-report={report}", *files]
    with open(folder / "output.txt", "wb+") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "PYTEST_ADDOPTS": ""},
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        _, cpu = wait(process, time.perf_counter() + limit)
        output.seek(0)
        lines = output.read().decode(errors="replace").strip().splitlines()
    return Tested(by_file(report), counts_in(folder / OUTLIVING), lines[-1] if lines else "", cpu)


def by_file(report: Path) -> dict[str, list[dict[str, Any]]]:
    """Group the tests of a report by file."""
    found: dict[str, list[dict[str, Any]]] = {}
    document = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {"tests": []}
    for one in document["tests"]:
        found.setdefault(Path(one["nodeid"].partition("::")[0]).stem.removeprefix("test_"), []).append(one)
    for tests in found.values():
        tests.sort(key=lambda one: (not one["is_failure"], one["verdict"] == "clean"))
    return found


def counts_in(file: Path) -> tuple[int, ...]:
    """Return the numbers in a file; none if it is missing."""
    return tuple(map(int, file.read_text(encoding="utf-8").split())) if file.exists() else ()
