"""The reports in docs/upstream: each has a program that answers, and its parts; the index shows what a run prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import upstream

PARTS = ["Cause", "Consequence", "Proposed fix"]
INDEX = upstream.PAGES / "index.md"
REPORTS = pytest.mark.parametrize("page", upstream.pages(), ids=lambda page: page.stem)


@REPORTS
def test_each_report_has_a_program_cause_consequence_and_fix(page: Path) -> None:
    compile(upstream.program_of(page), page.name, "exec")
    assert re.findall(r"^## (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE) == PARTS


@pytest.mark.torch
@pytest.mark.whole
@REPORTS
def test_the_index_shows_what_each_program_answers(page: Path) -> None:
    assert upstream.ask(page).line in INDEX.read_text(encoding="utf-8").splitlines()


def test_a_program_that_fails_in_another_way_is_unclear(tmp_path: Path) -> None:
    page = tmp_path / "other.md"
    page.write_text("```python\nraise SystemExit(3)\n```\n", encoding="utf-8")
    assert upstream.ask(page) == upstream.Answer("other", "unclear", "exit status 3")


def test_a_signal_means_that_the_bug_stands(tmp_path: Path) -> None:
    page = tmp_path / "crash.md"
    page.write_text("```python\nimport os\n\nos.abort()\n```\n", encoding="utf-8")
    assert upstream.ask(page) == upstream.Answer("crash", "stands", "ended by SIGABRT")
