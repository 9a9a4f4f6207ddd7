from __future__ import annotations

import json
from pathlib import Path

import pytest

from gradlife.cli import main
from gradlife.model import Reading, RunOk, RunUnavailable, ScenarioInfo, ScenarioRun, SystemInfo
from gradlife.model.history import HistoryRow
from gradlife.model.reading import Json
from gradlife.model.recording import RecordedStory, Recording
from gradlife.model.recording_codec import dumps
from gradlife.runner.digest import digest_of
from gradlife.runner.discover import discover
from gradlife.runner.history import known_changes, made_rows

STORY = ScenarioInfo("s/a", "a", "s", "title", origin=("pytorch/pytorch#56017", "pytorch/pytorch#22983"))


def system(version: str, framework: str = "torch") -> SystemInfo:
    profile = f"{framework}-" + ".".join(version.split(".")[:2])
    return SystemInfo(f"recorded:{framework}-{version}", profile, framework, version, "3.7.16", "Linux x86_64")


def row(*readings: tuple[str, Json] | tuple[str, Json, str], unstable: str = "") -> HistoryRow:
    """The row of `x` from release and verdict, and perhaps framework; None stands for a story that was not available."""
    systems: list[SystemInfo] = []
    runs: list[ScenarioRun] = []
    for version, value, *framework in readings:
        one = system(version, *framework)
        systems.append(one)
        seen = ("del", "gc") if version == unstable else ()
        reading = Reading("s/a", "end", "x", "liveness", one.name, value, seen=seen)
        runs.append(
            RunUnavailable("s/a", one.name, why="no hooks") if value is None else RunOk("s/a", one.name, (reading,))
        )
    (found,) = made_rows(STORY, systems, runs, False)
    return found


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (["never", "never", "gc", "gc"], "torch: `never` until 1.9.1, `gc` from 1.10.2"),
        (["never", "gc", "gc", "never"], "torch: `never` until 1.1.0, `gc` from 1.9.1 to 1.10.2, `never` from 2.13.0"),
        (["never", "gc", "never", "never"], "torch: `never` until 1.1.0, `gc` in 1.9.1, `never` from 1.10.2"),
        ([None, None, "gc", "gc"], "torch: not there until 1.9.1, `gc` from 1.10.2"),
        ([1, 1.0, True, [1]], "torch: `1` until 1.9.1, `true` in 1.10.2, `[1]` from 2.13.0"),
        (["never", "inconclusive", "never", "gc"], "torch: `never` until 1.10.2, `gc` from 2.13.0"),
        (["never", "inconclusive", "gc", "gc"], "torch: `never` until 1.9.1, `gc` from 1.10.2"),
    ],
)
def test_a_sentence_shows_when_a_reading_changed(values: list[Json], sentence: str) -> None:
    found = row(*zip(("1.1.0", "1.9.1", "1.10.2", "2.13.0"), values, strict=True))
    assert found.sentences == (sentence,)


def test_what_is_the_same_everywhere_has_no_sentence() -> None:
    found = row(("1.1.0", "gc"), ("2.13.0", "gc"))
    assert (found.is_changed, found.sentences, found.changes) == (False, (), ())


def test_frameworks_are_not_each_other_s_past() -> None:
    found = row(("2.13.0", "gc"), ("0.8.0", "never", "oneflow"), ("0.9.0", "del", "oneflow"))
    assert found.sentences == ("oneflow: `never` until 0.8.0, `del` from 0.9.0",)
    assert [moment.is_changed for moment in found.moments] == [False, False, True]


def test_an_unstable_reading_is_no_change() -> None:
    found = row(("1.1.0", "gc"), ("1.9.1", "del"), ("2.13.0", "gc"), unstable="1.9.1")
    assert (found.is_changed, found.moments[1].is_unstable) == (False, True)


def test_the_pull_request_that_came_between_two_releases_is_reported() -> None:
    found = row(("1.1.0", "never"), ("1.2.0", "gc"), ("1.9.1", "gc"), ("1.10.2", "del"))
    assert [(change.first, change.pull) for change in found.changes] == [
        ("1.2.0", "pytorch/pytorch#22983"), ("1.10.2", "pytorch/pytorch#56017"),
    ]  # fmt: skip


def test_where_several_came_between_none_is_known_to_have_done_it() -> None:
    assert row(("1.1.0", "never"), ("2.13.0", "gc")).changes == ()


def test_a_row_is_of_the_last_stage_at_which_releases_differ() -> None:
    stages = [("first", "gc", "gc"), ("second", "never", "gc"), ("third", "del", "del")]
    systems = system("1.1.0"), system("2.13.0")
    runs = [
        RunOk(
            "s/a", one.name, tuple(Reading("s/a", result[0], "x", "liveness", one.name, result[n]) for result in stages)
        )
        for n, one in enumerate(systems, 1)
    ]
    assert [found.stage for found in made_rows(STORY, systems, runs, False)] == ["second"]
    assert [found.stage for found in made_rows(STORY, systems, runs, True)] == ["first", "second", "third"]


def test_every_known_change_says_how_that_is_known() -> None:
    assert {change.pull for change in known_changes()} == {
        "pytorch/pytorch#22983", "pytorch/pytorch#56017", "pytorch/pytorch#58271", "pytorch/pytorch#167564",
        "pytorch/pytorch#179924", "pytorch/pytorch#191966", "pytorch/pytorch#189160", "Oneflow-Inc/oneflow#9544",
    }  # fmt: skip
    assert all(change.source and change.what for change in known_changes())


TOLD = '''
from gradlife.scenario import scenario


@scenario(title="a story of two releases")
def first_story(lab):
    """It is read from recordings."""
    lab.stage("end")
'''


@pytest.fixture
def story(tmp_path: Path) -> Path:
    file = tmp_path / "story.py"
    file.write_text(TOLD, encoding="utf-8")
    return file


def recorded(story: Path, version: str, **verdicts: str) -> str:
    """A recording of the story in a release."""
    one = system(version)
    info = discover([str(story)])[0].info
    readings = tuple(Reading(info.id, "end", name, "liveness", one.name, value) for name, value in verdicts.items())
    kept = RecordedStory(digest_of(story, info), RunOk(info.id, one.name, readings))
    file = story.parent / f"torch-{version}.json"
    file.write_text(dumps(Recording(one, f"torch@{version}", "2026-01-31", 3, (kept,))), encoding="utf-8")
    return f"recorded:{file}"


Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_has_a_column_a_release_and_fits_the_terminal(
    story: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    names = [recorded(story, version, ctx="never", y="del") for version in ("1.1.0", "1.2.0", "1.9.1")]
    names += [recorded(story, version, ctx="gc", y="del") for version in ("1.10.2", "1.13.1", "2.9.1", "2.10.0")]
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["history", str(story), "--backend", *reversed(names)]) == 0
    output = capsys.readouterr().out
    assert "\x1b" not in output
    assert max(map(len, output.splitlines())) <= width
    lines = output.splitlines()
    assert lines[2].split() == ["torch"] * 7
    assert lines[3].split() == ["1.1.0", "1.2.0", "1.9.1", "1.10.2", "1.13.1", "2.9.1", "2.10.0"]
    assert lines[5].split() == ["liveness", "ctx", "never", "never", "never", "gc*", "gc", "gc", "gc"]
    assert "  torch: `never` until 1.9.1, `gc` from 1.10.2" in lines


def test_rows_are_chosen_by_probe_and_subject(story: Path, capsys: Captured) -> None:
    name = recorded(story, "1.1.0", ctx="never", y="del")
    assert main(["history", str(story), "--backend", name, "-k", "liveness and not y", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["format"] == "gradlife.history/1"
    assert [row["subject"] for row in document["rows"]] == ["ctx"]
    assert document["rows"][0]["moments"] == [
        {"system": name, "value": "never", "why": "", "is_unstable": False, "is_changed": False}
    ]


def test_the_engine_s_columns_are_marked_as_its_own(story: Path, capsys: Captured) -> None:
    pytest.importorskip("gradlife._engine")
    name = recorded(story, "1.1.0", ctx="never")
    assert main(["history", str(story), "--backend", name, "--profiles"]) == 0
    output = capsys.readouterr().out
    assert "engine engine" in output
    assert "columns of the engine are its profiles" in " ".join(output.split())


def test_a_story_that_no_release_has_cannot_be_run(story: Path, tmp_path: Path, capsys: Captured) -> None:
    name = recorded(story, "1.1.0", ctx="never")
    other = tmp_path / "other.py"
    other.write_text(TOLD.replace("first_story", "another").replace('"end"', '"start"'), encoding="utf-8")
    assert main(["history", str(other), "--backend", name]) == 3
    assert "the story is not in recorded:" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "first_story"),
    [
        (["no_such_story"], "unknown scenario 'no_such_story'"),
        (["STORY", "-k", "identity"], "no reading of first_story matches 'identity'"),
        (["STORY", "-k", "and"], "cannot read the expression 'and'"),
        (["STORY", "--backend", "recorded:none"], "unknown recording 'none'"),
        ([], "the following arguments are required: SCENARIO"),
    ],
)
def test_a_usage_error_is_one_line(story: Path, capsys: Captured, arguments: list[str], first_story: str) -> None:
    name = recorded(story, "1.1.0", ctx="never")
    words = [str(story) if word == "STORY" else word for word in arguments]
    words += [] if "--backend" in words or not words else ["--backend", name]
    assert main(["history", *words]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith(f"gradlife: error: {first_story}")
    assert len(errors.splitlines()) == 1
