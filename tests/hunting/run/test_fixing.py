"""`gradlife hunt --fix`: the patch is tried, growth and losses are told, and with --write the file is changed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TRAIN = """\
import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
losses = []

for _ in range(60):
    loss = model(torch.randn(8, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss)
"""


def hunt(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gradlife", "hunt", *words], cwd=folder, capture_output=True, text=True, timeout=900
    )


@pytest.mark.whole
@pytest.mark.torch
def test_a_fix_is_tried_and_written(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    tried = hunt(tmp_path, "--fix", "train.py")
    lines = tried.stderr.splitlines()
    start = lines.index("Fix  train.py:12")
    assert lines[start + 1 : start + 4] == [
        "   - losses.append(loss)",
        "   + losses.append(loss.item())",
        "   (this keeps the numbers and frees the graphs)",
    ]
    assert re.fullmatch(r"   before  .+ kB \(graph included\) per step", lines[start + 4])
    assert lines[start + 5 :] == [
        "   after   0 B per step",
        "   losses  60 losses are the same",
        "fixed: gradlife hunt --fix --write train.py changes the file",
    ]
    assert (tried.returncode, (tmp_path / "train.py").read_text()) == (1, TRAIN)
    written = hunt(tmp_path, "--fix", "--write", "train.py")
    assert (written.returncode, written.stderr.splitlines()[-1]) == (0, "fixed: train.py changed")
    assert (tmp_path / "train.py").read_text() == TRAIN.replace("append(loss)", "append(loss.item())")
    assert [path.name for path in tmp_path.iterdir()] == ["train.py"]


@pytest.mark.whole
@pytest.mark.torch
def test_a_program_that_changes_its_working_folder_is_fixed_where_it_lies(tmp_path: Path) -> None:
    """Names were relative to the program's new folder: `--prove` lost the report, and the patch did not apply."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(f"import os\nos.chdir(os.path.dirname(os.path.abspath(__file__)))\n{TRAIN}")
    written = hunt(tmp_path, "--fix", "--write", "--patch", "fix.diff", "project/train.py")
    assert (written.returncode, written.stderr.splitlines()[-1]) == (0, "fixed: project/train.py changed")
    assert "Fix  project/train.py:14" in written.stderr.splitlines()
    assert "losses.append(loss.item())" in (folder / "train.py").read_text()
    assert (
        (tmp_path / "fix.diff")
        .read_text()
        .startswith("# gradlife hunt\n--- a/project/train.py\n+++ b/project/train.py\n")
    )


@pytest.mark.whole
@pytest.mark.torch
def test_a_program_that_fails_keeps_its_status_when_it_is_fixed(tmp_path: Path) -> None:
    """A CI job passed although its script had failed."""
    (tmp_path / "train.py").write_text(f"{TRAIN}raise SystemExit(7)\n")
    written = hunt(tmp_path, "--fix", "--write", "train.py")
    assert (written.returncode, written.stderr.splitlines()[-1]) == (7, "fixed: train.py changed")


def test_write_needs_fix(tmp_path: Path) -> None:
    done = hunt(tmp_path, "--write", "train.py")
    assert (done.returncode, done.stderr) == (
        2,
        "gradlife: error: --write needs --fix (try: gradlife hunt --fix --write SCRIPT)\n",
    )
