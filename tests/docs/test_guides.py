"""docs/guides: programs hold what they assert; callbacks find a leak, with a stand-in for the trainer that calls them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from page_commands import commands_of, run, write_files
from sources import ROOT

GUIDES = ROOT / "docs" / "guides"
PROGRAM = re.compile(r"<!-- run(?:: (\w+))? -->\n```python\n(.*?)```", re.DOTALL)
PROGRAMS = [
    (page.stem, *found) for page in sorted(GUIDES.glob("*.md")) for found in PROGRAM.findall(page.read_text("utf-8"))
]

LIGHTNING = """
import sys, types
for name in ("lightning", "lightning.pytorch", "lightning.pytorch.callbacks"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["lightning.pytorch.callbacks"].Callback = object
def batch(callback, number, step):
    callback.on_train_batch_start(None, None, None, number)
    step()
    callback.on_train_batch_end(None, None, None, None, number)
def end(callback):
    callback.on_fit_end(None, None)
"""
TRANSFORMERS = """
import sys, types
sys.modules["transformers"] = types.ModuleType("transformers")
sys.modules["transformers"].TrainerCallback = object
def batch(callback, number, step):
    callback.on_step_begin(None, None, None, model=None)
    step()
    callback.on_step_end(None, None, None, model=None)
def end(callback):
    callback.on_train_end(None, None, None, model=None)
"""
STAND_INS = {"": "", "lightning": LIGHTNING, "transformers": TRANSFORMERS}
TRAINING = """
import gradlife.engine as torch
reports, losses, weight = [], [], torch.ones(3, requires_grad=True)
callback = LeakWatch(reports.append)
for number in range(300):
    batch(callback, number, lambda: losses.append((weight * 2).sum()))
end(callback)
assert [report.verdict for report in reports] == ["leak"]
assert reports[0].findings[0].code == "GL402"
"""


@pytest.mark.whole
@pytest.mark.parametrize(
    ("page", "trainer", "program"), PROGRAMS, ids=[f"{row[0]}{n}" for n, row in enumerate(PROGRAMS)]
)
def test_a_program_holds_what_it_asserts(page: str, trainer: str, program: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(STAND_INS[trainer] + program + (TRAINING if trainer else ""), encoding="utf-8")
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_of_the_probes_page_runs(tmp_path: Path) -> None:
    [shown] = commands_of((GUIDES / "probes.md").read_text("utf-8"))
    assert run(shown, tmp_path).returncode == 0


@pytest.mark.whole
@pytest.mark.torch
def test_the_commands_of_the_page_on_regressions_show_what_is_worse(tmp_path: Path) -> None:
    page = (GUIDES / "regressions.md").read_text("utf-8")
    write_files(page, tmp_path)
    shown = [one for one in commands_of(page) if one.command.startswith("gradlife") or one.command.startswith("cp")]
    statuses = [run(one, tmp_path).returncode for one in shown if "bisect" not in one.command]
    assert statuses == [0, 0, 1, 0, 1, 0, 1]
    assert "### Compared with before.json" in (tmp_path / "peak.md").read_text()


@pytest.mark.whole
@pytest.mark.torch
def test_the_command_of_the_ci_page_writes_its_files(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import torch\n"
        "weight = torch.ones(3, requires_grad=True)\n"
        "optimizer = torch.optim.SGD([weight], lr=0.1)\n"
        "losses = []\n"
        "for _ in range(400):\n"
        "    loss = (weight * 2).sum()\n"
        "    loss.backward()\n"
        "    optimizer.step()\n"
        "    losses.append(loss)\n"
    )
    [shown] = commands_of((GUIDES / "ci.md").read_text("utf-8"))
    assert run(shown, tmp_path).returncode == 1
    assert {path.name for path in tmp_path.iterdir()} >= {"leaks.xml", "leaks.sarif", "summary.md"}
