"""The mini engine in fork servers: profiles, mutants, its event log and its ownership trees."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gradlife.model import RunOk, codec
from gradlife.runner import api

pytest.importorskip("gradlife._engine")

WriteStory = Callable[..., str]

STORY = """
@scenario(
    title="a Function saves its own output",
    expects=[
        Expect("ctx", "never", on="torch-1.1 torch-1.2", because="the collector cannot see through the graph"),
        Expect("ctx", "gc", on="torch-*", because="it can"),
    ],
)
def saves(lab):
    class F(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.y = y
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    y = F.apply(lab.tensor(requires_grad=True))
    lab.watch("y", y)
    lab.watch("ctx", y.grad_fn)
    lab.value("profile", lab.profile)
    lab.stage("made")
    del y, F
    lab.stage("gone", all_names_gone=True)
"""


def test_each_profile_runs_the_story_in_its_own_process(write_story: WriteStory) -> None:
    names = ["mini:torch-1.2", "mini:torch-2.13", "mini:torch-2.13+tensor_identity=mutual"]
    report = api.run([write_story(STORY)], backends=names)
    values = {r.system: r.value for r in report.readings if (r.subject, r.probe) == ("ctx", "liveness")}
    assert values == {names[0]: "never", names[1]: "gc", names[2]: "never"}
    assert [(result.system, result.declared, result.got) for result in report.contradictions] == [
        (names[2], "gc", "never")
    ]
    assert {r.value for r in report.readings if r.subject == "profile" and r.system != names[0]} == {"torch-2.13"}


def test_the_event_log_comes_along_when_asked_for(write_story: WriteStory) -> None:
    path = write_story(STORY)
    (plain,) = api.run([path], backends=["mini:torch-2.13"]).runs
    report = api.run([path], backends=["mini:torch-2.13"], with_events=True, with_owners=True)
    (run,) = report.runs
    assert isinstance(plain, RunOk)
    assert isinstance(run, RunOk)
    assert (plain.events, plain.owners) == ((), ())
    assert plain.readings[0].probe == "value"
    kinds = {(event.stage, event.kind) for event in run.events}
    assert {("made", "created"), ("gone", "destroyed")} <= kinds
    assert [event.seq for event in run.events] == sorted(event.seq for event in run.events)
    assert {event.subject for event in run.events} >= {"", "y"}
    assert [(owners.stage, owners.subject) for owners in run.owners if owners.subject == "y"] == [
        ("made", "y"),
        ("gone", "y"),
    ]
    assert "strong" in run.owners[0].text
    assert codec.loads(codec.dumps(report)) == report


def test_counts_of_events_and_living_objects_are_readings(write_story: WriteStory) -> None:
    (run,) = api.run([write_story(STORY)], backends=["mini:torch-2.13"]).runs
    found = {(r.stage, r.probe, r.subject): r.value for r in run.readings if r.probe in ("live", "events")}
    assert found["made", "live", "tensor"] >= 2
    assert found["gone", "live", "tensor"] == 0
    assert found["gone", "events", "destroyed"] > 0


def test_a_run_in_this_process_leaves_its_profile_as_it_was(write_story: WriteStory) -> None:
    from gradlife import engine

    before = str(engine.current_profile())
    report = api.run([write_story(STORY)], backends=["mini:torch-1.10"], in_process=True)
    assert [result.got for result in report.expectations] == ["gc"]
    assert str(engine.current_profile()) == before


@pytest.mark.torch
def test_the_engine_and_torch_agree_on_every_reading(write_story: WriteStory) -> None:
    report = api.run([write_story(STORY)], backends=["mini:torch-2.13", "torch"])
    torch = next(system for system in report.systems if system.name == "torch")
    if torch.profile != "torch-2.13":
        pytest.skip(f"the profile imitates another release than {torch.version}")
    assert [c for c in report.comparisons if c.status in ("differs", "not available")] == []
    assert report.totals.compared == report.totals.same > 10
