"""Labelled programs as tests: what a label asks of each path to wrap one, and one program that goes all the path."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from benchmarks.corpus.cases import read_case
from benchmarks.corpus_tests.judging import expected, judged
from benchmarks.corpus_tests.wrapping import ALLOWED, FIXED, STEP, SWEPT_FIXED, SWEPT_STEP, write
from sources import ROOT

KEEPS = """
    from types import SimpleNamespace

    import torch

    META = dict(slug="keeps", leaks=True, leak_kind="growth", per_step_bytes=64)

    def setup():
        return SimpleNamespace(history=[])

    def step(state, i):
        state.history.append(torch.ones(16))

    def fixed_step(state, i):
        state.history.append(torch.ones(16).sum().item())
"""


def case_file(folder: Path, kind: str = "'growth'", more: str = "") -> Path:
    path = folder / "keeps.py"
    leaks = str(kind != "None")
    text = dedent(KEEPS).replace('"growth"', kind).replace("leaks=True", f"leaks={leaks}")
    path.write_text(text.replace("per_step_bytes=64", f"per_step_bytes=64{more}"), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("kind", "more", "asked"),
    [
        ("'growth'", "", ["fails", "passes", "fails", "fails", "passes"]),
        ("'cycle'", ", collectable=True", ["fails", "passes", "passes", "passes", "passes"]),
        ("'cycle'", ", collectable=False", ["fails", "passes", "fails", "fails", "passes"]),
        ("None", "", ["passes", "passes", "passes", "passes", "passes"]),
    ],
)
def test_a_label_says_which_tests_fail(tmp_path: Path, kind: str, more: str, asked: list[str]) -> None:
    """A small cycle is only reported, with --leaks."""
    case = read_case(case_file(tmp_path, kind, more))
    paths = ("step", "fixed", "allowed", "swept", "swept_fixed")
    assert [expected(case, path, (1, 0), 64) for path in paths] == asked


def test_what_a_label_does_not_say_is_counted(tmp_path: Path) -> None:
    case = read_case(case_file(tmp_path))
    assert [expected(case, "swept", counts, 64) for counts in ((0, 0), (2, 0), ())] == ["passes", "fails", ""]
    assert [expected(case, "swept_fixed", counts, 64) for counts in ((0, 0), (2, 2), ())] == ["passes", "", ""]


def test_a_process_without_a_report_is_broken(tmp_path: Path) -> None:
    found = judged(read_case(case_file(tmp_path)), "step", "fails", [], "Segmentation fault", 1.0)
    assert (found.came, found.is_right) == ("broken: Segmentation fault", False)


def test_each_path_has_a_program_of_its_own_without_its_label(tmp_path: Path) -> None:
    paths = [STEP, FIXED, ALLOWED, SWEPT_STEP, SWEPT_FIXED]
    write(read_case(case_file(tmp_path)), paths, tmp_path / "made")
    files = sorted((tmp_path / "made").glob("*.py"))
    assert len(files) == 2 * len(paths) + 2
    for file in files:
        ast.parse(file.read_text(encoding="utf-8"))
        assert "META" not in file.read_text(encoding="utf-8")


@pytest.mark.torch
@pytest.mark.whole
def test_a_program_fails_where_its_label_says_so(tmp_path: Path) -> None:
    case_file(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.corpus_tests", "--limit", "900", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "step: 1 of 1 that should fail" in done.stdout
    assert "fixed step: 1 of 1 that should pass" in done.stdout
    assert "--leaks, step: 1 of 1 that should pass" in done.stdout
