"""Stories in another interpreter, which has no gradlife: the worker is shipped there, and whatever happens is a result."""

from __future__ import annotations

import platform
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradlife.backends.child import ChildBackend
from gradlife.errors import UsageError
from gradlife.model import RunCrashed, RunFailed, RunOk, RunTimedOut, RunUnavailable
from gradlife.runner import api
from gradlife.runner.outcome import MUTE
from gradlife.runner.server import ForkServer, ServerError
from gradlife.runner.worker_archive import rest_of_package, sources
from interpreters import TORCH, make_environment, make_script, old_python
from processes import open_descriptors
from sources import ROOT
from test_old_python import OLD

WriteStory = Callable[..., str]

STORY = """
import platform

@scenario(title="a tensor goes", expects=[Expect("x", "del")])
def tensor_goes(lab):
    x = lab.tensor()
    lab.watch("x", x)
    lab.stage("made")
    del x
    lab.value("python", platform.python_version())
    lab.value("profile", lab.profile)
    lab.stage("dropped", all_names_gone=True)
"""
HOSTILE = """
@scenario(title="a crash")
def crash(lab):
    os.kill(os.getpid(), signal.SIGSEGV)

@scenario(title="a hang")
def hang(lab):
    time.sleep(3600)

@scenario(title="a flood")
def flood(lab):
    for number in range(40000):
        print("x" * 100)
    sys.stderr.write("garbage")

@scenario(title="a closed descriptor")
def mute(lab):
    os.closerange(3, 1024)
    lab.stage("end")

@scenario(title="an exception")
def failure(lab):
    raise ValueError("no")

@scenario(title="what this framework lacks", needs="hooks")
def lacking(lab):
    pass

@scenario(title="an end of its own", isolation="fresh")
def leaves(lab):
    import atexit
    atexit.register(lab.at_exit, "bye")
    lab.stage("message")
"""


def values(readings: Any, probe: str) -> dict[str, Any]:
    return {reading.subject: reading.value for reading in readings if reading.probe == probe}


def test_another_interpreter_runs_a_story_without_having_gradlife(tmp_path: Path, write_story: WriteStory) -> None:
    path = make_environment(tmp_path / "env", torch=TORCH)
    report = api.run([write_story(STORY)], backends=[f"torch@{path}"])
    (run,), (system,) = report.runs, report.systems
    assert isinstance(run, RunOk), run.reason
    assert (system.profile, system.framework, system.version) == ("torch-1.1", "torch", "1.1.0")
    assert values(run.readings, "value") == {"python": platform.python_version(), "profile": "torch-1.1"}
    assert values(run.readings, "liveness") == {"x": "del", "x.storage": "del"}
    assert report.exit_status == 0


@pytest.mark.parametrize("minor", sorted({7, 8, 9, 10, 11, 12, 13} - {sys.version_info.minor}))
def test_older_and_newer_interpreters_read_what_this_one_reads(
    tmp_path: Path, write_story: WriteStory, minor: int
) -> None:
    path = make_environment(tmp_path / "env", old_python(minor), torch=TORCH)
    report = api.run([write_story(STORY)], backends=["fake", f"torch@{path}"], against="fake")
    other = report.runs[1]
    assert isinstance(other, RunOk), other.reason
    assert {reading.subject for reading in other.readings if reading.status == "differs"} == {"python", "profile"}
    assert report.systems[1].python.startswith(f"3.{minor}.")


def test_whatever_a_story_does_there_is_one_result(tmp_path: Path, write_story: WriteStory) -> None:
    path = make_environment(tmp_path / "env", torch=TORCH)
    story = write_story(HOSTILE + STORY)
    for limit in (2.0, 20.0, 200.0):  # the next one if the machine was too slow for the one before
        report = api.run([story], backends=[f"torch@{path}"], time_limit=limit)
        runs = {run.scenario.partition("/")[2]: run for run in report.runs}
        kinds = {name: type(run) for name, run in runs.items()}
        if list(kinds.values()).count(RunTimedOut) == 1:
            break
    assert kinds == {
        "crash": RunCrashed,
        "hang": RunTimedOut,
        "flood": RunOk,
        "mute": RunFailed,
        "failure": RunFailed,
        "lacking": RunUnavailable,
        "leaves": RunOk,
        "tensor_goes": RunOk,
    }
    assert runs["crash"].reason == "killed by SIGSEGV"
    assert runs["mute"].reason == MUTE
    assert runs["failure"].reason == "ValueError: no (line 26)"
    assert len(runs["flood"].output) == 8192
    assert values(runs["leaves"].readings, "exit") == {"exit code": 0, "stderr lines": ["bye"]}


def test_a_framework_with_threads_of_its_own_is_imported_for_each_story(
    tmp_path: Path, write_story: WriteStory
) -> None:
    thread = "import threading, time\nthreading.Thread(target=time.sleep, args=(3600,), daemon=True).start()\n"
    path = make_environment(tmp_path / "env", torch=thread + TORCH)
    report = api.run([write_story(STORY)], backends=[f"torch@{path}"])
    assert [run.outcome for run in report.runs] == ["ok"]


def test_another_interpreter_cannot_be_run_in_this_process(tmp_path: Path, write_story: WriteStory) -> None:
    path = make_environment(tmp_path / "env", torch=TORCH)
    with pytest.raises(UsageError, match="another interpreter"):
        api.run([write_story(STORY)], backends=[f"torch@{path}"], in_process=True)


def test_the_archive_of_the_worker_goes_with_its_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    descriptors = open_descriptors()
    with ForkServer("torch", make_environment(tmp_path / "env", torch=TORCH)):
        assert [path.name.startswith("gradlife-worker-") for path in folder.iterdir()] == [True]
    assert list(folder.iterdir()) == []
    assert open_descriptors() <= descriptors


def test_what_a_framework_leaves_where_it_is_started_is_no_matter_of_the_users_folder(
    tmp_path: Path, write_story: WriteStory, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_environment(tmp_path / "env", torch="import os\nos.mkdir('log-%d' % os.getpid())\n" + TORCH)
    folder = tmp_path / "user"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert api.run([write_story(STORY)], backends=[f"torch@{path}"]).exit_status == 0
    assert list(folder.iterdir()) == []


def test_a_server_that_floods_its_output_still_answers(tmp_path: Path) -> None:
    flood = "for n in range(40000): print('x' * 100)\n"
    with ForkServer("torch", make_environment(tmp_path / "env", torch=flood + TORCH)) as server:
        assert server.about["version"] == "1.1.0"


def test_a_server_that_answers_garbage_is_one_error(tmp_path: Path) -> None:
    for line in ("exit 5", "echo words; exit 5"):
        with pytest.raises(ServerError, match="can't be imported"):
            ForkServer("torch", make_script(tmp_path / "python", line)).start()
    with pytest.raises(ServerError, match="does not start: no such file"):
        ForkServer("torch", str(tmp_path / "nowhere")).start()


def test_the_archive_has_what_old_interpreters_run_and_nothing_else() -> None:
    expected = {path for path in OLD if "scenarios" not in path.parts}
    names = {name for name, _ in sources()}
    assert names == {path.relative_to(ROOT).as_posix() for path in expected}
    assert "gradlife/runner/worker/lab.py" in names


def test_the_heap_graph_goes_along_only_to_an_interpreter_of_the_same_abi() -> None:
    import sysconfig

    assert rest_of_package(str(sysconfig.get_config_var("SOABI")))
    assert rest_of_package("cpython-37m-x86_64-linux-gnu") == []


@pytest.mark.whole
@pytest.mark.torch
def test_torch_in_a_child_interpreter_reads_what_torch_reads(tmp_path: Path) -> None:
    import sys

    name = f"torch@{sys.executable}"
    report = api.run([], backends=["torch", name], keyword="ctx_keeps or leaf_carries or grad_id or storage")
    (pair,) = {pair.system for pair in report.totals.pairs}
    assert pair == name
    assert (report.totals.compared, report.totals.differs) == (report.totals.same, 0)
    assert report.totals.compared > 300
    assert report.exit_status == 0


def test_stories_on_a_framework_with_threads_are_run_several_at_a_time(tmp_path: Path, write_story: WriteStory) -> None:
    thread = "import threading, time\nthreading.Thread(target=time.sleep, args=(3600,), daemon=True).start()\n"
    backend = ChildBackend("torch@" + make_environment(tmp_path / "env", torch=thread + TORCH))
    assert backend.worker_spec().is_threaded
    stories = api.select_stories([write_story(HOSTILE + STORY)], "")
    shifts = api.shifts_of(api.Plan(stories, (backend,), 60.0, ()))
    assert len(shifts) == api.crew_size() >= 2
    assert {shift.module for shift in shifts} == {""}
    seen = [story.info.name for shift in shifts for story in shift.stories]
    assert sorted(seen) == sorted(story.info.name for story in stories)
