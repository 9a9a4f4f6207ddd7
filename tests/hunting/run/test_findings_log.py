"""Findings are written once, also when the program runs again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fabricated_hunts import CLEAN, CYCLE, LOSSES, hunt
from gradlife.errors import UsageError
from gradlife.program.durations import seconds_of
from gradlife.program.hunt.findings_log import FindingsLog


def test_a_finding_is_told_once_and_written_as_a_line_of_json(tmp_path: Path) -> None:
    path = tmp_path / "leaks.jsonl"
    log = FindingsLog(str(path))
    assert log.take(CLEAN) == ()
    assert log.take(hunt(LOSSES)) == (LOSSES,)
    assert log.take(hunt(LOSSES, CYCLE)) == (CYCLE,)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(one["code"], one["target"], one["steps"]) for one in lines] == [
        ("GL402", "train.py", 24),
        ("GL101", "train.py", 24),
    ]
    assert lines[0]["per_step"]["bytes"] == 65536


def test_what_was_told_is_remembered_when_the_program_runs_again(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    assert FindingsLog(None, state).take(hunt(LOSSES)) == (LOSSES,)
    again = FindingsLog(None, state)
    other = replace(LOSSES, fingerprint="other")
    assert again.take(hunt(LOSSES, other)) == (other,)
    document = json.loads(Path(state).read_text())
    assert document["format"] == "gradlife.watch/1"
    assert list(document["findings"]) == [LOSSES.fingerprint, "other"]


def test_what_an_earlier_version_told_is_remembered_under_its_fingerprint_of_now(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    FindingsLog(None, state).take(hunt(replace(LOSSES, fingerprint="old")))
    now = replace(LOSSES, fingerprint="now", legacy_fingerprint="old")
    assert FindingsLog(None, state).take(hunt(now)) == ()
    assert list(json.loads(Path(state).read_text())["findings"]) == ["now"]
    another = replace(now, fingerprint="another")
    assert FindingsLog(None, state).take(hunt(another)) == (another,)


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        "[]",
        '{"format": "another"}',
        '{"format": "gradlife.watch/1"}',
        '{"format": "gradlife.watch/1", "findings": {"a": 3}}',
        pytest.param("[" * 100_000, id="nested 100,000 deep"),
    ],
)
def test_a_file_that_is_no_state_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "state").write_text(text)
    with pytest.raises(UsageError, match="is no state of gradlife"):
        FindingsLog(None, str(tmp_path / "state"))


def test_a_file_that_cannot_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        FindingsLog(str(tmp_path / "missing" / "leaks.jsonl"))


@pytest.mark.parametrize(
    ("words", "seconds"),
    [("90", 90), ("90s", 90), ("10 min", 600), ("10min", 600), ("1 minute", 60), ("2 hours", 7200), ("3d", 259_200)],
)
def test_a_time_is_read_as_people_write_it(words: str, seconds: float) -> None:
    assert seconds_of(words) == seconds


@pytest.mark.parametrize("words", ["", "s", "0", "ten min", "5 parsecs", "-3s", 0.0, -1.5])
def test_what_is_no_time_is_refused(words: str | float) -> None:
    with pytest.raises(UsageError, match="is no time"):
        seconds_of(words)
