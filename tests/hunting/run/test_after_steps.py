"""Results that are kept with their graphs after the training: no round sees them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.whole]

#: The last epoch's losses are kept on purpose: they were made before the last step.
TRAINING = """\
import torch

def train():
    model = torch.nn.Linear(64, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(3):
        losses = []
        for _ in range(20):
            optimizer.zero_grad()
            loss = model(torch.randn(32, 64)).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss)
    return model, losses

class Evaluation:
    def __init__(self):
        self.rows = []

    def add(self, number):
        self.rows.append({"number": number, "output": model(torch.randn(256, 64))})

model, losses = train()
evaluation = Evaluation()
"""
KEPT = "for number in range(50):\n    evaluation.add(number)\n"
CLEAN = """\
with torch.no_grad():
    for number in range(50):
        evaluation.add(number)
mean = sum(model(torch.randn(8, 64)).mean().item() for _ in range(50)) / 50
parts = [model(torch.randn(8, 64)) for _ in range(8)]
"""


def hunted(folder: Path, source: str) -> tuple[int, str, dict[str, Any]]:
    (folder / "program.py").write_text(source)
    command = [sys.executable, "-m", "gradlife", "hunt", "--json", "report.json", "program.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)
    return done.returncode, done.stdout + done.stderr, json.loads((folder / "report.json").read_text())


def test_outputs_kept_with_their_graphs_after_the_training_are_a_leak(tmp_path: Path) -> None:
    """The report was: clean, nothing grew."""
    status, screen, report = hunted(tmp_path, TRAINING + KEPT)
    [finding] = report["findings"]
    assert (status, finding["code"], finding["arrivals"]["times"], finding["arrivals"]["steps"]) == (1, "GL402", 50, 0)
    assert [one["via"] for one in finding["trace"]["steps"]][:2] == ["global variable 'evaluation'", ".rows"]
    assert "of 50 results after the last step" in screen


def test_outputs_without_graphs_and_those_of_the_last_epoch_are_no_leak(tmp_path: Path) -> None:
    assert hunted(tmp_path, TRAINING + CLEAN)[0] == 0
