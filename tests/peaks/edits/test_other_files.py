"""What other files of the program read stays as it is."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from gradlife.model.peak.report import Edit, Owner
from gradlife.peaks.edits.advice import Life, edits_for
from gradlife.peaks.recording.holders import Holder
from gradlife.peaks.recording.variables import Kind

HOOKS = """\
activation = None


def note(module, inputs, output):
    global activation
    activation = output.detach()


class Trainer:
    def step(self, x):
        self.halfway_sums = x * 2
        self.halfway_sums.sum()
        return x
"""


def edit_of_global(folder: Path) -> Edit:
    [edit] = edits_for([Holder(Owner.NAMED, "", Kind.GLOBAL, "activation", str(folder / "hooks.py"), "hooks", 6)], life)
    return edit


life = Life((), ())


def load(folder: Path, monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    """Write both files, and load the other one."""
    (folder / "hooks.py").write_text(HOOKS)
    (folder / "other.py").write_text(other)
    module = ModuleType("other")
    module.__file__ = str(folder / "other.py")
    monkeypatch.setitem(sys.modules, "other", module)


@pytest.mark.parametrize(
    ("other", "is_read"),
    [
        ("import hooks\n\ndef show():\n    print(hooks.activation)\n", True),
        ("import package.hooks as h\n\ndef show():\n    print(h.activation)\n", True),
        ("from package import hooks\n\ndef show():\n    print(getattr(hooks, 'activation'))\n", True),
        ("def show():\n    from hooks import activation\n    print(activation)\n", True),
        ("from package.hooks import *\n", True),
        ("import hooks\n\ndef show(layer):\n    print(layer.activation)\n", False),
        ("def show(hooks):\n    print(hooks['activation'])\n", False),
    ],
)
def test_a_global_that_another_file_reads_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str, is_read: bool
) -> None:
    load(tmp_path, monkeypatch, other)
    edit = edit_of_global(tmp_path)
    assert edit.text.startswith("drop line 6") is not is_read
    assert bool(edit.changes) is not is_read


@pytest.mark.parametrize("other", ["", "def show(trainer):\n    print(trainer.halfway_sums)\n"])
def test_an_attribute_that_another_file_reads_is_not_unset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    load(tmp_path, monkeypatch, other)
    file = str(tmp_path / "hooks.py")
    name = "".join(("halfway", "_sums"))  # this file is loaded, too; no other file has such a name
    holder = Holder(Owner.NAMED, "", Kind.ATTRIBUTE, name, file, "Trainer")
    [edit] = edits_for([holder], Life((), [(file, 12, "Trainer.step")]))
    assert edit.text == "`self.halfway_sums = None` after line 12"
    assert bool(edit.changes) is not bool(other)
