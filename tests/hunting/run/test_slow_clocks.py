"""Leaks that happen once an epoch or a trial, where a step is faster, and the same programs without them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.whole]

#: What is kept of each epoch or trial: `kept` leaks, `result` does not.
EPOCHS = """\
import torch
from torch.utils.data import DataLoader, TensorDataset

def main():
    model = torch.nn.Linear(32, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batches = DataLoader(TensorDataset(torch.randn(160, 32), torch.randn(160, 1)), batch_size=4)
    losses = []
    for epoch in range(12):
        for x, y in batches:
            optimizer.zero_grad()
            (model(x) - y).square().mean().backward()
            optimizer.step()
        loss = model(torch.randn(64, 32)).square().mean()
        losses.append(KEPT)

main()
"""
TRIALS = """\
import torch

def trial():
    model = torch.nn.Linear(64, 64)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(30):
        optimizer.zero_grad()
        model(torch.randn(8, 64)).square().mean().backward()
        optimizer.step()
    return KEPT

results = []
for _ in range(20):
    results.append(trial())
"""


def hunted(folder: Path, source: str, kept: str) -> tuple[int, dict[str, Any]]:
    (folder / "program.py").write_text(source.replace("KEPT", kept))
    command = [sys.executable, "-m", "gradlife", "hunt", "--json", "report.json", "program.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)
    return done.returncode, json.loads((folder / "report.json").read_text())


def test_validation_losses_kept_with_their_graph_once_an_epoch_are_a_leak(tmp_path: Path) -> None:
    status, report = hunted(tmp_path, EPOCHS, "loss")
    assert (status, report["verdict"], len(report["findings"])) == (1, "leak", 1)
    assert "local variable 'losses'" in report["findings"][0]["trace"]["text"]


def test_numbers_kept_once_an_epoch_are_clean(tmp_path: Path) -> None:
    status, report = hunted(tmp_path, EPOCHS, "loss.item()")
    assert (status, report["verdict"], report["findings"]) == (0, "clean", [])


def test_models_kept_with_their_optimizers_once_a_trial_are_a_leak(tmp_path: Path) -> None:
    status, report = hunted(tmp_path, TRIALS, '{"model": model, "optimizer": optimizer}')
    assert (status, report["verdict"], len(report["findings"])) == (1, "leak", 1)
    assert "global variable 'results'" in report["findings"][0]["trace"]["text"]


def test_trials_that_keep_a_number_are_clean(tmp_path: Path) -> None:
    status, report = hunted(tmp_path, TRIALS, '{"loss": 1.0}')
    assert (status, report["verdict"], report["findings"]) == (0, "clean", [])
