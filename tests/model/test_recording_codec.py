from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from gradlife.model import Reading, RunCrashed, RunFailed, RunOk, RunTimedOut, RunUnavailable, SystemInfo
from gradlife.model.reading import Json
from gradlife.model.recording import RecordedStory, Recording
from gradlife.model.recording_codec import RecordingError, dumps, loads

SYSTEM = SystemInfo("torch-1.1.0", "torch-1.1", "torch", "1.1.0", "3.7.16", "Linux x86_64")


def reading(subject: str, value: Json, *seen: Json) -> Reading:
    return Reading("s/a", "end", subject, "liveness", SYSTEM.name, value, seen=seen)


RECORDING = Recording(
    SYSTEM,
    "torch@torch-1.1.0",
    "2026-01-31",
    3,
    (
        RecordedStory("aa", RunOk("s/a", SYSTEM.name, (reading("x", "gc"), reading("y", "del", "del", "gc")))),
        RecordedStory("bb", RunFailed("s/b", SYSTEM.name, error="ValueError: no"), ("failed", "ok")),
        RecordedStory("cc", RunCrashed("s/c", SYSTEM.name, exit_code=-11, signal="SIGSEGV")),
        RecordedStory("dd", RunTimedOut("s/d", SYSTEM.name, seconds=60.0)),
        RecordedStory("ee", RunUnavailable("s/e", SYSTEM.name, why="needs hooks")),
    ),
)
TEXT = dumps(RECORDING)


def test_a_recording_comes_back_as_it_was() -> None:
    assert loads(TEXT) == RECORDING
    assert loads(TEXT).unstable == 1


def test_each_reading_has_a_line_of_its_own_and_stories_are_sorted() -> None:
    assert '["end", "x", "liveness", "gc"],\n["end", "y", "liveness", "del", "unstable", ["del", "gc"]]\n]}' in TEXT
    assert dumps(replace(RECORDING, stories=RECORDING.stories[::-1])) == TEXT


def test_two_recordings_of_the_same_readings_differ_in_their_day_only() -> None:
    later = dumps(replace(RECORDING, recorded="2026-02-01"))
    assert later != TEXT
    assert later.replace("2026-02-01", "2026-01-31") == TEXT


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters())
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
words = st.text(st.characters())


@given(st.lists(st.tuples(words, words, words, values, st.lists(values, max_size=2))), words)
def test_any_readings_come_back_as_they_were(parts: list[tuple[str, str, str, Any, list[Any]]], name: str) -> None:
    readings = tuple(
        Reading(name, stage, subject, probe, SYSTEM.name, value, seen=tuple(seen))
        for stage, subject, probe, value, seen in parts
    )
    recording = replace(RECORDING, stories=(RecordedStory("aa", RunOk(name, SYSTEM.name, readings)),))
    assert loads(dumps(recording)) == recording
    assert loads(dumps(recording).encode("utf-8").decode("utf-8")) == recording


@given(st.integers(0, len(TEXT) - 3))
def test_one_that_ends_too_early_is_refused(end: int) -> None:
    with pytest.raises(RecordingError) as caught:
        loads(TEXT[:end])
    assert caught.value.message.startswith("no JSON: ")


@given(st.integers(0, len(TEXT) - 1), st.sampled_from('x1,"[]{} '))
def test_one_character_changed_by_hand_is_noticed_or_says_nothing(place: int, character: str) -> None:
    changed = TEXT[:place] + character + TEXT[place + 1 :]
    try:
        found = loads(changed)
    except RecordingError:
        return
    assert replace(found, recorded=RECORDING.recorded) == RECORDING


@given(values)
def test_any_other_json_is_refused_in_one_line(value: Any) -> None:
    with pytest.raises(RecordingError) as caught:
        loads(json.dumps(value))
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("recording/1", "recording/2", "its format is gradlife.recording/2, and this gradlife reads gradlife.recording/1"),
        ("gradlife.recording/1", "gradlife.run/1", "no recording of readings"),
        ('"gc"],', '"del"],', "line 9, story s/a: it was changed by hand"),
        ('"end", "x", "liveness", "gc"', '"end", "x"', "line 9, story s/a: its reading number 1 is not a list of stage, subject, "
         "probe and value"),
        ('"end", "x", "liveness", "gc"', '"end", 3, "liveness", "gc"',
         "line 9, story s/a: its reading number 1 is not a reading"),
        ('["del", "gc"]', "[]", "line 9, story s/a: its reading number 2 is unstable, and has no value"),
        ('"outcome": "crashed"', '"outcome": "lost"', "line 15, story s/c: 'lost' is missing or unknown"),
        ('"exit_code": -11, ', "", "line 15, story s/c: 'exit_code' is missing or unknown"),
        ('"story": "s/c"', '"story": "s/b"', "line 13, story s/b: it appears twice"),
        ('"story": "s/c"', '"story": 3', "its story number 3 has no name"),
        ('"version": "1.1.0"', '"version": "1.2.0"', "line 1: what it says of its system was changed by hand"),
        ('"rounds": 3', '"rounds": "3"', "line 1: '3' is no int"),
        ('"stories": [', '"story": [', "line 1: 'stories' is missing or unknown"),
    ],
)  # fmt: skip
def test_what_was_changed_by_hand_is_reported_with_its_place(old: str, new: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(RecordingError) as caught:
        loads(TEXT.replace(old, new, 1))
    assert caught.value.message == message


def test_what_is_nested_beyond_reason_is_refused() -> None:
    with pytest.raises(RecordingError) as caught:
        loads("[" * 200_000)
    assert caught.value.message.startswith("no JSON: ")
