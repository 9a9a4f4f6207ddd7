"""Which files the runner and the pytest plugin take for scenario files."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradlife.runner.scenario_files import HEAD, imports_scenario


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("from gradlife.scenario import scenario\n", True),
        ("import gradlife.scenario\n", True),
        ("from gradlife import scenario\n", True),
        ("import os, gradlife.scenario\n", True),
        ("\ufefffrom gradlife.scenario import scenario\n", True),
        ("import torch\nfrom  gradlife.scenario import scenario\n", True),
        ("from gradlife.scenarios_of_mine import x\n", False),
        ("import gradlife  # scenario\n", False),
        ('"""It says: from gradlife.scenario import scenario."""\n', False),
        ("def late():\n    from gradlife.scenario import scenario\n", False),
        ("", False),
        ("#" * HEAD + "\nfrom gradlife.scenario import scenario\n", False),
    ],
)
def test_a_scenario_file_is_known_by_its_import(tmp_path: Path, text: str, is_one: bool) -> None:
    file = tmp_path / "kept.py"
    file.write_text(text, encoding="utf-8")
    assert imports_scenario(file) is is_one


def test_a_file_that_can_not_be_read_is_none(tmp_path: Path) -> None:
    assert imports_scenario(tmp_path / "absent.py") is False
