"""Programs whose steps get larger: a longer sequence in each, whose graph is alive at the snapshots."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.whole]

CURRICULUM = """\
import torch

cell = torch.nn.GRUCell(8, 16)
optimizer = torch.optim.Adam(cell.parameters())
kept = []
for n in range(120):
    state = torch.zeros(4, 16)
    for x in torch.randn(4 + n, 4, 8):
        state = cell(x, state)
    loss = state.square().mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=RETAINS)
    optimizer.step()
    KEEP
"""


def hunted(folder: Path, keep: str, retains: bool) -> tuple[int, dict[str, Any]]:
    (folder / "program.py").write_text(CURRICULUM.replace("RETAINS", str(retains)).replace("KEEP", keep))
    command = [sys.executable, "-m", "gradlife", "hunt", "--json", "report.json", "program.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)
    return done.returncode, json.loads((folder / "report.json").read_text())


@pytest.mark.parametrize("retains", [False, True])
def test_longer_sequences_are_no_leak(tmp_path: Path, retains: bool) -> None:
    """The cause of the growth was not found."""
    status, report = hunted(tmp_path, "pass", retains)
    assert (status, report["verdict"], report["findings"], report["trouble"]) == (0, "clean", [], "")
    assert "larger steps" in [one["kind"] for one in report["explained"]]


@pytest.mark.parametrize(
    ("keep", "code"), [("kept.append(loss)", "GL402"), ("kept.append(state.detach().clone())", "GL512")]
)
def test_what_is_kept_beside_them_is_a_leak(tmp_path: Path, keep: str, code: str) -> None:
    status, report = hunted(tmp_path, keep, False)
    assert (status, [one["code"] for one in report["findings"]]) == (1, [code])
