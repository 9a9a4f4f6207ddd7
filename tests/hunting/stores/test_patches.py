"""The patch of a list of losses: only where the program never reads what the list holds."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gradlife.hunting.stores.patches import patch_for
from gradlife.hunting.stores.stored_at import Evidence, stored_at
from gradlife.model.hunt import Confidence
from gradlife.model.trace import Trace
from stored_traces import CREATED, KEPT, LIST, TRAINER, owned, source, trace, variable


def diff(kept: Trace, text: str, *others: str) -> str | None:
    sources = [source(text), *(source(other, f"other{number}.py", "other") for number, other in enumerate(others))]
    patch = patch_for("GL402", kept, stored_at(kept, Evidence(CREATED), sources), sources)
    return patch.diff if patch else None


def test_a_list_of_losses_keeps_numbers_and_git_applies_the_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = diff(KEPT, TRAINER)
    assert text is not None
    Path("train.py").write_text(TRAINER)
    subprocess.run(["git", "apply", "-"], input=text.encode(), check=True)
    assert Path("train.py").read_text() == TRAINER.replace("append(loss)", "append(loss.item())")


def test_a_file_without_a_last_newline_is_changed_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "é = 1\nkept = []\nkept.append(f(é))"
    change = diff(trace(variable("kept"), LIST), text)
    assert change is not None
    Path("train.py").write_text(text)
    subprocess.run(["git", "apply", "-"], input=change.encode(), check=True)
    assert Path("train.py").read_text() == text.replace("f(é)", "f(é).item()")


@pytest.mark.parametrize(
    "line",
    [
        "torch.stack(t.losses).backward()",
        "t.losses[-1].backward()",
        "for loss in t.losses: print(loss)",
        "getattr(t, 'losses')",
        "t.losses.append(f).method()",
        "show(t.losses)",
        "show(vars(t))",
        "show(t.__dict__)",
    ],
)
def test_no_patch_where_the_program_reads_the_list(line: str) -> None:
    assert diff(KEPT, TRAINER + line + "\n") is None
    assert diff(KEPT, TRAINER, line) is None


def test_no_patch_of_what_is_no_number_or_stands_at_another_place() -> None:
    many = trace(variable("trainer"), owned("losses"), LIST, detail="float32 [8]")
    assert diff(many, TRAINER) is None
    assert diff(KEPT, TRAINER.replace("append(loss)", "append(loss if loss else 0)")) is None
    assert diff(KEPT, TRAINER.replace("self.losses.append(loss)", "self.losses += [loss]")) is None
    assert diff(KEPT, TRAINER + "\n    def again(self):\n        self.losses.append(1)\n") is not None


def test_no_patch_where_the_line_is_unsure_or_the_pattern_is_another() -> None:
    text = TRAINER.replace("self.total = self.total + loss", "self.losses.append(loss)")
    assert diff(KEPT, text) is None
    place = stored_at(KEPT, Evidence(CREATED), [source(TRAINER)])
    assert place is not None
    assert place.confidence is Confidence.SURE
    assert patch_for("GL511", KEPT, place, [source(TRAINER)]) is None
