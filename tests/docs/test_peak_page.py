"""docs/fixing/peak.md: every command is run on the page's own programs, and gives what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from page_commands import commands_of, run, write_files
from sources import ROOT

PAGE = (ROOT / "docs" / "fixing" / "peak.md").read_text(encoding="utf-8")


@pytest.mark.torch
@pytest.mark.whole
def test_the_program_is_found_and_its_fix_has_nothing_to_save(tmp_path: Path) -> None:
    write_files(PAGE, tmp_path)
    assert [run(shown, tmp_path).returncode for shown in commands_of(PAGE)] == [1, 0, 0]
