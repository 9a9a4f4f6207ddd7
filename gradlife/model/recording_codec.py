"""Read and write a recording as JSON text, `gradlife.recording/1`: a line per reading, sorted by scenario, with seals.

A manual edit breaks the seal of its story: a recording is evidence, and only running its stories again renews it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from gradlife.errors import UsageError
from gradlife.model.from_json import built, finite
from gradlife.model.reading import Reading
from gradlife.model.recording import RecordedStory, Recording
from gradlife.model.run import OUTCOMES, RunCrashed, RunFailed, RunTimedOut, RunUnavailable, ScenarioRun
from gradlife.model.system import SystemInfo

FORMAT = "gradlife.recording/1"
FAMILY = "gradlife.recording/"

#: Fields of each ending that are kept besides its readings: those that are equal in every run.
KEPT: dict[type[Any], tuple[str, ...]] = {
    RunFailed: ("error",),
    RunCrashed: ("exit_code", "signal"),
    RunTimedOut: ("seconds",),
    RunUnavailable: ("why",),
}

UNSTABLE = "unstable"
_SEAL_LENGTH = 12
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class RecordingError(UsageError):
    """The text is not a recording, or was edited by hand; the message says where."""


def dumps(recording: Recording) -> str:
    """Return the recording as text. Recordings of the same readings differ only in their day."""
    head = _head(recording)
    fields = {**head, "seal": seal(head), "recorded": recording.recorded}
    lines = [f"{json.dumps(name)}: {_text(value)}," for name, value in fields.items()]
    stories = sorted(recording.stories, key=lambda story: story.scenario)
    return "{\n" + "\n".join(lines) + '\n"stories": [\n' + ",\n".join(map(_story_text, stories)) + "\n]\n}\n"


def loads(text: str) -> Recording:
    """Read a recording from text. Raises `RecordingError` if it is not one or was edited by hand."""
    try:
        document = json.loads(text, parse_float=finite)
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"no JSON: {error}") from None
    form = document.get("format") if isinstance(document, dict) else None
    if not isinstance(form, str) or not form.startswith(FAMILY):
        raise RecordingError("no recording of readings")
    if form != FORMAT:
        raise RecordingError(f"its format is {form}, and this gradlife reads {FORMAT}")
    try:
        return _decoded(document, text)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise RecordingError(f"line 1: {_complaint(error)}") from None


def seal(content: Any) -> str:
    """Return a short digest of a JSON value."""
    return hashlib.sha256(_text(content).encode("utf-8")).hexdigest()[:_SEAL_LENGTH]


def _head(recording: Recording) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "system": asdict(recording.system),
        "backend": recording.backend,
        "rounds": recording.rounds,
    }


def _story_text(story: RecordedStory) -> str:
    content = _story_content(story)
    readings = content.pop("readings")
    front = _text({**content, "seal": seal([content, readings])})[:-1]
    return front + ', "readings": [' + ",".join("\n" + _text(reading) for reading in readings) + "\n]}"


def _story_content(story: RecordedStory) -> dict[str, Any]:
    run = story.run
    content: dict[str, Any] = {"story": run.scenario, "digest": story.digest, "outcome": run.outcome}
    content.update((name, getattr(run, name)) for name in KEPT.get(type(run), ()))
    if story.outcomes:
        content["outcomes"] = list(story.outcomes)
    return {**content, "readings": [_reading_content(reading) for reading in run.readings]}


def _reading_content(reading: Reading) -> list[Any]:
    content = [reading.stage, reading.subject, reading.probe, reading.value]
    return content if reading.is_stable else [*content, UNSTABLE, list(reading.seen)]


def _decoded(document: dict[str, Any], text: str) -> Recording:
    system = built(SystemInfo, document["system"])
    recording = Recording(
        system, built(str, document["backend"]), built(str, document["recorded"]), built(int, document["rounds"])
    )
    if document.get("seal") != seal(_head(recording)):
        raise RecordingError("line 1: what it says of its system was changed by hand")
    stories = tuple(_stories(document["stories"], system.name, text))
    return Recording(system, recording.backend, recording.recorded, recording.rounds, stories)


def _stories(items: Any, system: str, text: str) -> Iterator[RecordedStory]:
    known: set[str] = set()
    for number, item in enumerate(built(tuple[dict[str, object], ...], items), 1):
        name = item.get("story")
        if not isinstance(name, str):
            raise RecordingError(f"its story number {number} has no name")
        place = f"line {_line_of(name, text)}, story {name}"
        if name in known:
            raise RecordingError(f"{place}: it appears twice")
        known.add(name)
        try:
            story = _story(item, system)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise RecordingError(f"{place}: {_complaint(error)}") from None
        if _seal_of(item) != item.get("seal"):
            raise RecordingError(f"{place}: it was changed by hand")
        yield story


def _story(item: dict[str, Any], system: str) -> RecordedStory:
    kind = OUTCOMES[item["outcome"]]
    readings = tuple(_reading(part, number, item["story"], system) for number, part in _numbered(item["readings"]))
    fields = {name: item[name] for name in KEPT.get(kind, ())}
    run: ScenarioRun = built(kind, {**fields, "scenario": item["story"], "system": system})
    outcomes = built(tuple[str, ...], item.get("outcomes", ()))
    return RecordedStory(built(str, item["digest"]), type(run)(**{**_fields(run), "readings": readings}), outcomes)


def _fields(run: ScenarioRun) -> dict[str, Any]:
    """Return the fields of a run except its readings."""
    return {name: getattr(run, name) for name in ("scenario", "system", *KEPT.get(type(run), ()))}


def _reading(part: Any, number: int, scenario: str, system: str) -> Reading:
    if not isinstance(part, list) or len(part) not in (4, 6):
        raise ValueError(f"its reading number {number} is not a list of stage, subject, probe and value")
    if not all(isinstance(word, str) for word in part[:3]) or part[4:5] not in ([], [UNSTABLE]):
        raise ValueError(f"its reading number {number} is not a reading")
    seen = built(tuple[object, ...], part[5]) if len(part) == 6 else ()
    if len(part) == 6 and not seen:
        raise ValueError(f"its reading number {number} is unstable, and has no value")
    return Reading(scenario, part[0], part[1], part[2], system, part[3], seen=seen)


def _numbered(items: Any) -> Iterable[tuple[int, Any]]:
    if not isinstance(items, list):
        raise TypeError("its readings are no list")
    return enumerate(items, 1)


def _seal_of(item: dict[str, Any]) -> str:
    """Return the expected seal of a story."""
    content = {name: value for name, value in item.items() if name not in ("seal", "readings")}
    return seal([content, item["readings"]])


def _line_of(name: str, text: str) -> int:
    """Return the line on which a story begins."""
    return text.count("\n", 0, max(0, text.find('{"story": ' + _text(name)))) + 1


def _complaint(error: Exception) -> str:
    """Describe what is wrong with the text."""
    return f"{error.args[0]!r} is missing or unknown" if isinstance(error, KeyError) else str(error)


def _text(content: Any) -> str:
    text = json.dumps(content, ensure_ascii=False)
    return json.dumps(content) if _LONE_SURROGATE.search(text) else text  # lone surrogates cannot be encoded as UTF-8
