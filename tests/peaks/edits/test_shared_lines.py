"""Edits of statements that share their line with others: by the column of what a frame runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradlife.model.peak.report import LineChange, Owner
from gradlife.peaks.edits.advice import Life, edits_for
from gradlife.peaks.edits.changes import changed
from gradlife.peaks.recording.holders import Holder
from gradlife.peaks.recording.variables import Kind
from gradlife.peaks.sources.line import Line
from gradlife.peaks.sources.program import function_of, source_of, spot_at

TEXT = """\
import torch

def step(net, optimizer, x, y):
    x = x * 2; logits = net(x); loss = criterion(logits, y); loss.backward()
    if x.any(): loss = criterion(logits, y); loss.backward()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    kept.append(x); return 1  # "é; é"

def measured(net, x):
    logits = net(x)
    measure = lambda: criterion(logits)
    loss = measure()
    loss.backward()
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(TEXT, encoding="utf-8")
    return str(tmp_path / "train.py")


def row_after(file: str, name: str, line: int, piece: str, function: str = "step") -> tuple[str, str]:
    """The text of the edit that releases a name after what runs at a piece of a line, and what it makes of the line."""
    column = len(TEXT.splitlines()[line - 1].partition(piece)[0].encode())
    holder = Holder(Owner.NAMED, "", Kind.LOCAL, name, file, function, line)
    [edit] = edits_for([holder], Life((), [(file, Line.at(line, column), function)]))
    return edit.text, changed(TEXT, edit.changes).splitlines()[line - 1].strip()


def test_a_name_is_deleted_between_two_statements_of_a_line(file: str) -> None:
    assert row_after(file, "x", 4, "net(x)") == (
        "`del x` after `logits = net(x)` in line 4; line 5 mentions `x` later",
        TEXT.splitlines()[3].strip(),
    )
    text, row = row_after(file, "logits", 5, "criterion(")
    assert text == "`del logits` after `loss = criterion(logi...` in line 5"
    assert row == "if x.any(): loss = criterion(logits, y); del logits; loss.backward()"


def test_what_the_same_line_reads_later_is_not_deleted(file: str) -> None:
    text, row = row_after(file, "logits", 4, "net(x)")
    assert text == "`del logits` after `logits = net(x)` in line 4; line 4 mentions `logits` later"
    assert row == TEXT.splitlines()[3].strip()


def test_a_name_that_a_lambda_reads_is_not_deleted_above_the_call_of_the_lambda(file: str) -> None:
    """The line of the lambda is the last that mentions the name, but the call below it reads it."""
    text, _ = row_after(file, "logits", 12, "measure()", "measured")
    assert text == "`del logits` after line 12, and what holds the function of line 11, which reads it"


def test_zeroing_gradients_moves_within_its_line(file: str) -> None:
    holder = Holder(Owner.GRADIENT, "", Kind.GRADIENT, "grad")
    column = TEXT.splitlines()[5].index("optimizer.step")
    text = TEXT.partition("\ndef measured")[0].replace("; loss.backward()\n", "\n")
    Path(file).write_text(text)
    [edit] = edits_for([holder], Life((), [(file, Line.at(6, column), "step")]))
    assert edit.text == "move `optimizer.zero_grad()` from line 6 to below `optimizer.step()` in line 6"
    assert changed(text, edit.changes).splitlines()[5] == (
        "    loss.backward(); optimizer.step(); optimizer.zero_grad()"
    )


def test_a_statement_is_found_by_its_column_in_bytes(file: str) -> None:
    source = source_of(file)
    assert source is not None
    function = function_of(source, "step")
    assert function is not None
    columns = [TEXT.splitlines()[3].index(piece) for piece in ("x * 2", "net(x)", "criterion", "loss.backward")]
    spots = [spot_at(function, Line.at(4, column)) for column in columns]
    assert [spot.index for spot in spots if spot is not None] == [0, 1, 2, 3]
    unknown = spot_at(function, Line.at(4, -1))
    assert unknown is not None
    assert unknown.index == 0


def test_changes_of_one_row_are_all_made() -> None:
    row = "a = f(x); b = g(a); c = h(b)"
    changes = [
        LineChange(1, 1, ("a = f(x); b = g(a); del a; c = h(b)",)),
        LineChange(1, 1, ("a = f(x); del x; b = g(a); c = h(b)",)),
        LineChange(1, 1, ("a = f(x); b = g(a); c = h(b); del b",)),
        LineChange(2, 1, ("done()",)),
    ]
    assert changed(f"{row}\n", changes) == "a = f(x); del x; b = g(a); del a; c = h(b); del b\ndone()\n"
