"""Programs whose steps run different operations: the step with the highest peak is judged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gradlife
from gradlife.peaks.session import UNLIKE

torch: Any = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.whole]


ALTERNATING = """
import sys
import gradlife, torch

def collect():
    x = torch.ones(200_000)
    double = x * 2
    (double + double).sum()

def step(number):
    torch.ones(10).sum()
    if (number + int(sys.argv[1])) % 2:
        collect()

report = gradlife.peak(step)
print(report.peak_bytes // 100_000, report.limits, *(saving.holder for saving in report.savings))
"""


@pytest.mark.parametrize("offset", [0, 1])
def test_the_higher_of_two_steps_that_alternate_is_judged(offset: int, tmp_path: Path) -> None:
    """Its holders were not known, and "nothing to save" was the verdict of a program that dragged half of its peak."""
    script = tmp_path / "alternating.py"
    script.write_text(ALTERNATING, encoding="utf-8")
    done = subprocess.run([sys.executable, script, str(offset)], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("24 () local x of collect"), done.stderr
    assert done.stdout.count("local ") == 1


def test_steps_that_never_run_as_many_operations_are_said_to_differ() -> None:
    def step(number: int) -> None:
        for _ in range(number + 1):
            torch.ones(10).sum()

    assert gradlife.peak(step).limits == (UNLIKE,)
