"""A slice of `make host`: programs see the same bare and under gradlife, but for the known differences."""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: Pairs of programs and doors: those that saw the most.
SLICE = [
    ("at_fork_functions,child_signals,fork_by_hand", "hunt,follow"),
    ("threads,thread_trace_hooks,umask", "hunt,lines"),
    ("main_guard,arguments,limits", "peak,snapshot"),
    ("working_folder,immediate_exit,warnings_once", "hunt"),
    ("trace_function,profile_function", "hunt"),
    ("immediate_exit", "snapshot"),
    ("exit_order,logging", "pytest"),
    pytest.param(
        "threads,logging,asyncio",
        "attach",
        marks=pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed"),
    ),
]


@pytest.mark.whole
@pytest.mark.parametrize(("programs", "doors"), SLICE)
def test_programs_see_the_same_under_gradlife(programs: str, doors: str) -> None:
    words = ["-m", "benchmarks.hardening.host", "--programs", programs, "--doors", doors]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=900)
    runs = len(programs.split(",")) * len(doors.split(","))
    assert done.stdout.startswith(f"{runs} runs compared, 0 with unknown differences"), done.stdout + done.stderr
    assert done.returncode == 0


def test_each_known_difference_is_in_the_documentation() -> None:
    known = runpy.run_path(str(ROOT / "benchmarks/hardening/host/known.py"))
    reasons = {reason for _, reason in [*known["ALWAYS"].values(), *known["SINGLE"].values()]}
    text = " ".join((ROOT / "docs/robustness.md").read_text(encoding="utf-8").split())
    assert [reason for reason in sorted(reasons) if reason not in text] == []
