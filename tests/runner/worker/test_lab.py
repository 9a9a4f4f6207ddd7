from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from gradlife.backends import fake
from gradlife.probes import graph
from gradlife.probes.expiry import watch_object
from gradlife.runner.worker.lab import StoryError, WorkerLab

Record = dict[str, Any]


class Plain:
    pass


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def records() -> list[Record]:
    return []


@pytest.fixture
def lab(records: list[Record]) -> WorkerLab:
    return WorkerLab(fake, "fake", "fake-1.0", records.append)


def values(records: list[Record], probe: str, stage: str | None = None) -> dict[str, Any]:
    return {r["subject"]: r["value"] for r in records if r["probe"] == probe and stage in (None, r["stage"])}


def test_each_stage_reads_every_subject(lab: WorkerLab, records: list[Record]) -> None:
    tensor = lab.tensor(3)
    lab.watch("t", tensor)
    lab.stage("made")
    del tensor
    lab.stage("dropped")
    assert values(records, "expiry", "made") == {"t": "alive", "t.storage": "alive"}
    assert values(records, "expiry", "dropped") == {"t": "dead", "t.storage": "dead"}
    assert values(records, "memory", "made")["watched bytes"] == 12
    assert values(records, "memory", "dropped")["watched bytes"] == 0


def test_a_subject_dead_already_is_freed_by_reference_counting(lab: WorkerLab, records: list[Record]) -> None:
    lab.watch("it", Plain())
    lab.stage("gone", all_names_gone=True)
    assert values(records, "liveness") == {"it": "del"}


def test_a_subject_in_a_cycle_is_freed_by_the_collector(lab: WorkerLab, records: list[Record]) -> None:
    subject: Any = Plain()
    subject.itself = subject
    lab.watch("it", subject)
    del subject
    lab.stage("gone", all_names_gone=True)
    assert values(records, "expiry") == {"it": "alive"}
    assert values(records, "liveness") == {"it": "gc"}


def test_a_subject_that_survives_without_a_name_is_never_freed(lab: WorkerLab, records: list[Record]) -> None:
    kept = [Plain()]
    lab.watch("it", kept[0])
    lab.stage("gone", all_names_gone=True)
    lab.finish()
    assert values(records, "liveness") == {"it": "never"}


def test_a_subject_that_the_story_holds_is_held_until_released(lab: WorkerLab, records: list[Record]) -> None:
    subject = Plain()
    lab.watch("it", subject)
    lab.hold(subject)
    del subject
    lab.stage("held", all_names_gone=True)
    lab.release()
    lab.stage("released", all_names_gone=True)
    lab.finish()
    assert [(r["stage"], r["value"]) for r in records if r["probe"] == "liveness"] == [
        ("held", "held"),
        ("released", "del"),
    ]


def test_a_verdict_of_held_is_corrected_if_something_else_held_it_too(lab: WorkerLab, records: list[Record]) -> None:
    kept = [Plain()]
    lab.watch("it", kept[0])
    lab.hold(kept[0])
    lab.stage("held", all_names_gone=True)
    lab.finish()
    assert [r["value"] for r in records if r["probe"] == "liveness"] == ["held", "never"]


def test_the_graph_is_asked_of_what_lives_before_the_collector_runs(lab: WorkerLab, records: list[Record]) -> None:
    ring: Any = Plain()
    ring.itself = ring
    lab.watch("ring", ring)
    lab.watch("gone", Plain())
    held = Plain()
    lab.watch("held", held)
    lab.hold(held)
    del ring, held
    lab.stage("judged", all_names_gone=True)
    assert values(records, "graph") == {"ring": "gc", "held": "held"}
    assert values(records, "liveness") == {"ring": "gc", "gone": "del", "held": "held"}


def test_the_graph_is_asked_again_once_what_the_story_held_is_released(lab: WorkerLab, records: list[Record]) -> None:
    subject = Plain()
    lab.watch("it", subject)
    lab.hold(subject)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(subject))
    del subject
    lab.stage("held", all_names_gone=True)
    lab.finish()
    assert [r["value"] for r in records if r["probe"] == "graph"] == ["held", "never"]
    assert [r["value"] for r in records if r["probe"] == "liveness"] == ["held", "never"]


def test_an_old_interpreter_does_without_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "OLDEST_PYTHON", (9, 0))
    kept = Plain()
    assert graph.lifetimes_of([watch_object("it", kept)]) == {}


def test_a_story_that_left_a_name_is_reported(lab: WorkerLab) -> None:
    def story() -> None:
        subject = Plain()
        lab.watch("it", subject)
        lab.stage("gone", all_names_gone=True)
        assert subject

    story()
    with pytest.raises(StoryError, match=r"^all names were declared gone, but a variable of the story still held: it$"):
        lab.finish()


def test_an_unwatchable_subject_is_inconclusive(lab: WorkerLab, records: list[Record]) -> None:
    lab.watch("it", 10**9)
    lab.stage("gone", all_names_gone=True)
    lab.finish()
    assert values(records, "expiry") == {"it": "inconclusive"}
    assert values(records, "liveness") == {"it": "inconclusive"}


def test_two_subjects_of_one_name_are_refused(lab: WorkerLab) -> None:
    lab.watch("it", Plain())
    with pytest.raises(StoryError, match="two subjects are named 'it'"):
        lab.watch("it", Plain())


def test_two_stages_of_one_name_are_refused(lab: WorkerLab) -> None:
    lab.stage("one")
    with pytest.raises(StoryError, match=r"^two stages are named 'one'$"):
        lab.stage("one")


def test_two_values_of_one_name_in_one_stage_are_refused(lab: WorkerLab) -> None:
    lab.value("v", 1)
    lab.stage("one")
    lab.value("v", 2)
    lab.value("v", 3)
    with pytest.raises(StoryError, match=r"^the value of 'v' is given twice for stage 'two'$"):
        lab.stage("two")


def test_a_value_belongs_to_the_stage_that_the_story_reaches_next(lab: WorkerLab, records: list[Record]) -> None:
    lab.value("a", (1, 2.0))
    lab.stage("first")
    lab.value("b", "text")
    lab.stage("second")
    lab.value("c", None)
    lab.finish()
    found = [(r["stage"], r["subject"], r["value"]) for r in records if r["probe"] == "value"]
    assert found == [("first", "a", [1, 2.0]), ("second", "b", "text"), ("second", "c", None)]


def test_an_attempt_records_a_value_or_an_error_and_keeps_no_frame(lab: WorkerLab, records: list[Record]) -> None:
    def fails() -> None:
        local = Plain()
        lab.watch("local", local)
        raise KeyError("boom")

    assert lab.attempt("good", lambda: [1]) == [1]
    assert lab.attempt("bad", fails) == "KeyError: 'boom'"
    lab.stage("after", all_names_gone=True)
    assert values(records, "value") == {"good": [1], "bad": "KeyError: 'boom'"}
    assert values(records, "liveness") == {"local": "del"}


def test_an_attempt_keeps_no_frame_of_an_error_beside_the_cause(lab: WorkerLab, records: list[Record]) -> None:
    cause, left = OSError("cause"), []

    def handled() -> None:
        local = Plain()
        lab.watch("local", local)
        raise KeyError("handled")

    def fails() -> None:
        try:
            handled()
        except KeyError as error:
            left.append(error)
            raise ValueError("boom") from cause

    assert lab.attempt("bad", fails) == "ValueError: boom"
    lab.stage("after", all_names_gone=True)
    assert values(records, "liveness") == {"local": "del"}


def test_a_value_after_the_last_stage_is_refused_if_that_has_it_already(lab: WorkerLab) -> None:
    lab.value("v", 1)
    lab.stage("one")
    lab.value("v", 2)
    with pytest.raises(StoryError, match=r"^the value of 'v' is given twice for stage 'one'$"):
        lab.finish()


def test_an_attempt_passes_on_what_should_end_the_story(lab: WorkerLab) -> None:
    with pytest.raises(SystemExit):
        lab.attempt("leaves", sys.exit)


def test_an_explicit_count_is_that_beyond_an_object_with_one_name(lab: WorkerLab, records: list[Record]) -> None:
    subject = Plain()
    lab.refcount("alone", subject)
    holders = [subject] * 3
    lab.refcount("held", subject)
    lab.stage("counted")
    assert values(records, "refcount") == {"alone": 0, "held": len(holders)}


def test_identity_of_an_attribute_is_kept(lab: WorkerLab, records: list[Record]) -> None:
    holder: Any = Plain()
    holder.part = Plain()
    lab.identity("part", lambda: holder.part)
    lab.stage("asked")
    assert values(records, "identity") == {
        "part.distinct ids": 1,
        "part.distinct ids apart": 1,
        "part.is same": True,
        "part.type": "Plain",
        "part.attribute kept": True,
        "part.weak reference kept": True,
    }
    assert vars(holder.part) == {}


def test_identity_of_a_fresh_wrapper_is_lost(lab: WorkerLab, records: list[Record]) -> None:
    lab.identity("made", lambda: fake.ones(4), setter_attr=False)  # of the size of what is kept between the readings
    lab.stage("asked")
    found = values(records, "identity")
    assert found.pop("made.distinct ids") >= 1
    assert found.pop("made.distinct ids apart") > 1
    assert found == {"made.is same": False, "made.type": "Tensor", "made.weak reference kept": False}


def test_bytes_alive_follow_the_storage(lab: WorkerLab) -> None:
    tensor = lab.tensor(5, requires_grad=True)
    lab.watch("t", tensor)
    assert lab.bytes_alive("t") == 20
    del tensor
    assert lab.bytes_alive("t") == 0


def engine(log: list[Record]) -> Any:
    """A framework with an event log."""
    module = ModuleType("engine")
    vars(module).update(vars(fake))
    module.events = lambda: [type("Event", (), dict(event)) for event in log]  # type: ignore[attr-defined]
    module.clear_events = log.clear  # type: ignore[attr-defined]
    module.live_counts = lambda: {"tensor": len(log)}  # type: ignore[attr-defined]
    return module


def make_logging(log: list[Record]) -> Callable[[int], Any]:
    def ones(n: int) -> Any:
        log.append({"kind": "created", "seq": len(log), "object_kind": "tensor"})
        return fake.ones(n)

    return ones


def test_events_are_counted_by_stage_without_those_of_the_lab(records: list[Record]) -> None:
    log: list[Record] = []
    fw = engine(log)
    fw.ones = make_logging(log)
    lab = WorkerLab(fw, "engine", "engine", records.append, also=["events"])
    lab.tensor(1)
    lab.tensor(1)
    lab.identity("t", lambda: None, setter_attr=False)  # the lab makes tensors of its own here
    lab.stage("made")
    lab.stage("nothing happened")
    readings = [r for r in records if r["kind"] == "reading"]
    assert values(readings, "events", "made") == {"created": 2}
    assert values(readings, "events", "nothing happened") == {}
    assert [r["event"]["kind"] for r in records if r["kind"] == "event"] == ["created", "created"]
