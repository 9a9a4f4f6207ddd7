"""Scenario files are recognised by their imports, without running them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradlife.pytest_plugin.scenarios.recognition import is_of_stories


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("kept.py", True), ("test_kept.py", False), ("conftest.py", False), ("_kept.py", False), ("kept.txt", False)],
)
def test_pytests_own_files_are_none(tmp_path: Path, name: str, is_one: bool, pytestconfig: pytest.Config) -> None:
    file = tmp_path / name
    file.write_text("from gradlife.scenario import scenario\n", encoding="utf-8")
    assert is_of_stories(file, pytestconfig) is is_one
