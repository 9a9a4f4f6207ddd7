"""SARIF 2.1.0 for code scanning: each result with its rule and its line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from gradlife._version import __version__
from gradlife.reports.formats.patch.hunt import Edit
from gradlife.reports.source_places import Place

VERSION = "2.1.0"
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

#: The base of the paths in a checkout, which the reader of the file resolves.
ROOT = "%SRCROOT%"
#: The name and version of the fingerprint by which a reader recognizes a result.
FINGERPRINT = "gradlife/v1"

ERROR, WARNING, NOTE = "error", "warning", "note"

#: Lone surrogates, which a file name may contain and UTF-8 cannot encode.
HALVES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Rule:
    """A kind of result."""

    id: str
    title: str
    help: str  # Markdown, which reads well as plain text
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fix:
    """A change that fixes a result."""

    title: str
    file: Place
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Result:
    """A finding and its places. The first place is its own; the others led to it."""

    rule: Rule
    level: str
    message: str
    places: tuple[Place, ...]
    fingerprint: str
    properties: dict[str, Any] = field(default_factory=dict)
    fix: Fix | None = None


@dataclass(frozen=True)
class Log:
    """The results of one run of a command."""

    command: str  # "gradlife hunt"
    results: tuple[Result, ...]
    is_successful: bool  # whether the command reached a verdict
    exit_status: int
    notices: tuple[str, ...] = ()  # notices of what is unknown or has no place

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of the results, by name."""
        return tuple(sorted({result.rule for result in self.results}, key=lambda rule: rule.id))


def sarif_text(log: Log) -> str:
    """Return the document."""
    document = {"$schema": SCHEMA, "version": VERSION, "runs": [run_item(log)]}
    return HALVES.sub("\ufffd", json.dumps(document, ensure_ascii=False, indent=1)) + "\n"


def run_item(log: Log) -> dict[str, Any]:
    """Return the run as a SARIF object."""
    rules = log.rules
    return {
        "tool": {"driver": {"name": "gradlife", "version": __version__, "rules": [rule_item(rule) for rule in rules]}},
        "automationDetails": {"id": f"{log.command}/"},
        "originalUriBaseIds": {ROOT: {"description": {"text": "The checkout, or else the working folder."}}},
        "invocations": [invocation_item(log)],
        "columnKind": "unicodeCodePoints",
        "results": [result_item(result, rules.index(result.rule)) for result in log.results],
    }


def rule_item(rule: Rule) -> dict[str, Any]:
    """Return a rule as a SARIF object."""
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "help": {"text": rule.help, "markdown": rule.help},
        "defaultConfiguration": {"level": ERROR},
        "properties": {"tags": list(rule.tags)},
    }


def invocation_item(log: Log) -> dict[str, Any]:
    """Describe the exit of the command."""
    notices = [{"level": NOTE, "message": {"text": notice}} for notice in log.notices]
    return {
        "executionSuccessful": log.is_successful,
        "exitCode": log.exit_status,
        "toolExecutionNotifications": notices,
    }


def result_item(result: Result, index: int) -> dict[str, Any]:
    """Return a result as a SARIF object."""
    item: dict[str, Any] = {
        "ruleId": result.rule.id,
        "ruleIndex": index,
        "level": result.level,
        "message": {"text": result.message},
        "locations": [location_item(place) for place in result.places[:1]],
        "partialFingerprints": {FINGERPRINT: result.fingerprint} if result.fingerprint else {},
        "properties": result.properties,
    }
    others = list(related(result.places[1:]))
    item |= {"relatedLocations": others} if others else {}
    return item | ({"fixes": [fix_item(result.fix)]} if result.fix is not None else {})


def fix_item(fix: Fix) -> dict[str, Any]:
    """Return the change of one file."""
    change = {"artifactLocation": artifact_item(fix.file), "replacements": [*map(replacement_item, fix.edits)]}
    return {"description": {"text": fix.title}, "artifactChanges": [change]}


def replacement_item(edit: Edit) -> dict[str, Any]:
    """Return the replacement of whole lines, from the start of the first to the start of the line after them."""
    region = {"startLine": edit.line, "startColumn": 1, "endLine": edit.line + edit.count, "endColumn": 1}
    return {"deletedRegion": region, "insertedContent": {"text": edit.text}}


def related(places: Iterable[Place]) -> Iterator[dict[str, Any]]:
    """Yield the lines from which the first one was reached."""
    for number, place in enumerate(places, 1):
        yield {"id": number, "message": {"text": "called from here"}, **location_item(place)}


def location_item(place: Place) -> dict[str, Any]:
    """Return a line of a file."""
    return {"physicalLocation": {"artifactLocation": artifact_item(place), "region": {"startLine": place.line}}}


def artifact_item(place: Place) -> dict[str, Any]:
    """Return a file as a SARIF object."""
    return {"uri": place.uri, **({"uriBaseId": ROOT} if place.is_inside else {})}
