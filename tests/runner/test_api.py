from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gradlife.backends.base import WorkerSpec
from gradlife.backends.fake import FakeBackend
from gradlife.backends.torch import TorchBackend
from gradlife.errors import MissingDependencyError, UnknownNameError, UsageError
from gradlife.model import RunOk, RunUnavailable, codec
from gradlife.runner import api
from gradlife.runner.server import ServerError
from processes import ends

WriteStory = Callable[..., str]

STORY = """
@scenario(
    title="a tensor goes with its name",
    expects=[Expect("x", "never", on="fake-leaky", because="it has a reference too many"), Expect("x", "del")],
)
def tensor_goes(lab):
    x = lab.tensor()
    lab.watch("x", x)
    del x
    lab.stage("gone", all_names_gone=True)

@tensor_goes.fixed(title="the same", fix="none")
def tensor_goes_again(lab):
    lab.stage("gone", all_names_gone=True)
"""


def test_every_scenario_runs_in_every_system_in_order(write_story: WriteStory) -> None:
    report = api.run([write_story(STORY)], backends=["fake", "fake:fake-leaky"])
    assert [(run.scenario, run.system, run.outcome) for run in report.runs] == [
        ("suite/tensor_goes", "fake", "ok"),
        ("suite/tensor_goes", "fake:fake-leaky", "ok"),
        ("suite/tensor_goes_again", "fake", "ok"),
        ("suite/tensor_goes_again", "fake:fake-leaky", "ok"),
    ]
    assert report.against == "fake"
    assert report.exit_status == 0


def test_systems_that_differ_are_distinguished_by_their_readings(write_story: WriteStory) -> None:
    report = api.run([write_story(STORY)], backends=["fake", "fake:fake-leaky"])
    verdicts = {reading.system: reading for reading in report.readings if reading.key[2:] == ("x", "liveness")}
    assert {system: (reading.value, reading.status) for system, reading in verdicts.items()} == {
        "fake": ("del", ""),
        "fake:fake-leaky": ("never", "differs"),
    }
    assert [result.verdict for result in report.expectations] == ["met", "met"]
    assert report.totals.distinguishing_any == 5  # expiry and liveness of the tensor and of its storage; bytes
    assert report.totals.distinguishing == 0  # no two systems of one profile were compared


def test_a_subject_is_judged_by_the_graph_before_the_collector_shows_what_becomes_of_it(
    write_story: WriteStory,
) -> None:
    report = api.run([write_story(STORY)], backends=["fake", "fake:fake-leaky"])
    judged = [(r.system, r.subject, r.value, r.status) for r in report.readings if r.probe == "graph"]
    assert judged == [
        ("fake:fake-leaky", "x", "never", "not compared"),
        ("fake:fake-leaky", "x.storage", "never", "not compared"),
    ]
    totals = report.totals
    assert (totals.graph_judged, totals.graph_agrees, totals.graph_inconclusive) == (2, 2, 0)


def test_a_subject_that_a_root_holds_though_its_story_does_not_is_a_contradiction(write_story: WriteStory) -> None:
    path = write_story(
        """
        kept = []
        @scenario(title="kept by its file")
        def keeps(lab):
            kept.append(lab.tensor())
            lab.watch("x", kept[0])
            lab.stage("done", all_names_gone=True)
        """
    )
    report = api.run([path], backends=["fake"])
    assert [(c.subject, c.declared, c.got, c.is_of_graph) for c in report.contradictions] == [
        ("x", "never", "held", True),
        ("x.storage", "never", "held", True),
    ]
    assert report.exit_status == 1
    assert (report.totals.graph_judged, report.totals.graph_agrees) == (2, 0)


def test_a_report_survives_its_json(write_story: WriteStory) -> None:
    report = api.run([write_story(STORY)], backends=["fake", "fake:fake-leaky"])
    assert codec.loads(codec.dumps(report)) == report


@pytest.mark.parametrize("in_process", [False, True])
def test_progress_is_reported_run_by_run(write_story: WriteStory, in_process: bool) -> None:
    seen: list[api.Progress] = []
    api.run([write_story(STORY)], backends=["fake"], on_progress=seen.append, in_process=in_process)
    assert [(progress.done, progress.total) for progress in seen] == [(0, 2), (1, 2), (2, 2)]
    assert [progress.run.scenario for progress in seen if progress.run] == [
        "suite/tensor_goes",
        "suite/tensor_goes_again",
    ]


def test_a_run_can_stay_in_this_process(write_story: WriteStory) -> None:
    before = set(sys.modules)
    report = api.run([write_story(STORY)], backends=["fake"], in_process=True)
    assert [run.outcome for run in report.runs] == ["ok", "ok"]
    assert [result.verdict for result in report.expectations] == ["met"]
    assert not [name for name in set(sys.modules) - before if name.startswith("gradlife_story")]


def test_a_story_about_exit_cannot_stay_in_this_process(write_story: WriteStory) -> None:
    path = write_story('@scenario(title="exit", isolation="fresh")\ndef leaves(lab): lab.at_exit("bye")\n')
    (run,) = api.run([path], backends=["fake"], in_process=True).runs
    assert isinstance(run, RunUnavailable)
    assert run.reason == "needs an interpreter of its own"


def test_a_story_about_exit_is_read_by_how_its_interpreter_ended(write_story: WriteStory) -> None:
    path = write_story(
        """
        @scenario(title="exit", isolation="fresh", expects=[Expect("exit code", 7, probe="exit")])
        def leaves(lab):
            import atexit
            class Last:
                def __del__(self, leave=os._exit):
                    lab.at_exit("a global went")
                    leave(7)
            sys.modules["__main__"].last = Last()
            atexit.register(lab.at_exit, "atexit")
            atexit.register(print, "nothing of the lab's")
            lab.at_exit("in the story")
        """
    )
    (run,) = api.run([path], backends=["fake"]).runs
    assert isinstance(run, RunOk)
    assert [(r.stage, r.subject, r.value) for r in run.readings] == [
        ("exit", "exit code", 7),
        ("exit", "stderr lines", ["in the story", "atexit", "a global went"]),
    ]


EXIT = """
@scenario(title="exit", isolation="fresh")
def leaves(lab):
    lab.at_exit("bye")
"""


@pytest.mark.torch
def test_a_real_frameworks_stories_about_exit_are_run_beside_its_others(write_story: WriteStory) -> None:
    stories = api.select_stories([write_story(STORY + EXIT)], "")
    torch, fake = TorchBackend(), FakeBackend()
    plan = api.Plan(stories, (fake, torch), 60.0, ())
    shifts = [(shift.backend, [story.info.name for story in shift.stories]) for shift in api.shifts_of(plan)]
    assert shifts == [
        (torch, ["tensor_goes", "tensor_goes_again"]),
        (torch, ["leaves"]),
        (fake, ["tensor_goes", "tensor_goes_again", "leaves"]),
    ]
    assert [shift.module for shift in api.shifts_of(plan)] == ["torch", "", "gradlife.backends.fake"]


@pytest.mark.torch
def test_stories_about_exit_alone_are_run_by_a_server_that_knows_whether_their_framework_is_there(
    write_story: WriteStory,
) -> None:
    plan = api.Plan(api.select_stories([write_story(EXIT)], ""), (TorchBackend(),), 60.0, ())
    assert [shift.module for shift in api.shifts_of(plan)] == ["torch"]


def test_stories_of_both_kinds_are_run_once_each_and_in_order(
    write_story: WriteStory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeBackend, "worker_spec", lambda self: WorkerSpec("gradlife.backends.fake"))
    report = api.run([write_story(EXIT + STORY)], backends=["fake"])
    assert [(run.scenario, run.outcome) for run in report.runs] == [
        ("suite/leaves", "ok"),
        ("suite/tensor_goes", "ok"),
        ("suite/tensor_goes_again", "ok"),
    ]


def test_a_system_without_a_feature_is_not_available(write_story: WriteStory) -> None:
    path = write_story('@scenario(title="hooks", needs="hooks")\ndef hooks(lab): raise ValueError\n')
    report = api.run([path], backends=["fake"])
    assert report.runs[0].outcome == "not available"
    assert report.runs[0].reason == "needs hooks: Pack and unpack hooks"
    assert report.exit_status == 3  # no story could be run
    assert report.totals.unavailable == 1


def test_a_contradicted_declaration_makes_the_status_1(write_story: WriteStory) -> None:
    path = write_story(
        """
        @scenario(title="wrong", expects=[Expect("v", 2, probe="value", because="so I thought"), Expect("w", 1, probe="value")])
        def wrong(lab):
            lab.value("v", 1)
        """
    )
    report = api.run([path], backends=["fake"])
    assert [(c.subject, c.declared, c.got, c.because) for c in report.contradictions] == [
        ("v", 2, 1, "so I thought"),
        ("w", 1, None, ""),
    ]
    assert report.exit_status == 1


def test_the_system_compared_against_joins_the_run(write_story: WriteStory) -> None:
    report = api.run([write_story(STORY)], backends=["fake:fake-leaky"], against="fake")
    assert [system.name for system in report.systems] == ["fake:fake-leaky", "fake"]
    assert report.against == "fake"


def test_a_keyword_that_selects_nothing_is_an_error(write_story: WriteStory) -> None:
    with pytest.raises(UsageError, match=r"^no scenario matches 'zzz'"):
        api.run([write_story(STORY)], backends=["fake"], keyword="zzz")


def test_a_keyword_selects(write_story: WriteStory) -> None:
    assert [info.name for info in api.select([write_story(STORY)], "tensor and not again")] == ["tensor_goes"]


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("torsh", "unknown backend 'torsh'", "torch"),
        ("fake:fake-leeky", "unknown backend 'fake:fake-leeky'", "fake:fake-leaky"),
        ("nothing", "unknown backend 'nothing'", "one of torch"),
    ],
)
def test_an_unknown_backend_is_answered_with_the_nearest_names(
    write_story: WriteStory, name: str, message: str, hint: str
) -> None:
    with pytest.raises(UnknownNameError) as caught:
        api.run([write_story(STORY)], backends=[name])
    assert caught.value.message == message
    assert caught.value.hint.startswith(hint)


def test_a_missing_torch_is_answered_with_the_command_that_installs_it(
    write_story: WriteStory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"^PyTorch is not installed .*pip install 'gradlife\[torch\]'"):
        api.run([write_story(STORY)], backends=["torch"])


def test_an_interrupted_run_leaves_no_thread_and_no_child(write_story: WriteStory, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    slow = f"""
@scenario(title="slow")
def slow(lab):
    open({str(note)!r}, "w").write(str(os.getpid()))
    time.sleep(3600)
"""

    def interrupt(progress: api.Progress) -> None:
        if progress.done == 2:
            while not note.exists() or not note.read_text():
                time.sleep(0.01)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        api.run([write_story(STORY + slow)], backends=["fake"], on_progress=interrupt)
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("gradlife-crew")] == []
    assert ends(int(note.read_text()))


def test_a_framework_that_cannot_be_imported_is_one_error(
    write_story: WriteStory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gradlife.backends.fake.__name__", "gradlife.no_such_framework")
    with pytest.raises(ServerError) as caught:
        api.run([write_story(STORY)], backends=["fake"])
    reason = "ModuleNotFoundError: No module named 'gradlife.no_such_framework'"
    assert str(caught.value) == f"gradlife.no_such_framework can't be imported: {reason}"


OWN_PROFILE = """
@scenario(title="as in 1.2", profile="torch-1.2+function_ownership=weak_at_construction")
def own_profile(lab):
    lab.value("policy", lab.fw.current_profile().changes()["function_ownership"])
    lab.stage("asked")
"""


def test_a_story_with_a_profile_of_its_own_runs_where_that_profile_is_asked_only(write_story: WriteStory) -> None:
    report = api.run([write_story(OWN_PROFILE)], backends=["mini:torch-1.2", "mini:torch-2.13", "fake"])
    assert [(run.system, run.outcome) for run in report.runs] == [
        ("mini:torch-1.2", "ok"),
        ("mini:torch-2.13", "not available"),
        ("fake", "not available"),
    ]
    assert report.runs[1].reason == (
        "it is about the engine's profile torch-1.2+function_ownership=weak_at_construction"
    )
    assert [reading.value for reading in report.readings if reading.key[2:] == ("policy", "value")] == [
        "weak_at_construction"
    ]
