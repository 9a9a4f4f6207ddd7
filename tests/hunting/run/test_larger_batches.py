"""Batches that get larger in each step, and tensors that each step makes longer: only a watched step tells them apart."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.whole]

TRAINING = """\
import torch

model = torch.nn.Linear(64, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.zeros(32, 64)
for n in range(STEPS):
    x = NEXT
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
"""
BATCH = "torch.randn(64 + 16 * n, 64)"
BANK = "torch.cat([x, torch.randn(16, 64)])"
LATE_BATCH = "torch.randn(32 if n < 300 else 32 + 8 * ((n - 200) // 100), 64)"
LATE_BANK = "x if n < 300 or n % 100 else torch.cat([x, torch.randn(8, 64)])"


def hunted(folder: Path, steps: int, value: str) -> tuple[int, dict[str, Any]]:
    source = TRAINING.replace("STEPS", str(steps)).replace("NEXT", value)
    (folder / "program.py").write_text(source)
    command = [sys.executable, "-m", "gradlife", "hunt", "--json", "report.json", "program.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)
    return done.returncode, json.loads((folder / "report.json").read_text())


@pytest.mark.parametrize(("steps", "batch"), [(100, BATCH), (2000, LATE_BATCH)])
def test_a_batch_that_gets_larger_is_no_leak(tmp_path: Path, steps: int, batch: str) -> None:
    """In short programs and in late rounds no step was watched: it was GL704."""
    status, report = hunted(tmp_path, steps, batch)
    assert (status, report["verdict"], report["findings"]) == (0, "clean", [])
    assert [one["kind"] for one in report["explained"]] == ["larger in each step"]


@pytest.mark.parametrize(("steps", "bank"), [(100, BANK), (2000, LATE_BANK)])
def test_a_tensor_that_is_made_of_the_last_one_is_a_leak(tmp_path: Path, steps: int, bank: str) -> None:
    status, report = hunted(tmp_path, steps, bank)
    assert (status, [one["code"] for one in report["findings"]]) == (1, ["GL704"])
