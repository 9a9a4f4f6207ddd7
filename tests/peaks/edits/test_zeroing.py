"""Where `zero_grad()` may move to, and where no diff is offered because something would miss the gradients."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from gradlife.model.peak.report import Edit, Owner
from gradlife.peaks.edits.advice import Life, edits_for
from gradlife.peaks.edits.changes import changed
from gradlife.peaks.recording.holders import Holder
from gradlife.peaks.recording.variables import Kind


def edit_for(folder: Path, body: str) -> tuple[Edit, list[str]]:
    """The edit for gradients whose last use is the line that ends with ``# here``, and the lines of the changed loop."""
    file = folder / "train.py"
    text = "def train(net, muon, adamw, scaler, data, log):\n    for x in data:\n" + textwrap.indent(body, " " * 8)
    file.write_text(text)
    line = next(number for number, row in enumerate(text.splitlines(), 1) if row.endswith("# here"))
    life = Life((), [(str(file), line, "train")])
    [edit] = edits_for([Holder(Owner.GRADIENT, "", Kind.GRADIENT, "grad")], life)
    return edit, [row.strip().removesuffix("  # here") for row in changed(text, edit.changes).splitlines()[2:]]


@pytest.mark.parametrize("steps", ["muon.step()  # here\nadamw.step()\n", "muon.step()\nadamw.step()  # here\n"])
def test_zeroing_for_two_optimizers_moves_below_both_steps(tmp_path: Path, steps: str) -> None:
    edit, rows = edit_for(tmp_path, f"net.zero_grad()\nnet(x).backward()\n{steps}")
    assert edit.text == "move `net.zero_grad()` from line 3 to below line 6"
    assert rows == ["net(x).backward()", "muon.step()", "adamw.step()", "net.zero_grad()"]


def test_zeroing_for_one_optimizer_moves_below_its_step(tmp_path: Path) -> None:
    _, rows = edit_for(
        tmp_path, "muon.zero_grad()\nadamw.zero_grad()\nnet(x).backward()\nmuon.step()  # here\nadamw.step()\n"
    )
    assert rows == ["adamw.zero_grad()", "net(x).backward()", "muon.step()", "muon.zero_grad()", "adamw.step()"]


def test_the_optimizer_that_a_scaler_steps_is_known(tmp_path: Path) -> None:
    _, rows = edit_for(tmp_path, "muon.zero_grad()\nnet(x).backward()\nscaler.step(muon)  # here\nscaler.step(adamw)\n")
    assert rows == ["net(x).backward()", "scaler.step(muon)", "muon.zero_grad()", "scaler.step(adamw)"]


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("muon.zero_grad()\nnet(x).backward()\nmuon.step()  # here\nif x:\n    log(net.weight.grad)\n", 7),
        ("muon.zero_grad()\nnet(x).backward()\nmuon.step()  # here\nlog(net.parameters())\n", 6),
        ("muon.zero_grad()\nnet(x).backward()\nmuon.step()  # here\nnet(x, 1).backward()\n", 6),
        ("net(x).backward()\nmuon.step()  # here\nlog(net.weight.grad)\nmuon.zero_grad()\n", 5),
    ],
)
def test_there_is_no_diff_where_something_between_uses_gradients(tmp_path: Path, body: str, line: int) -> None:
    edit, _ = edit_for(tmp_path, body)
    assert edit.text.endswith(f"; line {line} uses gradients")
    assert edit.changes == ()


def test_what_runs_before_the_step_may_use_gradients(tmp_path: Path) -> None:
    _, rows = edit_for(tmp_path, "muon.zero_grad()\nnet(x).backward()\nlog(net.parameters())\nmuon.step()  # here\n")
    assert rows == ["net(x).backward()", "log(net.parameters())", "muon.step()", "muon.zero_grad()"]


def test_zeroing_between_two_steps_stays(tmp_path: Path) -> None:
    edit, _ = edit_for(tmp_path, "muon.step()  # here\nnet.zero_grad()\nnet(x).backward()\nadamw.step()\n")
    assert edit == Edit("`optimizer.zero_grad()` directly after `optimizer.step()`")
