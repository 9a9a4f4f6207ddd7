from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from fabricated import seven_systems, troubled
from fabricated_hunts import CLEAN, EVERYTHING, LEAKING, LOSSES, WAITING, hunt
from gradlife.model import RunReport
from gradlife.reports.formats.github.annotations import annotation, hunt_annotations, run_annotations
from gradlife.reports.source_places import Place

COMMAND = re.compile(r"::(?P<level>error|warning|notice) (?P<properties>[^:]*)::(?P<message>.*)")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("", encoding="utf-8")
    return tmp_path


def read(line: str) -> tuple[str, dict[str, str], str]:
    """As GitHub's runner reads a command: level, properties, message."""
    found = COMMAND.fullmatch(line)
    assert found is not None, line
    pairs = (part.partition("=") for part in found["properties"].split(","))
    properties = {name: unescaped(value, {"%3A": ":", "%2C": ","}) for name, _, value in pairs}
    return found["level"], properties, unescaped(found["message"], {})


def unescaped(text: str, more: dict[str, str]) -> str:
    for code, character in {"%0D": "\r", "%0A": "\n", **more, "%25": "%"}.items():
        text = text.replace(code, character)
    return text


def test_a_finding_stands_at_its_line() -> None:
    ((level, properties, message),) = map(read, hunt_annotations(LEAKING))
    assert level == "error"
    assert properties == {
        "file": "train.py",
        "line": "41",
        "title": "GL402 A list of losses keeps the graph of each",
    }
    assert message.splitlines()[-1] == "Keep the number, not the tensor."


def test_a_finding_without_a_line_has_no_file_and_one_that_waits_is_a_warning() -> None:
    levels = [(level, sorted(properties)) for level, properties, _ in map(read, hunt_annotations(EVERYTHING))]
    assert levels == [("error", ["file", "line", "title"]), ("error", ["title"]), ("warning", ["title"])]
    strict = [read(line)[0] for line in hunt_annotations(EVERYTHING, is_strict=True)]
    assert strict == ["error", "error", "error"]


def test_a_clean_hunt_says_nothing_and_one_that_could_not_tell_warns() -> None:
    assert list(hunt_annotations(CLEAN)) == []
    ((level, properties, message),) = map(read, hunt_annotations(hunt(rounds=(), trouble="killed: 9,\n100%")))
    assert (level, properties, message) == ("warning", {"title": "gradlife hunt could not tell"}, r"killed: 9,\n100%")


def test_what_goes_wrong_in_a_run_stands_at_its_story(project: Path) -> None:
    (project / "stories.py").write_text("", encoding="utf-8")
    report = troubled()
    stories = tuple(replace(one, file="stories.py", line=3) for one in report.scenarios)
    found = [read(line) for line in run_annotations(replace(report, scenarios=stories))]
    assert [(level, one["file"], one["line"], one["title"]) for level, one, _ in found] == [
        ("error", "stories.py", "3", "contradicted: ctx_keeps_output"),
        ("error", "stories.py", "3", "failed: ctx_keeps_detached_output"),
        ("error", "stories.py", "3", "crashed: ctx_keeps_detached_output"),
    ]
    assert found[0][2].startswith("on mini:torch-2.13\nctx, liveness at 'output dropped': declared gc, got never\n")
    assert list(run_annotations(seven_systems())) == []
    assert [read(line)[0] for line in run_annotations(RunReport((), (), ()))] == ["warning"]


def test_a_command_of_a_name_stays_text() -> None:
    evil = "x::error::y,z=1:2%\r\n::set-output name=a::b"
    line = annotation("error", evil, [evil, evil], Place("train.py", 1))
    assert "\n" not in line
    assert "\r" not in line
    level, properties, message = read(line)
    shown = evil.replace("\r\n::", "\\r\n\\x3a:")
    assert (level, properties["title"], message) == ("error", shown, f"{shown}\n{shown}")


def test_files_are_named_from_the_checkout(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project / "inner"
    folder.mkdir()
    (folder / "a.py").write_text("", encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project))
    finding = replace(LOSSES, created_at=("a.py:5 in step",))
    assert read(next(iter(hunt_annotations(hunt(finding)))))[1]["file"] == "inner/a.py"
    beside = hunt(finding, target=str(folder / "train.py"))
    monkeypatch.chdir("/")
    assert read(next(iter(hunt_annotations(beside))))[1]["file"] == "inner/a.py"


def test_a_place_in_a_frame_of_the_trace_serves_where_no_line_was_recorded() -> None:
    steps = (replace(WAITING.trace.cycle[0], detail="step (train.py:12)"),)
    finding = replace(WAITING, trace=replace(WAITING.trace, cycle=steps))
    assert read(next(iter(hunt_annotations(hunt(finding)))))[1]["line"] == "12"
