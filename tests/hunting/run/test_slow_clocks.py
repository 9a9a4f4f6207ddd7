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


PARAMETRIZED = """\
import torch
from torch.nn.utils import parametrize

class Scale(torch.nn.Module):
    def forward(self, weight):
        return weight * 0.999

net = torch.nn.Linear(32, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(14):
    KEPT
    for _ in range(8):
        optimizer.zero_grad()
        net(torch.randn(16, 32)).square().mean().backward()
        optimizer.step()
"""


def test_modules_without_tensors_that_pile_up_once_an_epoch_are_a_leak(tmp_path: Path) -> None:
    """Each parametrization makes every later forward longer. The hunt said clean: they hold no tensor."""
    _, report = hunted(tmp_path, PARAMETRIZED, 'parametrize.register_parametrization(net, "weight", Scale())')
    assert [(one["code"], one["severity"]) for one in report["findings"]] == [("GL615", "minor")]


REPLAY = """\
import torch

class Replay:
    def __init__(self, capacity):
        self.capacity = capacity
        self.data = []

    def push(self, item):
        if len(self.data) < self.capacity:
            self.data.append(item)

replay = Replay(10_000)
net = torch.nn.Linear(32, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(100):
    replay.push(KEPT)
    if len(replay.data) > 8:
        loss = net(torch.cat(replay.data[-4:])).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_a_replay_buffer_that_fills_before_training_begins_is_explained(tmp_path: Path) -> None:
    """The first graph of the program was taken for one that the buffer keeps, which made its growth a leak."""
    status, report = hunted(tmp_path, REPLAY, "torch.randn(16, 32)")
    assert (status, report["verdict"], report["findings"]) == (0, "clean", [])
    assert "replay.data" in report["explained"][0]["what"]


MEAN_FIRST = """\
import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(2400, 16)), batch_size=16)
total = torch.zeros(16)
for (x,) in loader:
    total += x.mean(0)
net = torch.nn.Linear(16, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
kept = []
for (x,) in loader:
    loss = net(x - total / 150).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    kept.append(KEPT)
"""


def test_training_after_a_pass_that_only_read_the_data_is_hunted(tmp_path: Path) -> None:
    """The pass over the data had given its answer, and no step of the optimizer counted."""
    status, report = hunted(tmp_path, MEAN_FIRST, "loss")
    assert (status, report["verdict"], report["stepped_by"]) == (1, "leak", "SGD.step")
    assert report["findings"][0]["code"] == "GL402"


ROWS_AND_STATES = """\
import torch

class Row:
    def __init__(self, number):
        self.number = number

net = torch.nn.Linear(256, 256)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
rows, best = [], []
for epoch in range(12):
    for _ in range(30):
        optimizer.zero_grad()
        net(torch.randn(8, 256)).square().mean().backward()
        optimizer.step()
        rows.append([Row(number) for number in range(24)])
    best.append(KEPT)
"""


def test_a_minor_leak_of_each_step_does_not_end_the_search_for_a_major_one_of_each_epoch(tmp_path: Path) -> None:
    status, report = hunted(tmp_path, ROWS_AND_STATES, "{name: one.clone() for name, one in net.state_dict().items()}")
    assert (status, [one["severity"] for one in report["findings"]]) == (1, ["major", "minor"])
    assert "best" in report["findings"][0]["trace"]["text"]
    assert "rows" in report["findings"][1]["trace"]["text"]
