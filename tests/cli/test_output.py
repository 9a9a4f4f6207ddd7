from __future__ import annotations

import os
from pathlib import Path

import pytest

from gradlife.errors import OutputError
from gradlife.output import NoOutput, OutputFile, OutputStream, open_output


def test_a_path_says_where_a_report_goes() -> None:
    assert type(open_output(None)) is NoOutput
    assert type(open_output("-")) is OutputStream
    assert type(open_output("file")) is OutputFile


def test_a_file_is_there_only_once_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    with OutputFile(str(path)) as output:
        assert not path.exists()
        output.write("text é")
    assert path.read_text(encoding="utf-8") == "text é"


def test_a_run_that_fails_leaves_the_earlier_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("earlier", encoding="utf-8")
    with pytest.raises(RuntimeError), OutputFile(str(path)):
        raise RuntimeError
    assert path.read_text(encoding="utf-8") == "earlier"
    assert list(tmp_path.iterdir()) == [path]


def test_a_replaced_file_keeps_its_mode_and_a_new_one_has_the_usual_one(tmp_path: Path) -> None:
    old, new, usual = tmp_path / "old", tmp_path / "new", tmp_path / "usual"
    old.write_text("", encoding="utf-8")
    old.chmod(0o640)
    usual.write_text("", encoding="utf-8")
    for path in (old, new):
        with OutputFile(str(path)) as output:
            output.write("x")
    assert old.stat().st_mode & 0o777 == 0o640
    assert new.stat().st_mode == usual.stat().st_mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    with OutputFile(str(link)) as output:
        output.write("x")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "x"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with OutputFile(f"/dev/fd/{writer}") as output:
        output.write("x")
    os.close(writer)
    assert os.read(reader, 10) == b"x"
    os.close(reader)


def test_an_output_that_cannot_be_opened_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot write"), OutputFile(str(tmp_path / "no" / "file")):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_written_where_it_was_named_although_the_folder_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The snapshot of a script that changes its folder lay in that folder."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with OutputFile("x.glheap") as output:
        monkeypatch.chdir(tmp_path / "elsewhere")
        output.write("text")
    assert (tmp_path / "x.glheap").read_text(encoding="utf-8") == "text"
    assert [*(tmp_path / "elsewhere").iterdir()] == []
