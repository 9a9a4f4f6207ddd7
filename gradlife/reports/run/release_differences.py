"""The differences between releases, most costly first: one sentence each, from the readings alone."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gradlife.model import ScenarioInfo, SystemInfo
from gradlife.model.reading import Json, ReadingKey
from gradlife.reports.run.suites import ANSWERS
from gradlife.reports.run.view import LIVENESS, RunView
from gradlife.reports.values import plain

#: The cost of an object that stays, by its lifetime verdict.
PRICES = {"del": 0, "held": 1, "gc": 2, "never": 4}
VERDICT_WORDS = {"del": "is freed at once", "held": "is held", "gc": "waits for the collector", "never": "leaks"}

#: The cost of a difference in another probe. A call that raises in only one release costs more than a different value.
ANSWER_PRICES = {"exit": 2, "identity": 1, "value": 0}

#: The least cost of a difference in a verdict; all other differences cost less.
MIN_OF_VERDICTS = 4
RAISES = re.compile(r"([A-Z]\w*(?:Error|Exception|Warning)): ")

#: Most characters of a value within a sentence.
VALUE_LIMIT = 24


@dataclass(frozen=True)
class Release:
    """The release that a system is or imitates; a system without one stands for itself."""

    framework: str
    version: str

    @property
    def order(self) -> tuple[int, ...]:
        """The sort key of a release within its framework."""
        return tuple(int(number) for number in re.findall(r"\d+", self.version))


@dataclass(frozen=True)
class Difference:
    """One answer that differs between releases: the story, the statements about it, worst first, and the cost."""

    story: ScenarioInfo
    statements: tuple[str, ...]
    price: int
    is_at_home: bool  # whether releases of the reference's framework differ
    alike: int = 1  # stories of the same pattern with the same statement

    @property
    def rank(self) -> tuple[int, bool, bool, int]:
        """The sort key: the difference most worth knowing first."""
        return (-self.price, not self.is_at_home, bool(self.story.context), -self.alike)


def choose(view: RunView, limit: int) -> tuple[list[Difference], int]:
    """Return the best difference of each suite, then the best of the rest, sorted by rank, and the total number."""
    found = sorted(merge(find(view)), key=lambda one: one.rank)
    chosen: dict[str, Difference] = {}
    for one in found:
        chosen.setdefault(one.story.suite, one)
    picked = list(chosen.values())[:limit]
    picked += [one for one in found if one not in picked][: limit - len(picked)]
    return sorted(picked, key=lambda one: one.rank), len(found)


def merge(found: Iterable[Difference]) -> list[Difference]:
    """Return one difference for all stories of a pattern with the same statements."""
    groups: dict[tuple[str, tuple[str, ...]], list[Difference]] = {}
    for one in found:
        groups.setdefault((one.story.pattern or one.story.family, one.statements), []).append(one)
    return [merged(group) for group in groups.values()]


def merged(group: Sequence[Difference]) -> Difference:
    """Return the difference that stands for a group: preferably of a story that is not a twin and has no context."""
    first = min(group, key=lambda one: (bool(one.story.fixed_of), bool(one.story.context)))
    names = {one.story.family for one in group}
    return Difference(first.story, first.statements, first.price, first.is_at_home, len(names))


def find(view: RunView) -> Iterator[Difference]:
    """Yield the most costly difference of each story."""
    releases = {system.name: release_of(system) for system in view.systems}
    home = releases[view.systems[0].name].framework if view.systems else ""
    for story in view.report.scenarios:
        ours = [one for key in candidates(view, story) if (one := describe(view, story, key, releases, home))]
        if ours:
            yield min(ours, key=lambda one: one.rank)


def candidates(view: RunView, story: ScenarioInfo) -> list[ReadingKey]:
    """Yield the answers of a story: the verdict that it is about, then the others, the last first."""
    main = view.main_key(story)
    last_first = view.keys.get(story.id, [])[::-1]
    return sorted(last_first, key=lambda key: key != main)


def release_of(system: SystemInfo) -> Release:
    """Return the release behind a system's profile; a changed profile has none."""
    framework, _, version = system.profile.rpartition("-")
    if not framework or not version[:1].isdigit() or "+" in system.name:
        return Release(system.name, "")
    return Release(framework, version)


def describe(
    view: RunView, story: ScenarioInfo, key: ReadingKey, releases: Mapping[str, Release], home: str
) -> Difference | None:
    """Describe in which releases an answer differs; None if it does not."""
    if key.probe not in ANSWERS:
        return None
    answers = answers_by_release(view, key, releases)
    texts = {release: word(key.probe, value) for release, value in answers.items()}
    if len(set(texts.values())) < 2:
        return None
    at_home = {text for release, text in texts.items() if release.framework == home}
    price = price_of(key.probe, answers.values())
    return Difference(
        story,
        statements_of(name_of(view, story, key), texts, set(named_releases(key, answers))),
        price,
        len(at_home) > 1,
    )


def answers_by_release(view: RunView, key: ReadingKey, releases: Mapping[str, Release]) -> dict[Release, Json]:
    """Return the answer of each release; the first system of a release stands for it."""
    found: dict[Release, Json] = {}
    for system in view.systems:
        reading = view.readings.get((key, system.name))
        if reading is not None and reading.is_stable and reading.is_conclusive:
            found.setdefault(releases[system.name], reading.value)
    return found


def price_of(probe: str, values: Collection[Json]) -> int:
    """Return the cost of a difference: highest if only some releases leak, lowest for another answer."""
    if probe == LIVENESS:
        prices = {PRICES.get(str(value), 0) for value in values}
        is_leak = PRICES["never"] in prices
        return MIN_OF_VERDICTS + (PRICES["never"] if is_leak else max(prices) - min(prices))
    raising = {bool(RAISES.match(plain(value))) for value in values}
    return ANSWER_PRICES.get(probe, 0) + (len(raising) > 1)


def word(probe: str, value: Json) -> str:
    """Format a value as words."""
    text = plain(value)
    if probe == LIVENESS:
        return VERDICT_WORDS.get(text, text)
    raised = RAISES.match(text)
    if raised:
        return f"raises {raised[1]}"
    return text if len(text) <= VALUE_LIMIT else text[: VALUE_LIMIT - 3].rstrip() + "..."


def named_releases(key: ReadingKey, answers: Mapping[Release, Json]) -> list[Release]:
    """Return the releases to name: those with the costly answer; if none is costly, those unlike the reference."""
    if key.probe == LIVENESS:
        least = min(PRICES.get(str(value), 0) for value in answers.values())
        return [release for release, value in answers.items() if PRICES.get(str(value), 0) > least]
    raising = [release for release, value in answers.items() if RAISES.match(plain(value))]
    if 0 < len(raising) < len(answers):
        return raising
    reference = next(iter(answers.values()))
    return [release for release, value in answers.items() if value != reference]


def name_of(view: RunView, story: ScenarioInfo, key: ReadingKey) -> str:
    """Return the subject of the answer, unless it is the verdict that the story is about."""
    if key.probe != LIVENESS:
        return key.subject
    main = view.main_key(story)
    return "" if main is not None and main.subject == key.subject else key.subject


def statements_of(name: str, texts: Mapping[Release, str], named: Collection[Release]) -> tuple[str, ...]:
    """Return statements: ``leaks up to torch 1.2 and in oneflow``, ``waits for the collector from torch 1.10 on``."""
    groups: dict[str, list[Release]] = {}
    for release, text in texts.items():
        if release in named:
            groups.setdefault(text, []).append(release)
    order = list(VERDICT_WORDS.values())[::-1]
    ranked = sorted(groups, key=lambda text: order.index(text) if text in order else len(order))
    return tuple(f"{predicate(name, text)} {where(groups[text], texts)}" for text in ranked)


def predicate(name: str, text: str) -> str:
    """Describe the answer of a release: a verdict, an error, or a value."""
    if text in VERDICT_WORDS.values() or text.startswith("raises "):
        return f"{quoted(name)} {text}".lstrip()
    return f'"{name}" is {text}'


def quoted(name: str) -> str:
    """Put a name of several words in quotes."""
    return f'"{name}"' if " " in name else name


def where(these: Sequence[Release], known: Collection[Release]) -> str:
    """Name the releases briefly, given the known ones: ``up to torch 1.2 and in oneflow 0.8``."""
    frameworks = dict.fromkeys(release.framework for release in these)
    return " and ".join(span(name, of_framework(these, name), of_framework(known, name)) for name in frameworks)


def of_framework(releases: Iterable[Release], framework: str) -> list[Release]:
    """Return the releases of one framework, oldest first."""
    return sorted((one for one in releases if one.framework == framework), key=lambda one: one.order)


def span(framework: str, these: Sequence[Release], known: Sequence[Release]) -> str:
    """Name releases of one framework among those that answered."""
    versions = [one.version for one in these]
    if len(known) == len(these):
        return f"in {framework}" if len(known) > 1 or not versions[0] else f"in {framework} {versions[0]}"
    if list(known[: len(these)]) == list(these):
        return f"up to {framework} {versions[-1]}"
    if list(known[-len(these) :]) == list(these):
        return f"from {framework} {versions[0]} on"
    return f"in {framework} {', '.join(versions)}"
