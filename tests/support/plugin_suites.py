"""Suites of tests that pytest runs in a process of its own, with gradlife's plugin and no other; and what came of them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

#: Plugins that are installed to be tested together with gradlife's, by the names under which they are switched off.
OTHERS = ("asyncio", "pytest_cov", "randomly", "rerunfailures", "memray", "hypothesispytest", "xdist", "cacheprovider")


@dataclass(frozen=True)
class Ran:
    """A run of pytest."""

    status: int
    text: str
    outcomes: dict[str, str]  # "test_a.py::test_x" -> "PASSED"
    report: dict[str, Any]  # what --leaks-report wrote

    def checked(self, name: str) -> dict[str, Any]:
        """Return the report's section on a test; for one with findings at its end, those."""
        found = [one for one in self.report["tests"] if one["nodeid"].endswith(f"::{name}")]
        return max(found, key=lambda one: len(one["findings"]))

    def codes(self, name: str) -> list[tuple[str, str]]:
        """Sections and codes of a test's findings."""
        return [(one["section"], one["code"]) for one in self.checked(name)["findings"]]

    def outcome(self, name: str) -> str:
        """Return the result of a test."""
        [found] = [value for nodeid, value in self.outcomes.items() if nodeid.endswith(f"::{name}")]
        return found


def run_suite(
    folder: Path,
    *arguments: str,
    plugins: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
    command: str = "-rA",
    **files: str,
) -> Ran:
    """Writes files (``test_a="..."``) and runs pytest on the folder."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(dedent(text), encoding="utf-8")
    off = [word for name in OTHERS if name not in plugins for word in ("-p", f"no:{name}")]
    report = folder / "report.json"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--tb=short", command, *off, f"--leaks-report={report}", *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "150", "PYTEST_ADDOPTS": "", **(environment or {})},
        capture_output=True,
        text=True,
        timeout=900,
    )
    text = done.stdout + done.stderr
    outcomes = {
        name: word
        for word, name in re.findall(r"^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|RERUN) (\S+::\S+)", text, re.MULTILINE)
    }
    result = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
    return Ran(done.returncode, text, outcomes, result)
