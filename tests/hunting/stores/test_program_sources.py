"""The loaded modules that count as the program's, and their sources."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from gradlife.hunting.stores.program_sources import MAX_BYTES, MAX_FILES, Source, program_sources


def loaded(monkeypatch: pytest.MonkeyPatch, name: str, file: str) -> None:
    module = types.ModuleType(name)
    module.__file__ = file
    monkeypatch.setitem(sys.modules, name, module)


def test_modules_of_the_program_are_read_and_libraries_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "own_program.py"
    path.write_text("kept = []\n", encoding="utf-8")
    loaded(monkeypatch, "own_program", str(path))
    found = {source.module: source.text for source in program_sources()}
    assert found["own_program"] == "kept = []\n"
    assert not found.keys() & {"pytest", "json", "gradlife.errors"}


def test_the_latest_import_is_read_however_many_modules_were_loaded_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a process with more modules than are read, those of the program were left out in favour of earlier ones."""
    for number in range(MAX_FILES + 5):
        (tmp_path / f"early_{number}.py").write_text("", encoding="utf-8")
        loaded(monkeypatch, f"early_{number}", str(tmp_path / f"early_{number}.py"))
    (tmp_path / "late.py").write_text("kept = []\n", encoding="utf-8")
    loaded(monkeypatch, "late", str(tmp_path / "late.py"))
    found = [source.module for source in program_sources()]
    assert len(found) == MAX_FILES
    assert "late" in found
    assert "early_0" not in found


def test_the_script_is_read_after_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports that are made at exit, as in ranks that a launcher started, named no line of the script."""
    path = tmp_path / "train.py"
    path.write_text("kept = []\n", encoding="utf-8")
    monkeypatch.setitem(sys.modules, "__main__", types.ModuleType("__main__"))
    monkeypatch.setattr(sys, "argv", [str(path), "--epochs", "3"])
    assert [source.text for source in program_sources() if source.module == "__main__"] == ["kept = []\n"]
    monkeypatch.setattr(sys, "argv", ["-c"])
    assert "__main__" not in {source.module for source in program_sources()}


def test_files_that_are_gone_or_too_long_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long_program.py"
    path.write_text("#" * 1_000_001, encoding="utf-8")
    loaded(monkeypatch, "long_program", str(path))
    loaded(monkeypatch, "gone_program", str(tmp_path / "gone.py"))
    assert not {source.module for source in program_sources()} & {"long_program", "gone_program"}


@pytest.mark.parametrize("text", ["def step(:\n", "\0", "(" * 100_000])
def test_what_is_no_python_has_no_statements(text: str) -> None:
    assert Source("broken", "broken.py", text).tree.body == []


def test_a_form_feed_ends_no_line_of_a_program() -> None:
    """`str.splitlines` counts one as a line's end; Python's parser does not, and lines below it were named wrongly."""
    source = Source("own_program", "own_program.py", "kept = []\n\x0c\ndef step(x):\n    kept.append(x)\n")
    assert source.line(4) == "kept.append(x)"


def test_a_large_library_beside_the_program_is_left_out_before_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its statements were searched too: a hunt of a small program took minutes."""
    for number in range(9):
        (tmp_path / f"part_{number}.py").write_text("#" * 900_000, encoding="utf-8")
        loaded(monkeypatch, f"large_library.part_{number}", str(tmp_path / f"part_{number}.py"))
    (tmp_path / "own.py").write_text("kept = []\n", encoding="utf-8")
    loaded(monkeypatch, "own.module", str(tmp_path / "own.py"))
    found = {source.module: len(source.text) for source in program_sources()}
    assert "own.module" in found
    assert sum(found.values()) <= MAX_BYTES
