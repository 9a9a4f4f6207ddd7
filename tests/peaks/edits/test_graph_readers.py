"""Code that did not run may need the graph of what a `with torch.no_grad():` would be put around."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from gradlife.model.peak.report import Owner
from gradlife.peaks.edits.advice import GraphMakers, Life, edits_for
from gradlife.peaks.recording.holders import Holder
from gradlife.peaks.recording.variables import Kind

#: Not as a literal: a file of the program that has the name may enter such a block.
CASTING = "_".join(["mixed", "precision"])

LOOP = """\
import torch

def train(net, head, optimizer, batches):
    total, kept = 0.0, []
    for step, (x, y) in enumerate(batches):
        loss = ce(net(x), y)
        aux = ce(head(x), y)
        {}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def edit_at(tmp_path: Path, text: str, line: int = 7, name: str = "aux") -> tuple[str, bool]:
    """The text of the edit for a graph that a line of `train` makes, and whether it has a diff."""
    file = tmp_path / f"train{len(list(tmp_path.iterdir()))}.py"
    file.write_text(text)
    stack = [(str(file), line, "train")]
    holder = Holder(Owner.SAVED, "", Kind.SAVED, name, str(file), "train", line)
    [edit] = edits_for([holder], Life(stack, stack, makers=GraphMakers([stack], [holder], frozenset())))
    return edit.text, bool(edit.changes)


@pytest.mark.parametrize(
    "later",
    [
        "print(aux)",
        "log(f'{aux:.3f}', aux.item())",
        "total += aux.detach()",
        "with torch.no_grad(): total += aux",
        "accuracy = (aux == y).float().mean(); total += accuracy",
        "mean = aux.mean(); log(mean)",
        "if aux > 3: print('large')",
        "kept.append(aux); print(sum(kept))",
        "del aux",
    ],
)
def test_values_that_are_only_shown_or_counted_need_no_graph(tmp_path: Path, later: str) -> None:
    assert edit_at(tmp_path, LOOP.format(later)) == ("`with torch.no_grad():` around line 7", True)


@pytest.mark.parametrize(
    ("later", "line"),
    [
        ("if step >= 1000: loss = loss + 0.3 * aux", 10),
        ("if step >= 1000: aux.backward()", 8),
        ("if step % 8 == 7: scaler.scale(aux).backward()", 8),
        ("if step % 8 == 7: torch.autograd.grad(aux, x)", 8),
        ("part = aux * 2; parts = [part]; loss = loss + sum(parts) if step > 9 else loss", 10),
        ("kept.append(aux); loss = sum(kept) if step % 8 == 7 else loss", 10),
        ("total += aux; loss = total if step % 8 == 7 else loss", 10),
        ("self.aux = aux", 8),
        ("if step == 9: return aux", 8),
        ("later = lambda: aux", 8),
    ],
)
def test_values_that_a_rarer_backward_pass_reads_get_no_diff(tmp_path: Path, later: str, line: int) -> None:
    text = "`with torch.no_grad():` around line 7 if no backward pass reads it: what line {} gets may need it"
    assert edit_at(tmp_path, LOOP.format(later)) == (text.format(line), False)


def test_functions_of_the_program_may_go_back(tmp_path: Path) -> None:
    text = LOOP.format("if step % 8 == 7: update(aux)") + "\ndef update(value):\n    value.backward()\n"
    assert edit_at(tmp_path, text)[1] is False
    assert edit_at(tmp_path, text.replace("value.backward()", "print(value)"))[1] is True


def test_a_value_of_the_next_round_counts(tmp_path: Path) -> None:
    early = LOOP.replace("        loss = ce", "        if step: total = total + aux\n        loss = ce")
    assert edit_at(tmp_path, early.format("loss = loss + total if step > 9 else loss"), 8)[1] is False
    assert edit_at(tmp_path, early.format("pass"), 8)[1] is True


@pytest.mark.parametrize(("release", "has_diff"), [("2.6.0+cu124", False), ("2.13.0", True), ("", False)])
def test_kept_copies_in_low_precision_get_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str, has_diff: bool
) -> None:
    torch = ModuleType("torch")
    vars(torch)["__version__"] = release
    monkeypatch.setitem(sys.modules, "torch", torch)
    text = LOOP.replace("def train", f"@{CASTING}\ndef train").format("print(aux)")
    assert edit_at(tmp_path, text, 8)[1] is has_diff
    assert edit_at(tmp_path, LOOP.format("print(aux)"))[1] is True
