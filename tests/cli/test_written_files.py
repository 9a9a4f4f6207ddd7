"""The files that commands write: each is named, and none replaces a file of somebody else."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from gradlife.cli.pictures import marked
from gradlife.overwriting import is_own
from gradlife.reports.values import size

Gradlife = Callable[..., tuple[int, str, str]]
FAKE = ("--backend", "fake", "fake:fake-leaky")
MINE = '{"mine": 1}\n'


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that leaves a file when it runs, in the working folder."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "train.py"
    file.write_text("open('begun', 'w').close()\n", encoding="utf-8")
    return file


def test_each_written_file_is_named_with_its_size(gradlife: Gradlife, stories: str, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("x.json", "x.html")]
    _, _, errors = gradlife("run", stories, *FAKE, "--json", str(files[0]), "--html", str(files[1]))
    assert errors.splitlines() == [f"gradlife: wrote {file}, {size(file.stat().st_size)}" for file in files]


def test_what_goes_to_standard_output_or_into_a_pipe_is_no_file(gradlife: Gradlife, stories: str) -> None:
    reader, writer = os.pipe()
    assert gradlife("list", stories, "--json", "-")[2] == ""
    assert gradlife("list", stories, "--json", f"/dev/fd/{writer}")[2] == ""
    os.close(writer)
    os.close(reader)


@pytest.mark.parametrize("name", ["victim.py", "victim.ipynb", "pyproject.toml", "kernel.CU"])
@pytest.mark.parametrize("force", [(), ("--force",)], ids=["", "forced"])
def test_a_source_file_is_never_overwritten(gradlife: Gradlife, program: Path, name: str, force: tuple[str]) -> None:
    victim = program.with_name(name)
    victim.write_text(MINE, encoding="utf-8")
    status, output, errors = gradlife("hunt", *force, "--html", name, "train.py")
    assert (status, output) == (2, "")
    assert errors == (
        f"gradlife: error: --html {name}: a source file is never overwritten (try: --html report.html {name})\n"
    )
    assert victim.read_text(encoding="utf-8") == MINE
    assert not program.with_name("begun").exists()


def test_no_report_gets_the_name_of_a_python_source(gradlife: Gradlife, program: Path) -> None:
    status, _, errors = gradlife("hunt", "--html", "other.py", "train.py")
    assert (status, program.with_name("other.py").exists()) == (2, False)
    assert errors == (
        "gradlife: error: --html other.py: a report is no Python source (try: --html report.html other.py)\n"
    )


def test_a_script_that_an_option_took_as_its_file_is_named(gradlife: Gradlife, program: Path) -> None:
    status, output, errors = gradlife("hunt", "--html", "train.py")
    assert (status, output) == (2, "")
    assert errors == (
        "gradlife: error: --html took train.py as its file: no program is left (try: --html report.html train.py)\n"
    )


def test_a_link_to_a_source_file_is_that_source_file(gradlife: Gradlife, stories: str, tmp_path: Path) -> None:
    link = tmp_path / "report.json"
    link.symlink_to(stories)
    assert gradlife("list", stories, "--json", str(link), "--force")[0] == 2


def test_a_file_of_somebody_else_is_overwritten_only_by_force(gradlife: Gradlife, stories: str, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text(MINE, encoding="utf-8")
    status, output, errors = gradlife("list", stories, "--json", str(file))
    assert (status, output) == (2, "")
    assert errors == (
        f"gradlife: error: --json {file}: the file is there and was not written by gradlife "
        "(try: --json with another name, or --force)\n"
    )
    assert file.read_text(encoding="utf-8") == MINE
    assert gradlife("list", stories, "--json", str(file), "--force")[0] == 0
    assert file.read_text(encoding="utf-8") != MINE


@pytest.mark.parametrize("option", ["--json", "--html", "--junit", "--markdown", "--sarif", "--svg"])
def test_a_report_of_gradlife_is_replaced_by_a_later_one(
    gradlife: Gradlife, stories: str, tmp_path: Path, option: str
) -> None:
    file = tmp_path / "report"
    for _ in range(2):
        assert gradlife("run", stories, *FAKE, option, str(file))[0] == 0
    assert is_own(str(file))


def test_a_snapshot_and_a_drawing_of_it_are_replaced_by_later_ones(gradlife: Gradlife, program: Path) -> None:
    for _ in range(2):
        status, _, errors = gradlife("snapshot", "-o", "heap.glheap", "train.py")
        assert (status, errors.startswith("gradlife: wrote heap.glheap, ")) == (0, True)
        assert gradlife("why", "heap.glheap", "sys", "--dot", "sys.dot")[0] == 0
    program.with_name("heap.glheap").write_text(MINE, encoding="utf-8")
    assert gradlife("snapshot", "-o", "heap.glheap", "train.py")[0] == 2


def test_an_empty_file_is_filled(gradlife: Gradlife, stories: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").touch()
    assert gradlife("list", stories, "--json", str(tmp_path / "x.json"))[0] == 0


def test_a_recording_replaces_no_other_file(gradlife: Gradlife, stories: str, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text(MINE, encoding="utf-8")
    status, _, errors = gradlife("record", "--backend", "fake", "-o", str(file), f"{stories}")
    assert (status, file.read_text(encoding="utf-8")) == (2, MINE), errors


@pytest.mark.parametrize("option", ["--findings", "--state"])
def test_a_log_of_findings_is_not_added_to_a_source_file(gradlife: Gradlife, program: Path, option: str) -> None:
    before = program.read_text(encoding="utf-8")
    status, _, errors = gradlife("hunt", "--follow", option, "train.py", "train.py")
    assert (status, errors.startswith(f"gradlife: error: {option} train.py: a source file")) == (2, True)
    assert program.read_text(encoding="utf-8") == before


@pytest.mark.whole
def test_a_leak_exported_as_a_story_replaces_its_earlier_version_and_no_other_source(
    gradlife: Gradlife, program: Path
) -> None:
    program.write_text("kept = []\n\n\ndef step():\n    kept.append(bytearray(100000))\n", encoding="utf-8")
    for _ in range(2):
        status, _, errors = gradlife("hunt", "--export-scenario", "leak.py", "--patch", "fix.patch", "train.py::step")
        assert (status, "gradlife: wrote leak.py, " in errors) == (1, True)
    assert gradlife("hunt", "--export-scenario", "train.py", "train.py::step")[0] == 2
    assert gradlife("hunt", "--json", "leak.py", "train.py::step")[0] == 2


def test_a_picture_of_graphviz_says_what_made_it(tmp_path: Path) -> None:
    """A PNG of one header and one end; a PDF may have a comment behind its end."""
    header = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + bytes(17)
    image = marked(header + b"\0\0\0\0IEND\xaeB`\x82")
    length, chunk = int.from_bytes(image[33:37]), image[37:]
    assert chunk[: length + 4] == b"tEXtSoftware\0gradlife"
    assert int.from_bytes(chunk[length + 4 : length + 8]) == zlib.crc32(chunk[: length + 4])
    for name, content in (("x.png", image), ("x.pdf", marked(b"%PDF-1.7\n" + bytes(9000) + b"%%EOF\n"))):
        (tmp_path / name).write_bytes(content)
        assert is_own(str(tmp_path / name))
