"""`gradlife open` of a file that `torch.cuda.memory._dump_snapshot` wrote."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from allocator_files import MB, NATIVE, block, frame, out_of_memory, segment, snapshot
from sources import ROOT

Gradlife = Callable[..., tuple[int, str, str]]


def written(folder: Path, content: Any) -> str:
    path = folder / "oom.pickle"
    path.write_bytes(pickle.dumps(content))
    return str(path)


def training(folder: Path) -> dict[str, Any]:
    """A device full of the outputs of one line, with free memory in pieces."""
    (folder / "train.py").write_text("keep = []\nkeep.append(model(x))\n")
    line = frame(str(folder / "train.py"), 2, "<module>")
    pieces = [
        segment(n << 30, block(12 * MB, "active_allocated", *NATIVE, line), block(8 * MB, "inactive")) for n in range(8)
    ]
    workspace = block(4 * MB, "active_allocated", *NATIVE, frame("??", 0, "at::cuda::getNewWorkspace"))
    return snapshot(
        *pieces,
        segment(9 << 30, workspace, block(MB, "active_awaiting_free", *NATIVE, line)),
        traces=([out_of_memory(20 * MB, MB, *NATIVE, line)],),
    )


def test_the_guide_shows_the_report_of_an_out_of_memory(
    gradlife: Gradlife, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    written(tmp_path, training(tmp_path))
    status, output, _ = gradlife("open", "oom.pickle")
    assert (status, output.splitlines()) == (0, shown_on_the_page())


def shown_on_the_page() -> list[str]:
    """The report that the guide shows."""
    page = (ROOT / "docs" / "guides" / "devices.md").read_text("utf-8")
    return page.partition("$ gradlife open oom.pickle\n```\n```text\n")[2].partition("\n```")[0].splitlines()


def test_json_has_every_owner(gradlife: Gradlife, tmp_path: Path) -> None:
    status, output, _ = gradlife("open", written(tmp_path, training(tmp_path)), "--json", "-")
    document = json.loads(output)
    assert (status, document["format"]) == (0, "gradlife.device/1")
    (device,) = document["devices"]
    assert sum(owner["bytes"] for owner in device["owners"]) == device["used_bytes"] + device["waiting_bytes"]


def test_every_owner_is_shown_with_all(gradlife: Gradlife, tmp_path: Path) -> None:
    lines = [block(MB, "active_allocated", frame(f"/a/train{number}.py", number)) for number in range(20)]
    path = written(tmp_path, snapshot(segment(0, *lines)))
    assert "10 owners more: 10.5 MB, --all" in gradlife("open", path)[1]
    assert gradlife("open", path, "--all")[1].count(" a/train") == 20


def test_a_pickle_of_something_else_is_refused_with_its_name(gradlife: Gradlife, tmp_path: Path) -> None:
    path = written(tmp_path, {"segments": 3})
    status, _, errors = gradlife("open", path)
    assert status == 2
    assert errors.startswith(
        f"gradlife: error: {path} has no state of a caching allocator: TypeError: int where a list "
    )


def test_a_pickle_that_calls_something_is_refused(gradlife: Gradlife, tmp_path: Path) -> None:
    (tmp_path / "evil.pickle").write_bytes(b"\x80\x02cposix\nsystem\nX\x02\x00\x00\x00id\x85R.")
    status, output, error = gradlife("open", str(tmp_path / "evil.pickle"))
    assert (status, output) == (2, "")
    assert "it asks for posix.system; only plain containers are read" in error


def test_questions_about_objects_are_refused(gradlife: Gradlife, tmp_path: Path) -> None:
    status, _, error = gradlife("open", written(tmp_path, snapshot()), "--why", "Tensor")
    assert status == 2
    assert "has blocks of a device and no objects, so there is no --why" in error


def test_an_empty_allocator_is_said_so(gradlife: Gradlife, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    status, output, _ = gradlife("open", written(tmp_path, snapshot()))
    assert (status, output) == (0, f"{tmp_path / 'oom.pickle'}: the allocator holds no memory\n")


def test_names_in_a_file_cannot_write_to_the_terminal(gradlife: Gradlife, tmp_path: Path) -> None:
    path = written(tmp_path, snapshot(segment(0, block(MB, "active_allocated", frame("/a/\x1b[31m\u202eb.py", 1)))))
    output = gradlife("open", path)[1]
    assert "\x1b" not in output
    assert "\u202e" not in output
    assert " a/\\x1b[31m\\u202eb.py:1" in output


def test_a_page_with_the_memory_map_is_written(gradlife: Gradlife, tmp_path: Path) -> None:
    path = written(tmp_path, snapshot(segment(0, block(MB, "active_allocated", frame("/a/train.py", 3)))))
    assert gradlife("open", path, "--html", str(tmp_path / "map.html"))[0] == 0
    page = (tmp_path / "map.html").read_text()
    assert "Memory map" in page
    assert "a/train.py:3: 1.05 MB, 1 block" in page


def test_a_damaged_report_of_on_oom_is_one_line(gradlife: Gradlife, tmp_path: Path) -> None:
    (tmp_path / "oom.json").write_text('{"format": "gradlife.oom/1", "cause": 3}')
    status, out, err = gradlife("open", str(tmp_path / "oom.json"))
    assert (status != 0, out) == (True, "")
    assert "oom.json is a damaged report: " in err
    assert "Traceback" not in err
