"""Loops over `enumerate` and `zip`, which keep the last item that they gave."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradlife
from gradlife.model.peak.report import Owner
from gradlife.peaks.edits.advice import Life, edits_for
from gradlife.peaks.edits.changes import changed
from gradlife.peaks.recording.holders import Holder
from gradlife.peaks.recording.variables import Kind

LOOP = """\
def train(loader):
    for i, (x, y) in enumerate(loader):
        use(x, y)
        print(i)
"""


def edit(file: Path, text: str, name: str = "enumerate") -> tuple[str, str]:
    """The advice for an iterator of a loop, and the program with it."""
    file.write_text(text)
    holder = Holder(Owner.NAMED, "", Kind.ITERATOR, name, str(file), "train", 3)
    [found] = edits_for([holder], Life((), ()))
    return found.text, changed(text, found.changes)


def test_a_loop_counts_by_itself(tmp_path: Path) -> None:
    text, after = edit(tmp_path / "train.py", LOOP)
    assert text == "count by hand at line 2: `enumerate` keeps the last item"
    assert after.splitlines() == [
        "def train(loader):",
        "    i = -1",
        "    for (x, y) in loader:",
        "        i += 1",
        "        use(x, y)",
        "        print(i)",
    ]


@pytest.mark.parametrize(
    "text",
    [
        LOOP.replace("enumerate(loader)", "enumerate(loader, 1)"),
        LOOP.replace("        print(i)", "        i = x"),
        LOOP.replace("        use(x, y)\n        print(i)", "        use(x); use(y)"),
        "def train(loader):\n    for i, x in enumerate(loader): use(x)\n",
    ],
)
def test_a_loop_that_is_not_plain_is_left_alone(tmp_path: Path, text: str) -> None:
    assert edit(tmp_path / "train.py", text) == ("loop without the `enumerate` of line 2: it keeps the last item", text)


def test_a_zip_is_told_in_words(tmp_path: Path) -> None:
    text = LOOP.replace("i, (x, y)", "x, y").replace("enumerate", "zip").replace("print(i)", "pass")
    assert edit(tmp_path / "train.py", text, "zip")[0] == "loop without the `zip` of line 2: it keeps the last item"


def numbered(is_enumerated: bool) -> None:
    """A loop whose item is deleted, but kept by `enumerate` for all that."""
    import torch

    items = (torch.ones(90_000) for _ in range(2))
    for item in enumerate(items) if is_enumerated else items:
        x = item[1] if isinstance(item, tuple) else item
        total = x.sum()
        del x, item
        work = torch.ones(80_000) + total
        del work


@pytest.mark.torch
@pytest.mark.whole
def test_what_enumerate_keeps_is_not_freed_by_deleting_the_name() -> None:
    """`del` of the name was predicted to save the item once."""
    pytest.importorskip("torch")
    before, after = gradlife.peak(lambda: numbered(True)), gradlife.peak(lambda: numbered(False))
    [saving] = before.savings
    assert saving.holder.startswith("the last item of `enumerate` in numbered (")
    assert (saving.peak_after, after.savings) == (after.peak_bytes, ())
