from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gradlife.backends.mini import nearest_profile
from gradlife.backends.registry import get_backend
from gradlife.errors import UsageError
from gradlife.model import Reading, RunUnavailable, SystemInfo
from gradlife.model.fidelity import Difference
from gradlife.model.recording import RecordedStory, Recording
from gradlife.model.recording_codec import dumps
from gradlife.runner import fidelity as module
from gradlife.runner.api import Plan, run_plan, select_stories
from gradlife.runner.discover import builtin_folder
from gradlife.runner.fidelity import Reason, fidelity
from gradlife.runner.recordings import make_recording

pytest.importorskip("gradlife._engine")

FILE = builtin_folder() / "function_ownership" / "ctx_keeps_output.py"
STORY = f"{FILE}::ctx_keeps_output"
Change = Callable[[Reading], Reading]


class Release:
    """A release that there is only as a name."""

    def __init__(self, framework: str, profile: str) -> None:
        self.name = f"{framework}@somewhere"
        self.profile = profile


@pytest.mark.parametrize(
    ("profile", "nearest"),
    [
        ("torch-2.13", "torch-2.13"),
        ("torch-1.1", "torch-1.1"),
        ("torch-1.3", "torch-1.2"),
        ("torch-1.8", "torch-1.8"),
        ("torch-1.12", "torch-1.10"),
        ("torch-2.11", "torch-2.10"),
        ("torch-2.14", "torch-2.14"),
        ("torch-2.15", "torch-2.14"),
        ("torch-9.0", "torch-2.14"),
        ("torch-1.0", "torch-1.1"),
        ("oneflow-0.9", "oneflow-0.9"),
        ("oneflow-1.0", "oneflow-0.9"),
    ],
)
def test_a_release_is_compared_with_its_own_profile_or_the_one_before_it(profile: str, nearest: str) -> None:
    release = Release(profile.partition("-")[0], profile)
    assert nearest_profile(release) == nearest  # type: ignore[arg-type]


def test_a_profile_and_a_stranger_have_no_profile() -> None:
    with pytest.raises(UsageError) as caught:
        nearest_profile(get_backend("mini:torch-1.1"))
    assert caught.value.message == "mini:torch-1.1 is a profile itself"
    with pytest.raises(UsageError) as caught:
        nearest_profile(get_backend("fake"))
    assert caught.value.message == "no profile imitates fake-1.0"


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[..., str]:
    """A recording of a release that behaves as its profile does, but for a change."""

    def record(change: Change = lambda reading: reading, rounds: int = 1) -> str:
        stories = select_stories([STORY], "")
        backend = get_backend("mini:torch-1.2")
        runs = run_plan(Plan(stories, (backend,), 60.0, ()), lambda progress: None)
        made = make_recording(stories, backend, [runs] * rounds, "2026-01-31")
        system = SystemInfo("torch-1.2.0", "torch-1.2", "torch", "1.2.0", "3.7.16", "Linux x86_64")
        kept = tuple(changed(story, change) for story in made.stories)
        file = tmp_path / "release.json"
        file.write_text(dumps(Recording(system, "torch@torch-1.2.0", "2026-01-31", 1, kept)), encoding="utf-8")
        return f"recorded:{file}"

    return record


def changed(story: RecordedStory, change: Change) -> RecordedStory:
    """The story with each of its readings changed; those only of the engine are none of a release."""
    readings = [one for one in story.run.readings if one.probe not in ("live", "events")]
    return replace(story, run=replace(story.run, readings=tuple(map(change, readings))))


def verdict_of_ctx(value: str, *seen: str) -> Change:
    """Changes one verdict."""

    def change(reading: Reading) -> Reading:
        is_it = (reading.subject, reading.probe) == ("ctx", "liveness")
        return replace(reading, value=value, seen=seen) if is_it else reading

    return change


def test_a_release_that_does_as_its_profile_is_all_equal(recorded: Callable[..., str]) -> None:
    report = fidelity([STORY], [recorded()])
    (line,) = report.lines
    assert (line.profile, line.per_cent, line.differences, report.exit_status) == ("torch-1.2", 100.0, (), 0)
    assert line.equal == line.comparable > 10


def test_a_difference_without_a_reason_is_found(recorded: Callable[..., str]) -> None:
    report = fidelity([STORY], [recorded(verdict_of_ctx("gc"))])
    (line,) = report.lines
    assert line.equal == line.comparable - 1
    (one,) = line.unexplained
    assert (one.scenario, one.subject, one.probe) == ("function_ownership/ctx_keeps_output", "ctx", "liveness")
    assert (one.value, one.other, one.reason) == ("never", "gc", "")
    assert report.exit_status == 1


def test_a_difference_with_a_reason_is_none_to_exit_for(
    recorded: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = (Reason("torch-2.*", "not this one"), Reason("torch-1.*", "that is how it is", subject="c?x"))
    monkeypatch.setattr(module, "reasons", lambda: rows)
    report = fidelity([STORY], [recorded(verdict_of_ctx("gc"))])
    assert [one.reason for one in report.lines[0].differences] == ["that is how it is"]
    assert report.exit_status == 0


def test_an_unstable_reading_is_counted_apart(recorded: Callable[..., str]) -> None:
    (line,) = fidelity([STORY], [recorded(verdict_of_ctx("gc", "gc", "never"))]).lines
    assert (line.unstable, line.differences, line.per_cent) == (1, (), 100.0)


def test_a_reading_that_only_one_of_them_took_is_a_difference(recorded: Callable[..., str]) -> None:
    def rename(reading: Reading) -> Reading:
        return replace(reading, subject="context") if verdict_of_ctx("?")(reading).value == "?" else reading

    (line,) = fidelity([STORY], [recorded(rename)]).lines
    found = [(one.subject, one.value, one.other) for one in line.unexplained]
    assert found == [("ctx", "never", None), ("context", None, "never")]


def test_a_story_that_ended_otherwise_is_a_difference(recorded: Callable[..., str], tmp_path: Path) -> None:
    name = recorded()
    file = Path(name.removeprefix("recorded:"))
    backend = get_backend(name)
    story = backend.recording.stories[0]  # type: ignore[attr-defined]
    lost = replace(story, run=RunUnavailable(story.scenario, story.run.system, why="needs hooks"))
    file.write_text(dumps(replace(backend.recording, stories=(lost,))), encoding="utf-8")  # type: ignore[attr-defined]
    report = fidelity([STORY], [name])
    found = [(one.probe, one.value, one.other) for one in report.lines[0].differences]
    assert found == [("ending", "ok", "not available: needs hooks")]
    assert report.exit_status == 1


def test_where_nothing_can_be_compared_it_cannot_tell(recorded: Callable[..., str]) -> None:
    report = fidelity([f"{FILE}::ctx_keeps_detached_output"], [recorded()])
    assert (report.lines[0].per_cent, report.lines[0].differences, report.exit_status) == (None, (), 3)


def test_the_table_of_reasons_can_be_read_and_each_row_has_one() -> None:
    assert all(reason.because and reason.on for reason in module.reasons())


def test_the_command_prints_a_line_a_system_and_writes_json(
    recorded: Callable[..., str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from gradlife.cli import main

    name = recorded(verdict_of_ctx("gc"))
    file = tmp_path / "fidelity.json"
    assert main(["run", STORY, "--fidelity", "--backend", name, "--json", str(file)]) == 1
    output = " ".join(capsys.readouterr().out.split())
    assert "unexplained 1 difference" in output
    assert "gc there, never in the engine" in output
    assert "FOUND: 1 story on 1 release and their profiles: 1 unexplained difference, 0 explained" in output
    document = json.loads(file.read_text("utf-8"))
    assert (document["format"], document["exit_status"]) == ("gradlife.fidelity/1", 1)
    assert document["lines"][0]["unexplained"] == 1
    assert document["lines"][0]["differences"][0]["other"] == "gc"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--against", "torch"], "--fidelity does not go with --against"),
        (["--matrix"], "--fidelity does not go with --matrix"),
        (["--timeline"], "--fidelity does not go with --timeline"),
        (["--in-process"], "--fidelity does not go with --in-process"),
        (["--backend", "mini:torch-1.1"], "mini:torch-1.1 is a profile itself"),
        (["--backend", "fake"], "no profile imitates fake-1.0"),
        (["-k", "no_such_story"], "no scenario matches 'no_such_story'"),
    ],
)
def test_a_usage_error_is_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    from gradlife.cli import main

    assert main(["run", "--fidelity", *arguments]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith(f"gradlife: error: {message}")
    assert len(errors.splitlines()) == 1


def test_what_only_a_compiler_could_show_is_explained() -> None:
    one = Difference("contexts/step[compile]", "", "", "ending", "not available: needs compile", "ok")
    assert module.explained(one, "torch-2.13").reason == "the engine has no compiler of Python functions"
    assert module.explained(replace(one, scenario="contexts/step[plain]"), "torch-2.13").reason == ""
