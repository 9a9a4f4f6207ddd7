"""Lists that a program empties at the end of an epoch which is longer than the first rounds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.whole]

TRAINER = """\
import torch

class Trainer:
    def __init__(self):
        self.model = torch.nn.Linear(16, 16)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.outputs = []

    def epoch(self, steps):
        for _ in range(steps):
            self.optimizer.zero_grad()
            loss = self.model(torch.randn(8, 16)).square().mean()
            loss.backward()
            self.optimizer.step()
            self.outputs.append(loss.detach())

    def end_epoch(self):
        self.outputs.clear()

trainer = Trainer()
"""
EPOCHS = "for _ in range(3):\n    trainer.epoch(350)\n    trainer.end_epoch()\n"
ONLY_AT_THE_END = "trainer.epoch(1000)\ntrainer.end_epoch()\n"
AFTER_A_SANITY_CHECK = "trainer.epoch(300)\ntrainer.end_epoch()\ntrainer.epoch(1200)\n"


def hunted(folder: Path, source: str) -> tuple[int, dict[str, Any]]:
    (folder / "program.py").write_text(source)
    command = [sys.executable, "-m", "gradlife", "hunt", "--json", "report.json", "program.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)
    return done.returncode, json.loads((folder / "report.json").read_text())


def test_a_list_that_each_long_epoch_empties_is_no_leak(tmp_path: Path) -> None:
    """The verdict came after 260 steps, and stayed: a leak."""
    status, report = hunted(tmp_path, TRAINER + EPOCHS)
    assert (status, report["verdict"]) == (0, "clean")
    [explained] = report["explained"]
    assert (explained["kind"], explained["what"]) == (
        "emptied now and then",
        "trainer.outputs: program.py:18 empties it, and it grows again",
    )


@pytest.mark.parametrize("steps", [ONLY_AT_THE_END, AFTER_A_SANITY_CHECK])
def test_a_list_that_grows_in_all_steps_after_the_first_epoch_is_a_leak(tmp_path: Path, steps: str) -> None:
    status, report = hunted(tmp_path, TRAINER + steps)
    [finding] = report["findings"]
    assert (status, finding["code"], finding["emptied_at"]) == (1, "GL512", "program.py:18")
