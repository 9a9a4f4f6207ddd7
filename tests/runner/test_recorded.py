from __future__ import annotations

import pytest

from gradlife.backends.recorded import folder, recording_names, release_order
from gradlife.backends.registry import get_backend
from gradlife.model import Reading, RunCrashed, RunFailed, RunOk, ScenarioInfo, ScenarioRun, Status, SystemInfo
from gradlife.model.reading import Json
from gradlife.runner.api import select_stories
from gradlife.runner.compare import compare
from gradlife.runner.recordings import check_fit, recorded_story

SCENARIO = ScenarioInfo("s/a", "a", "s", "title")
SYSTEMS = (
    SystemInfo("one", "one-1", "one", "1", "3.11", "Linux"),
    SystemInfo("two", "two-2", "two", "2", "3.11", "Linux"),
)


def run_with(**values: Json) -> RunOk:
    readings = tuple(Reading("s/a", "end", name, "liveness", "one", value) for name, value in values.items())
    return RunOk("s/a", "one", readings, "noise", 0.25)


def recorded(*runs: ScenarioRun) -> list[tuple[str, Json, tuple[Json, ...]]]:
    story = recorded_story(runs, "digest", "here")
    return [(reading.subject, reading.value, reading.seen) for reading in story.run.readings]


def test_what_every_round_gave_is_recorded_as_it_is() -> None:
    assert recorded(run_with(x="gc", y=1), run_with(x="gc", y=1.0)) == [("x", "gc", ()), ("y", 1, ())]


def test_what_the_rounds_disagree_on_is_recorded_with_all_that_was_seen() -> None:
    runs = run_with(x="gc"), run_with(x="del"), run_with(x="gc")
    assert recorded(*runs) == [("x", "del", ("del", "gc"))]


def test_what_some_rounds_lack_is_unstable() -> None:
    assert recorded(run_with(x="gc"), run_with(x="gc", y=1)) == [("x", "gc", ()), ("y", 1, (1,))]


def test_a_recorded_run_has_nothing_that_changes_from_run_to_run() -> None:
    story = recorded_story([run_with(x="gc")], "digest", "here")
    assert story.run == RunOk("s/a", "here", (Reading("s/a", "end", "x", "liveness", "here", "gc"),))
    failed = RunFailed("s/a", "one", (), "noise", "ValueError: no", 12, "Traceback")
    assert recorded_story([failed], "digest", "here").run == RunFailed("s/a", "here", error="ValueError: no")


def test_of_several_endings_the_usual_one_is_recorded_and_all_are_reported() -> None:
    crash = RunCrashed("s/a", "one", exit_code=-11, signal="SIGSEGV")
    story = recorded_story([run_with(x="gc"), crash, run_with(x="gc")], "digest", "here")
    assert (story.run.outcome, story.outcomes) == ("ok", ("crashed", "ok"))


@pytest.mark.parametrize("mine", ["gc", "del", "never"])
def test_an_unstable_reading_is_neither_the_same_nor_different(mine: str) -> None:
    seen = Reading("s/a", "end", "x", "liveness", "one", "del", seen=("del", "gc"))
    runs = (
        RunOk("s/a", "one", (seen,)),
        RunOk("s/a", "two", (Reading("s/a", "end", "x", "liveness", "two", mine),)),
    )
    judged = compare(runs, SYSTEMS, (SCENARIO,), "one")[1].readings[0]
    assert (judged.status, judged.reason) == (Status.UNSTABLE, 'one gave "del" or "gc"')


def test_releases_are_in_order_pytorch_first() -> None:
    names = ["fake-1.0", "oneflow-0.9.0", "torch-2.13.0", "torch-1.10.2", "torch-1.9.1", "torch-2.9.1", "oneflow-0.8.0"]
    assert sorted(names, key=release_order) == [
        "torch-1.9.1", "torch-1.10.2", "torch-2.9.1", "torch-2.13.0", "oneflow-0.8.0", "oneflow-0.9.0", "fake-1.0",
    ]  # fmt: skip


@pytest.mark.parametrize("name", recording_names())
def test_every_recording_that_comes_with_gradlife_fits_the_stories_that_do(name: str) -> None:
    backend = get_backend(f"recorded:{name}")
    check_fit(select_stories((), ""), backend)  # type: ignore[arg-type]
    assert backend.describe().name == f"recorded:{name}"
    assert backend.describe().platform.startswith("Linux")


def test_the_recordings_are_data_of_the_package() -> None:
    assert folder().parent.name == "gradlife"
    assert "torch-2.13.0" in recording_names()
