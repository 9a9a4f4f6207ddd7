"""`gradlife merge FOLDER`: one report of several ranks, on a screen, as files, with one exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabricated_hunts import CLEAN, EVERYTHING, LEAKING
from gradlife.cli import main
from gradlife.model import hunt_codec
from gradlife.model.hunt import HuntReport


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def leave(folder: Path, *reports: HuntReport) -> str:
    """A report of each rank."""
    for rank, report in enumerate(reports):
        (folder / f"rank-{rank}.json").write_text(hunt_codec.dumps(report))
    return str(folder)


def test_a_leak_on_one_rank_is_found_named_and_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["merge", leave(folder, CLEAN, LEAKING)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "LEAK  train.py, rank 1 of 2, grows by 65.5 kB per step over 21 steps"
    assert lines[3] == "   rank 1 of 2 only, 65.5 kB per step"


def test_the_first_screen_has_15_lines_however_much_was_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["merge", leave(folder, CLEAN, EVERYTHING, LEAKING), "--world-size", "9"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 15
    assert "Note: ranks 3-8 left no files" in lines
    assert max(map(len, lines)) <= 80


def test_the_full_report_has_a_row_for_each_rank(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["merge", "--full", leave(folder, CLEAN, LEAKING)])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["0", "clean", "finished", "0", "24", "0", "B", "-", "-"] in lines
    assert ["1", "leak", "finished", "1", "24", "65.5", "kB", "-", "-"] in lines


def test_files_have_the_ranks(folder: Path, tmp_path: Path) -> None:
    files = {name: tmp_path / f"report.{name}" for name in ("json", "html", "markdown")}
    options = [word for name, path in files.items() for word in (f"--{name}", str(path))]
    assert main(["merge", *options, leave(folder, CLEAN, LEAKING)]) == 1
    document = json.loads(files["json"].read_text())
    assert (document["format"], document["exit_status"]) == ("gradlife.hunt/2", 1)
    assert [row["ranks"] for row in document["ranks"]] == ["0", "1"]
    assert "| 1 | leak | finished | 1 | 24 | 65.5 kB | - | - |" in files["markdown"].read_text()
    page = files["html"].read_text()
    assert "How each rank ended" in page
    assert "rank 1 of 2 only, 65.5 kB per step" in page


def test_clean_ranks_are_clean(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["merge", leave(folder, CLEAN, CLEAN)]) == 0
    assert capsys.readouterr().out.startswith("clean  train.py: nothing grew on any of 2 ranks")


def test_a_folder_that_is_not_there_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["merge", str(tmp_path / "nowhere")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


HOSTILE = {
    "nested": "[" * 100_000,
    "list": "[]",
    "numbers": '{"rank": "x", "world_size": 1e999, "pid": [], "started": 3, "kind": 1, "status": {}, "files": 10, "bytes": -1}',
    "text": '"\x1b[31m\u202e"',
    "nothing": "",
    "text of a report": '{"format": "gradlife.hunt/1\\n::error::x", "findings": 3}',
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_no_file_of_a_folder_ends_the_merge(folder: Path, capsys: pytest.CaptureFixture[str], content: str) -> None:
    """A file of a worker that was nested too deep ended it with a RecursionError."""
    for rank in range(2):
        place = folder / f"rank-{rank}"
        worker = place / "workers" / "00000000-0"
        worker.mkdir(parents=True)
        for file in ("member.json", "result.json", "interim", "shared_memory.json"):
            (place / file).write_text(content)
        for file in ("who.json", "writer.json", "memory.json", "report.json", "answer"):
            (worker / file).write_text(content)
        (place / "log").write_text(
            f"peak {10**30}\npeak x\nsnapshot 1 nan inf\nsnapshot {10**400} 1 1\n{content[:100]}\n"
        )
        (place / "end").write_text(hunt_codec.dumps(CLEAN))
    assert main(["merge", "--full", str(folder)]) in (0, 3)
    output, errors = capsys.readouterr()
    assert errors == ""
    assert all(line.isprintable() for line in output.splitlines())
