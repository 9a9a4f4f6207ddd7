"""docs/fixing: every command is run on the page's own programs, and gives what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from page_commands import commands_of, run, write_files
from sources import ROOT

PAGE = (ROOT / "docs" / "fixing" / "index.md").read_text(encoding="utf-8")

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("fixing")
    write_files(PAGE, made)
    return made


@pytest.mark.whole
@pytest.mark.long
def test_each_case_is_found_and_each_fix_proved(folder: Path) -> None:
    """In the page's order: a later command reads what an earlier one wrote."""
    statuses = [run(shown, folder).returncode for shown in commands_of(PAGE)]
    assert statuses == [1, 0, 1, 1, 1, 1, 0]
