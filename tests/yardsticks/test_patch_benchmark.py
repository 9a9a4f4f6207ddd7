"""The benchmark of stored lines and patches: its labels, and what it counts as right."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks.patches.__main__ import Row, judged, known_rows, sums
from benchmarks.patches.jobs import Job
from benchmarks.patches.labels import PROGRAMS, is_right
from benchmarks.patches.trial import tried
from benchmarks.programs.planted import FOLDER


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_labelled_statement_stands_once_in_its_program(name: str) -> None:
    lines = (FOLDER / f"{name.partition('-')[0]}.py").read_text().splitlines()
    assert sum(is_right(line.strip(), PROGRAMS[name]) for line in lines) == 1


def test_a_wrong_line_counts_unless_it_is_said_to_be_unsure() -> None:
    accepted = ("self.losses.append(",)
    assert judged("self.losses.append(loss)", "sure", accepted) == "right"
    assert judged("self.total = loss", "sure", accepted) == "wrong"
    assert judged("self.total = loss", "unsure", accepted) == "unsure"


@pytest.mark.parametrize(
    ("new", "said"),
    [("print(2)", "computes something else: 1 | 2"), ("raise SystemExit(1)", "computes something else")],
)
def test_a_patch_that_changes_what_is_printed_is_wrong(tmp_path: Path, new: str, said: str) -> None:
    (tmp_path / "train.py").write_text("print(1)\n")
    diff = f"--- a/train.py\n+++ b/train.py\n@@ -1 +1 @@\n-print(1)\n+{new}\n"
    assert tried(Job("case", tmp_path, "train.py", ()), diff, 900).startswith(said)


def test_a_patch_that_git_does_not_take_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print(3)\n")
    diff = "--- a/train.py\n+++ b/train.py\n@@ -1 +1 @@\n-print(1)\n+print(2)\n"
    assert tried(Job("case", tmp_path, "train.py", ()), diff, 900).startswith("git apply: ")


def test_a_stopped_run_goes_on_and_its_shares_are_of_all_rows(tmp_path: Path) -> None:
    rows = [Row("one", "right", "", "fixed", "", 1.0), Row("two", "none", "", "none", "", 1.0)]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(f"{json.dumps(asdict(row))}\n" for row in rows))
    assert list(known_rows(str(file)).values()) == rows
    assert known_rows(None) == {}
    assert [*sums(rows)][:2] == [
        "stored line right: 1 of 2 (50%; asked for 95%); unsure 0, none 1, wrong 0",
        "patches given: 1 of 2 (50%; asked for 70%)",
    ]
