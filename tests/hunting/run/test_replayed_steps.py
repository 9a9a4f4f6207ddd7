"""A training whose step was captured in a CUDA graph: after the warm-up only replays run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.whole,
    pytest.mark.skipif(torch.backends.cuda.is_built(), reason="its graphs cannot be made without a device"),
]

#: The graph is torch's, apart from what it does on the device.
REPLAYS = """\
import torch

class Device:
    def capture_begin(self, **options):
        pass

    def capture_end(self):
        pass

    def replay(self):
        pass

class Graph(torch.cuda.CUDAGraph, Device):
    _tracker = None

    def __new__(cls):
        return object.__new__(cls)

    def __init__(self):
        pass

net = torch.nn.Linear(16, 4)
optimizer = torch.optim.AdamW(net.parameters(), lr=0.001)
graph = Graph()
losses = []

def compute():
    loss = net(torch.ones(8, 16)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.detach()

def train_step():
    graph.replay()
    losses.append(loss.clone())
    AFTER

for _ in range(3):
    compute()
graph.capture_begin()
loss = compute()
graph.capture_end()
for _ in range(120):
    train_step()
"""


def reported(folder: Path, command: str, source: str) -> dict[str, Any]:
    (folder / "program.py").write_text(source)
    line = [sys.executable, "-m", "gradlife", command, "--json", "report.json", "program.py"]
    subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=900)
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return report


def test_what_is_kept_at_each_replay_is_a_leak(tmp_path: Path) -> None:
    """The report was: only 1 step was seen."""
    report = reported(tmp_path, "hunt", REPLAYS.replace("AFTER", "pass"))
    [finding] = report["findings"]
    assert (report["verdict"], report["stepped_by"], finding["code"]) == ("leak", "AdamW.step", "GL512")
    assert finding["reason"] == "`losses` has 109 items: each step appends to it, and nothing removes any."
    assert finding["stored_at"]["source"] == "losses.append(loss.clone())"


def test_what_is_released_before_the_next_replay_is_no_leak(tmp_path: Path) -> None:
    report = reported(tmp_path, "hunt", REPLAYS.replace("AFTER", "losses.clear()"))
    assert (report["verdict"], report["stepped_by"], report["findings"]) == ("clean", "AdamW.step", [])


def test_a_peak_counts_no_replays(tmp_path: Path) -> None:
    """They allocate nothing that it could record."""
    report = reported(tmp_path, "peak", REPLAYS.replace("AFTER", "losses.clear()"))
    assert report["trouble"].startswith("the program ended after 4 optimizer steps; a peak needs 6")
