"""The requirements of SARIF 2.1.0 on the parts that gradlife writes: required properties, types, and enumeration
values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

LEVELS = {"none", "note", "warning", "error"}
#: A URI, or a reference relative to one: no blank, no backslash, nothing unescaped beyond ASCII (RFC 3986).
URI = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*")

Check = Callable[[Any, str], Iterator[str]]


def wrong_in(document: Any) -> list[str]:
    """Everything in a log that the specification forbids, with its place."""
    return list(shape({"version": equals("2.1.0"), "runs": many(run)}, {"$schema": uri})(document, "$"))


def shape(required: dict[str, Check], optional: dict[str, Check] | None = None) -> Check:
    """An object with these properties and no other."""

    def check(value: Any, place: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{place} is no object"
            return
        known = {**required, **(optional or {})}
        yield from (f"{place} lacks {name}" for name in required if name not in value)
        for name, part in value.items():
            yield from known[name](part, f"{place}.{name}") if name in known else [f"{place} has no {name}"]

    return check


def many(check: Check, unique: bool = False) -> Check:
    """An array."""

    def checked(value: Any, place: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield f"{place} is no array"
            return
        if unique and len({str(item) for item in value}) < len(value):
            yield f"{place} has an item twice"
        for number, item in enumerate(value):
            yield from check(item, f"{place}[{number}]")

    return checked


def of_type(kind: type, test: Callable[[Any], object] = lambda _: True) -> Check:
    def check(value: Any, place: str) -> Iterator[str]:
        if type(value) is not kind or not test(value):
            yield f"{place} may not be {value!r}"

    return check


def equals(wanted: str) -> Check:
    return of_type(str, lambda value: value == wanted)


text = of_type(str)
filled = of_type(str, bool)
uri = of_type(str, URI.fullmatch)
level = of_type(str, LEVELS.__contains__)
bag = of_type(dict)
index = of_type(int, lambda value: value >= 0)
line = of_type(int, lambda value: value >= 1)
message = shape({"text": filled})
rich_message = shape({"text": filled}, {"markdown": filled})


def fingerprints(value: Any, place: str) -> Iterator[str]:
    """An object of texts whose names may end in a version."""
    for name, one in value.items():
        yield from filled(one, f"{place}.{name}")
        if not re.fullmatch(r"[^/]+(/[^/]+)*/v[0-9]+", name):
            yield f"{place}.{name} has no version"


artifact = shape({"uri": uri}, {"uriBaseId": filled})
physical = shape({"artifactLocation": artifact, "region": shape({"startLine": line})})
whole_region = shape({"startLine": line, "startColumn": line, "endLine": line, "endColumn": line})
replacement = shape({"deletedRegion": whole_region}, {"insertedContent": shape({"text": text})})
change = shape({"artifactLocation": artifact, "replacements": many(replacement)})
fix = shape({"artifactChanges": many(change)}, {"description": message})
location = shape({"physicalLocation": physical}, {"id": index, "message": message})
rule = shape(
    {"id": filled},
    {
        "shortDescription": message,
        "help": rich_message,
        "defaultConfiguration": shape({}, {"level": level}),
        "properties": shape({}, {"tags": many(filled, unique=True)}),
    },
)
driver = shape({"name": filled}, {"version": filled, "rules": many(rule, unique=True)})
notification = shape({"message": message}, {"level": level})
invocation = shape(
    {"executionSuccessful": of_type(bool)},
    {"exitCode": of_type(int), "toolExecutionNotifications": many(notification)},
)
result = shape(
    {"message": message, "locations": many(location), "ruleId": filled},
    {
        "ruleIndex": index,
        "level": level,
        "partialFingerprints": fingerprints,
        "relatedLocations": many(location, unique=True),
        "fixes": many(fix),
        "properties": bag,
    },
)
run_parts = shape(
    {"tool": shape({"driver": driver}), "results": many(result)},
    {
        "automationDetails": shape({}, {"id": filled}),
        "originalUriBaseIds": bag,
        "invocations": many(invocation),
        "columnKind": of_type(str, {"utf16CodeUnits", "unicodeCodePoints"}.__contains__),
    },
)


def run(value: Any, place: str) -> Iterator[str]:
    """A run, and that its results name its rules rightly."""
    wrong = list(run_parts(value, place))
    yield from wrong
    if wrong:
        return
    rules = value["tool"]["driver"].get("rules", [])
    for number, one in enumerate(value["results"]):
        if not 0 <= one["ruleIndex"] < len(rules) or rules[one["ruleIndex"]]["id"] != one["ruleId"]:
            yield f"{place}.results[{number}] names another rule than it points at"
