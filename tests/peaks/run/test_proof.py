"""`gradlife peak --prove`: the program is run again with the edits that have a diff."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fabricated_peaks import REPORT, SAVING
from gradlife.hunting.process.settings import Settings
from gradlife.model.peak import codec
from gradlife.model.peak.report import Edit, LineChange, Proof
from gradlife.program.peak.proof import compared, edited_sources, proven
from gradlife.reports.peak.words import proof_words

BEFORE = replace(REPORT, losses=("0x1.8p+1", "0x1.4p+1"), provable_peak_bytes=105_231_444)
AFTER = replace(REPORT, peak_bytes=105_231_444, savings=(), losses=("0x1.8p+1", "0x1.4p+1", "0x1p+1"))


def test_losses_are_equal_to_the_last_bit() -> None:
    assert compared(BEFORE, AFTER) == Proof(1, 121_615_444, 105_231_444, 105_231_444, 2, losses_equal=True)
    other = replace(AFTER, losses=("0x1.8p+1", "0x1.40001p+1"))
    assert not compared(BEFORE, other).losses_equal


def test_an_edited_program_that_leaves_no_report_proves_nothing() -> None:
    assert compared(BEFORE, None).trouble == "the edited program left no report"
    assert compared(BEFORE, replace(AFTER, peak_bytes=0, trouble="it failed")).trouble == "it failed"


def test_an_edited_program_that_fails_after_its_peak_proves_nothing() -> None:
    failed = replace(AFTER, script_status=1, trouble="the program ended with TypeError")
    assert compared(BEFORE, failed).trouble == "the program ended with TypeError"
    assert compared(BEFORE, replace(AFTER, script_status=3)).trouble == "the edited program ended with exit status 3"
    assert compared(replace(BEFORE, script_status=3), replace(AFTER, script_status=3)).trouble == ""


def test_without_a_diff_nothing_is_run_again() -> None:
    words_only = replace(SAVING, edits=(Edit("keep less"),))
    report = proven(replace(BEFORE, savings=(words_only,)), Settings("train.py"), lambda settings: None)
    assert report.proof is not None
    assert proof_words(report.proof) == "not proven: no saving has a diff that is known to be safe"


def test_all_edits_of_one_file_are_made_at_once(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("a\nb\nc\n")
    edits = [Edit("", str(file), at, (LineChange(at + 1, at, ("new",)),)) for at in (1, 3)]
    report = replace(BEFORE, savings=tuple(replace(SAVING, edits=(edit,)) for edit in edits))
    assert edited_sources(report) == {str(file): "a\nnew\nb\nc\nnew\n"}


def test_the_words_of_a_proof() -> None:
    proof = Proof(2, 20_000_000, 15_000_000, 15_100_000, 12, losses_equal=True)
    assert proof_words(proof) == "proven with 2 edits: 20 MB to 15 MB, predicted 15.1 MB; 12 losses equal"
    assert proof_words(replace(proof, losses_equal=False)).endswith("; 12 losses NOT equal")
    assert proof_words(replace(proof, losses=0)).endswith("; no loss to compare")


TRAIN = """\
import torch
import torch.nn.functional as F
import model


def main():
    optimizer = torch.optim.SGD(model.net.parameters(), 0.1)
    for step in range(14):
        logits = model.net(torch.randn(128, 16))
        loss = F.cross_entropy(logits, torch.randint(4000, (128,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
"""

MODEL = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.head = torch.nn.Linear(16, 64), torch.nn.Linear(64, 4000)

    def forward(self, x):
        self.last = self.up(x).repeat(8, 8)
        return self.head(self.last[:128, :64])


net = Net()
"""


@pytest.mark.torch
@pytest.mark.whole
def test_edits_of_a_script_and_of_a_module_are_proven(tmp_path: Path) -> None:
    """The program draws its numbers without a seed: both runs get the same."""
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "model.py").write_text(MODEL)
    words = ["peak", "--prove", "--json", "out.json", "train.py"]
    command = [sys.executable, "-m", "gradlife", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    report = codec.loads((tmp_path / "out.json").read_text())
    assert report.proof is not None
    assert report.proof.edits >= 1
    assert report.proof.peak_after == report.provable_peak_bytes < report.peak_bytes
    assert (report.proof.losses, report.proof.losses_equal) == (14, True)
    assert "proven with" in done.stderr
    assert (tmp_path / "train.py").read_text() == TRAIN


def test_without_savings_there_is_nothing_to_prove() -> None:
    """A clean report ended with "not proven" in red once."""
    report = proven(replace(BEFORE, savings=()), Settings("train.py"), lambda settings: None)
    assert report.proof is None
