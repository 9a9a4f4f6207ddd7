"""Files are named relative to the folder in which the program started, wherever it goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradlife.hunting.process.start_folder import VARIABLE, Start, environment, is_below_start
from gradlife.hunting.snapshots.creation_sites import short_path


def test_names_stay_the_same_when_the_working_folder_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.setattr(Start, "folder", str(tmp_path))
    for folder in (tmp_path, project, Path("/")):
        monkeypatch.chdir(folder)
        names = [short_path(str(file)) for file in (project / "train.py", tmp_path.parent / "net.py", "train.py")]
        assert names == ["project/train.py", "net.py", "train.py"]
        assert [is_below_start(str(file)) for file in (project / "train.py", tmp_path.parent / "net.py")] == [
            True,
            False,
        ]


def test_the_command_names_the_folder_to_the_processes_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Start, "folder", Start.folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, environment()[VARIABLE])
    monkeypatch.chdir("/")
    Start.note()
    assert Start.folder == str(tmp_path)
