from __future__ import annotations

import difflib
import subprocess
from dataclasses import replace
from pathlib import Path

from hypothesis import given, strategies as st

from fabricated_hunts import CLEAN, CYCLE, LOSSES, hunt
from gradlife.model.hunt import Patch
from gradlife.reports.formats.patch.hunt import edits_of, hunt_patch


def patch_of(before: list[str], after: list[str]) -> Patch:
    return Patch("".join(difflib.unified_diff(before, after, "a/train.py", "b/train.py")), (), ())


FIRST = patch_of(["a\n", "b\n"], ["a\n", "c\n"])


def test_a_patch_that_two_findings_share_is_written_once() -> None:
    report = hunt(replace(LOSSES, patch=FIRST), replace(CYCLE, patch=FIRST))
    assert hunt_patch(report) == FIRST.diff


def test_a_hunt_without_patches_writes_none() -> None:
    assert hunt_patch(CLEAN) == hunt_patch(hunt(LOSSES)) == ""


def test_git_applies_what_is_written(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("a\nb\n", encoding="utf-8")
    text = hunt_patch(hunt(replace(LOSSES, patch=FIRST)))
    subprocess.run(["git", "apply", "-"], input=text, text=True, cwd=tmp_path, check=True)
    assert (tmp_path / "train.py").read_text(encoding="utf-8") == "a\nc\n"


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "- d\n"]), max_size=12)


@given(LINES, LINES)
def test_edits_make_the_one_text_of_the_other(before: list[str], after: list[str]) -> None:
    lines = list(before)
    for edit in reversed(list(edits_of(patch_of(before, after)))):
        at = max(0, edit.line - 1)
        lines[at : at + edit.count] = edit.text.splitlines(keepends=True)
    assert lines == after
