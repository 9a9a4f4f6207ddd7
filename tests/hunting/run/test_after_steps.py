"""Results that are kept after the training: no round of steps sees them."""

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


#: Requests after the training: each keeps its output, or the cache of outputs has a limit.
REQUESTS = """\
class Server:
    def __init__(self):
        self.answers = {}

    def answer(self, number):
        with torch.no_grad():
            KEEP

    def average(self):
        return sum(one.mean() for one in self.answers.values())

server = Server()
for number in range(400):
    server.answer(number)
    if number % 100 == 99:
        print(server.average())
"""
LEAKS = "self.answers[number] = model(torch.randn(8, 64))"
LIMITED = f"if len(self.answers) >= 1000: self.answers.clear()\n            {LEAKS}"
FILLED = LEAKS.replace("[number]", "[number % 150]")

#: One pass of an evaluation that gathers all outputs.
GATHERED = """\
outputs = []
with torch.no_grad():
    for number in range(400):
        outputs.append(model(torch.randn(8, 64)))
print(torch.cat(outputs).mean())
"""

#: Many results of a function, without a module, that nothing reads.
UNREAD = """\
weight, kept = model.weight.detach(), []
for number in range(300):
    kept.append(torch.randn(8, 64) @ weight)
"""

#: A tensor that gets longer is in no container.
LONGER = """\
bank = torch.zeros(0, 64)
with torch.no_grad():
    for number in range(400):
        bank = torch.cat([bank, model(torch.randn(8, 64))])
"""


def test_outputs_that_each_request_keeps_after_the_training_are_a_leak(tmp_path: Path) -> None:
    """The report was: clean, nothing grew."""
    status, screen, report = hunted(tmp_path, TRAINING + REQUESTS.replace("KEEP", LEAKS))
    [finding] = report["findings"]
    assert (status, finding["arrivals"]["times"], finding["arrivals"]["steps"]) == (1, 400, 0)
    assert [one["via"] for one in finding["trace"]["steps"]][:2] == ["global variable 'server'", ".answers"]
    assert finding["per_step"]["tensors"] == pytest.approx(1.0, abs=0.02)
    assert "of 400 results after the last step" in screen


def test_many_tensors_that_nothing_reads_are_a_leak_without_rounds(tmp_path: Path) -> None:
    status, _, report = hunted(tmp_path, TRAINING + UNREAD)
    assert (status, [one["arrivals"]["times"] for one in report["findings"]]) == (1, [300])


@pytest.mark.parametrize("kept", [LIMITED, FILLED], ids=["limited", "filled"])
def test_caches_that_requests_fill_are_no_leak(kept: str, tmp_path: Path) -> None:
    assert hunted(tmp_path, TRAINING + REQUESTS.replace("KEEP", kept))[0] == 0


def test_results_that_an_evaluation_gathers_to_read_them_are_no_leak(tmp_path: Path) -> None:
    status, _, report = hunted(tmp_path, TRAINING + GATHERED)
    assert (status, report["findings"]) == (0, [])
    assert [one["kind"] for one in report["explained"]] == ["results of an evaluation"]


def test_growth_after_the_training_that_nothing_explains_has_no_verdict(tmp_path: Path) -> None:
    status, screen, _ = hunted(tmp_path, TRAINING + LONGER)
    words = "the cause was not found: each of 400 passes after the last step leaves 2.0 kB of storages"
    assert (status, words in " ".join(screen.split())) == (3, True)
