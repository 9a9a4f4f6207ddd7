"""Documents in JSON of strangers, by every reader: each takes time and memory in proportion to its size, or is refused
in one short line.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fabricated_hunts import EVERYTHING
from gradlife.backends import recorded
from gradlife.cli.hunt import read_report
from gradlife.errors import GradlifeError
from gradlife.model import hunt_codec, recording_codec
from gradlife.model.codec import CodecError
from gradlife.model.from_json import document_text
from gradlife.model.watching.out_of_memory import Growth, LiveOwner, OutOfMemory, out_of_memory_in
from gradlife.program.hunt.findings_log import FORMAT as STATE_FORMAT, read_state
from gradlife.pytest_plugin.outcomes import baseline
from work_done import lines_run

Gradlife = Callable[..., tuple[int, str, str]]


def known(count: int) -> str:
    found = [baseline.Known(f"{n:08x}", "GL402", "a list", ("t.py::t",)) for n in range(count)]
    return baseline.dumps(baseline.Baseline({one.fingerprint: one for one in found}))


def state(count: int) -> str:
    return json.dumps({"format": STATE_FORMAT, "findings": {f"{n:08x}": {"code": "GL402"} for n in range(count)}})


def oom(count: int) -> str:
    owners = tuple(LiveOwner(f"global variable {n}", n) for n in range(count))
    growth = tuple(Growth(f"type {n}", 1, n) for n in range(count))
    return OutOfMemory("MemoryError", "12:00:00", 1, None, 1, 1, {}, owners, growth, (), ()).dumps()


def hunt(count: int) -> str:
    document = json.loads(hunt_codec.dumps(EVERYTHING))
    document["findings"] *= count
    return json.dumps(document)


def recording(count: int) -> str:
    """A recording, one of whose stories has many readings more than it had."""
    whole = json.loads((recorded.folder() / "torch-2.13.0.json").read_text("utf-8"))
    story = max(whole["stories"], key=lambda one: len(one.get("readings", ())))
    story["readings"] = story["readings"] * count
    story["seal"] = recording_codec._seal_of(story)
    return json.dumps({**whole, "stories": [story]})


READERS: dict[str, tuple[Callable[[Path], object], Callable[[int], str]]] = {
    "a baseline": (lambda path: baseline.read([path]), known),
    "a state": (lambda path: read_state(str(path)), state),
    "memory that ran out": (lambda path: out_of_memory_in(str(path)), oom),
    "a hunt": (lambda path: read_report(str(path)), hunt),
    "a recording": (recorded.read, recording),
}


@pytest.fixture(params=READERS)
def reader(request: pytest.FixtureRequest) -> tuple[Callable[[Path], object], Callable[[int], str]]:
    return READERS[request.param]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    items = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    for key, item in items:
        yield value, key
        yield from places(item)


HUGE: dict[str, str] = {
    "a text of a megabyte": json.dumps("x" * 10**6),
    "a list of a megabyte": json.dumps(["x"] * 10**5),
    "a number of 4,000 digits": "9" * 4000,
    "infinity": "1e999",
    "a nesting of 100,000": "[" * 10**5 + "]" * 10**5,
}


def error_of(read: Callable[[Path], object], path: Path) -> str:
    """What the reader says; empty if it reads the file."""
    try:
        read(path)
    except GradlifeError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("huge", HUGE)
def test_an_error_is_short_whatever_stands_in_a_field(
    reader: tuple[Callable[[Path], object], Callable[[int], str]], huge: str, tmp_path: Path
) -> None:
    """A wrong value of a megabyte was quoted in an error of a megabyte."""
    read, make = reader
    path = tmp_path / "x.json"
    document = json.loads(make(1))
    for container, key in list(places(document))[:60]:
        before = container[key]
        container[key] = "HUGE"
        path.write_text(json.dumps(document).replace('"HUGE"', HUGE[huge]), encoding="utf-8")
        container[key] = before
        said = error_of(read, path)
        assert len(said) <= 2000
        assert "\n" not in said


def test_the_work_of_a_reader_is_in_proportion_to_the_file(
    reader: tuple[Callable[[Path], object], Callable[[int], str]], tmp_path: Path
) -> None:
    """Four times as much is four times the work, not sixteen times."""
    read, make = reader
    path, said, lines = tmp_path / "x.json", [], []
    for count in (200, 800):
        path.write_text(make(count), encoding="utf-8")
        lines.append(lines_run(lambda: said.append(error_of(read, path))))
    assert said == ["", ""] or make is recording  # a reading in two places
    assert lines[1] < 5 * lines[0]


def test_a_document_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """`/dev/zero` was read until memory ran out."""
    monkeypatch.setattr("gradlife.model.from_json.MOST_BYTES", 1 << 20)
    with pytest.raises(ValueError, match="it has more than 1 MiB"):
        document_text("/dev/zero")


@pytest.mark.parametrize(
    "words", [("hunt", "--verify", "/dev/zero", "/dev/zero"), ("run", "--backend", "recorded:/dev/zero")]
)
def test_a_device_takes_no_more_than_a_document_may_have(words: tuple[str, ...]) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))

    command = [sys.executable, "-m", "gradlife", *words]
    done = subprocess.run(command, preexec_fn=limit, capture_output=True, text=True, timeout=900)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "it has more than 256 MiB" in done.stderr


def test_a_short_document_takes_no_more_than_it_has(tmp_path: Path) -> None:
    """256 MiB were allocated for each."""
    (tmp_path / "x.json").write_text("{}")
    tracemalloc.start()
    try:
        assert document_text(tmp_path / "x.json") == "{}"
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_a_number_that_no_memory_has_is_refused() -> None:
    text = hunt_codec.dumps(EVERYTHING).replace('"retained_bytes": ', '"retained_bytes": 9007199254740993, "no": ', 1)
    with pytest.raises(CodecError, match="a size is larger than any memory"):
        hunt_codec.loads(text)


def test_a_bound_as_large_as_python_has_is_read() -> None:
    """`deque(maxlen=sys.maxsize)` bounds nothing, and stands in a report."""
    text = hunt_codec.dumps(EVERYTHING).replace('"warmup_steps": ', f'"warmup_steps": {sys.maxsize}, "no": ', 1)
    assert hunt_codec.loads(text).warmup_steps == sys.maxsize


@pytest.mark.parametrize("limit", ["999999999999999999T", "10000T", "0", "0.0G", "1e5G", "-1G", "9" * 400 + "G"])
def test_a_limit_that_no_memory_has_is_refused(gradlife: Gradlife, limit: str) -> None:
    """The report of the hunt had a number that no reader of reports takes."""
    status, _, errors = gradlife("hunt", f"--memory-limit={limit}", "train.py")
    assert (status, errors.count("\n")) == (2, 1)
    assert "is not a size: 500M, 8G" in errors
