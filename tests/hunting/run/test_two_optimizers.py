"""Programs with two optimizers that step in turn, or one of them rarely."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.whole]

#: The second optimizer steps ten times in all, which is too few steps for a verdict.
RARE = """\
import torch

first, second = torch.nn.Linear(16, 16), torch.nn.Linear(16, 16)
adam = torch.optim.Adam(first.parameters(), lr=0.001)
sgd = torch.optim.SGD(second.parameters(), lr=0.001)
kept = []
for number in range(200):
    loss = second(first(torch.randn(8, 16))).square().mean()
    loss.backward()
    adam.step()
    adam.zero_grad()
    kept.append(loss)
    if number % 20 == 19:
        sgd.step()
        sgd.zero_grad()
        AT_ITS_STEP
"""

#: The second optimizer's backward pass needs the graph that is kept at the step of the first.
IN_TURN = """\
import torch
from torch.nn import Linear, ReLU, Sequential

class Model:
    def __init__(self):
        self.generator = Sequential(Linear(256, 256), ReLU(), Linear(256, 256))
        self.critic = Sequential(Linear(256, 64), ReLU(), Linear(64, 1))
        self.optimizers = [torch.optim.Adam(one.parameters()) for one in (self.critic, self.generator)]

    def step(self, x):
        self.fake = self.generator(x)
        self.update(0, self.critic(x).square() - self.critic(self.fake.detach()).square())
        self.update(1, self.critic(self.fake).square())
        AT_THE_END

    def update(self, number, losses):
        self.optimizers[number].zero_grad()
        losses.mean().backward()
        self.optimizers[number].step()

model = Model()
for number in range(150):
    model.step(torch.randn(256, 256))
"""


def hunted(folder: Path, source: str) -> dict[str, Any]:
    (folder / "program.py").write_text(source)
    command = [sys.executable, "-m", "gradlife", "hunt", "--json", "report.json", "program.py"]
    subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return report


def test_a_leak_found_before_a_rarer_optimizer_took_over_is_the_answer(tmp_path: Path) -> None:
    """The report was: only 6 steps were seen."""
    report = hunted(tmp_path, RARE.replace("AT_ITS_STEP", "pass"))
    [finding] = report["findings"]
    assert (report["verdict"], report["stepped_by"], finding["code"]) == ("leak", "Adam.step", "GL402")
    assert report["trouble"] == ""


def test_what_the_rarer_optimizer_s_step_empties_is_no_leak(tmp_path: Path) -> None:
    report = hunted(tmp_path, RARE.replace("AT_ITS_STEP", "kept.clear()"))
    assert (report["findings"], report["stepped_by"]) == ([], "SGD.step")


def test_a_graph_that_the_other_optimizer_s_backward_pass_needs_is_no_leak(tmp_path: Path) -> None:
    """As in pix2pix: model.fake, the last step's graph is still held."""
    assert hunted(tmp_path, IN_TURN.replace("AT_THE_END", "pass"))["findings"] == []


def test_a_graph_that_is_kept_at_the_steps_of_both_optimizers_is_a_leak(tmp_path: Path) -> None:
    report = hunted(tmp_path, IN_TURN.replace("AT_THE_END", "self.shown = self.generator(x)"))
    assert [(one["kind"], one["code"]) for one in report["findings"]] == [("retained", "GL409")]
