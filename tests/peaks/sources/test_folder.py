"""Files are shown relative to the folder of the start, and whole if the program has left it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradlife.hunting.process.start_folder import Start
from gradlife.peaks.sources.folder import short_file, shown_file


def test_a_file_is_short_where_the_program_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Start, "folder", str(tmp_path))
    file = str(tmp_path / "train.py")
    assert (short_file(file), shown_file(file), short_file("/train.py")) == ("train.py", "train.py", "/train.py")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert (short_file(file), shown_file(file)) == (file, "train.py")
    other = str(tmp_path.parent / "net.py")
    assert (short_file(other), shown_file(other)) == (other, other)
