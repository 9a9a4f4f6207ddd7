"""A small model whose blocks store a tensor at each step: six steps of an optimizer tell whether anything reads it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from gradlife.model.peak import codec
from gradlife.model.peak.report import PeakReport
from written import report_in

pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.whole]

PROGRAM = """\
import sys
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(64), nn.Linear(64, 128), nn.Linear(128, 64)
        self.debug_hidden = None

    def forward(self, x):
        {before}
        x = x + self.down(F.gelu(self.up(self.norm(x))))
        self.debug_hidden = {stored}
        return x


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(50, 64), nn.Linear(64, 50)
        self.blocks = nn.ModuleList(Block() for _ in range(4))

    def forward(self, ids):
        x = self.words(ids)
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(x).flatten(0, 1), ids.flatten())


model = Model()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(int(sys.argv[1])):
    model(torch.randint(50, (32, 32))).backward()
    optimizer.step()
    optimizer.zero_grad()
    {after}
"""

COPY = "x.detach().clone()"
COMPUTED = "torch.tanh(x.detach())"
READ_NEXT = "x = x if self.debug_hidden is None else x + 0 * self.debug_hidden.mean()"
READ_LATER = "if step == 1000: print([block.debug_hidden.norm() for block in model.blocks])"


@dataclass(frozen=True)
class Answer:
    """What the command prints, and its report."""

    lines: list[str]
    report: PeakReport

    @property
    def text(self) -> str:
        """The screen without the breaks of its lines."""
        return " ".join(line.strip() for line in self.lines)


def peak(folder: Path, steps: int, stored: str = COPY, before: str = "pass", after: str = "pass") -> Answer:
    (folder / "train.py").write_text(PROGRAM.format(stored=stored, before=before, after=after), encoding="utf-8")
    command = [sys.executable, "-m", "gradlife", "peak", "--json", "peak.json", "train.py", str(steps)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=900)
    return Answer(report_in(done.stderr).splitlines(), codec.loads((folder / "peak.json").read_text()))


def test_six_steps_show_an_attribute_that_nothing_reads(tmp_path: Path) -> None:
    found = peak(tmp_path, 6)
    [saving] = found.report.savings
    assert saving.holder == "attribute .debug_hidden of model.blocks.* (Block)"
    assert [edit.text for edit in saving.edits] == ["drop line 18: nobody reads `.debug_hidden`"]
    assert saving.is_provable
    assert "nothing reads attribute .debug_hidden of model.blocks.* (Block) (1.05 MB)" in found.text
    assert "steps: AdamW.step 4 to 6" in found.text


def test_an_attribute_whose_value_is_computed_is_a_saving_too(tmp_path: Path) -> None:
    found = peak(tmp_path, 6, COMPUTED)
    [saving] = found.report.savings
    assert [edit.text for edit in saving.edits] == ["`self.debug_hidden = None` after line 18: nobody reads it"]
    assert "nothing reads attribute .debug_hidden" in found.text


def test_an_attribute_that_the_next_step_reads_is_no_saving(tmp_path: Path) -> None:
    found = peak(tmp_path, 6, before=READ_NEXT)
    assert (found.report.savings, found.report.unread) == ((), ())
    assert found.lines[0].startswith("clean  train.py:")
    assert "debug_hidden" not in found.text


def test_an_attribute_that_other_code_may_read_is_in_the_headline(tmp_path: Path) -> None:
    found = peak(tmp_path, 6, after=READ_LATER)
    assert found.report.savings == ()
    [row] = found.report.unread
    assert row.holder == "attribute .debug_hidden of model.blocks.* (Block)"
    assert found.lines[0].startswith("unread  train.py: peak of")
    assert "is held by attribute .debug_hidden of model.blocks.* (Block), and no recorded step reads it" in found.text
    assert "clean" not in found.text
    assert "nothing to save" not in found.text


def test_of_too_few_steps_the_number_is_said(tmp_path: Path) -> None:
    found = peak(tmp_path, 5)
    assert found.report.trouble == "the program ended after 5 optimizer steps; a peak needs 6: the last 3 are recorded"
