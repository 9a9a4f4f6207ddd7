"""The table of targets, and how each is judged from the measurements."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.heap.children import Outcome

#: Outcomes by question, for one heap.
Outcomes = Mapping[str, Sequence[Outcome]]


@dataclass(frozen=True)
class Row:
    """One target. `is_met`: None if not measured, or if there is no target."""

    question: str
    measured: str
    compared: str
    result: str
    target: str
    is_met: bool | None


class Missing(Exception):
    """A question without an outcome: a dependency is not installed, or it took too long."""


def outcomes_of(outcomes: Outcomes, question: str) -> list[Outcome]:
    found = list(outcomes.get(question, ()))
    good = [outcome for outcome in found if not outcome.error]
    if not good:
        raise Missing(f"{question}: {found[0].error if found else 'not asked'}")
    return good


def cpu_of(outcomes: Outcomes, question: str) -> float:
    return statistics.median(outcome.cpu for outcome in outcomes_of(outcomes, question))


def number_of(outcomes: Outcomes, question: str, name: str) -> float:
    found = outcomes_of(outcomes, question)
    return statistics.median(outcome.answer.numbers[name] for outcome in found if outcome.answer is not None)


def is_right(outcomes: Outcomes, question: str) -> bool:
    answers = [outcome.answer for outcome in outcomes_of(outcomes, question)]
    return all(answer is not None and answer.is_right is not False for answer in answers)


def spread_text(outcomes: Outcomes, question: str) -> str:
    """Format the median of the rounds and the extremes."""
    seconds = [outcome.cpu for outcome in outcomes_of(outcomes, question)]
    text = f"{question}: {statistics.median(seconds):.3f} s"
    if len(seconds) > 1:
        text += f" ({min(seconds):.3f} to {max(seconds):.3f})"
    return text + ("" if is_right(outcomes, question) else ", wrong answer")


Judge = Callable[[Outcomes], Row]


def guarded(question: str, target: str, judge: Judge) -> Judge:
    def judge_or_tell(outcomes: Outcomes) -> Row:
        try:
            return judge(outcomes)
        except Missing as missing:
            return Row(question, "", "", str(missing), target, None)

    return judge_or_tell


def at_least(question: str, mine: str, peer: str, factor: float) -> Judge:
    """At least this many times faster than a peer, with a right answer."""

    def judge(outcomes: Outcomes) -> Row:
        ratio = cpu_of(outcomes, peer) / cpu_of(outcomes, mine)
        met = ratio >= factor and is_right(outcomes, mine)
        texts = spread_text(outcomes, mine), spread_text(outcomes, peer)
        return Row(question, *texts, f"{ratio:.1f} x faster", f"≥ {factor:g} x", met)

    return guarded(question, f"≥ {factor:g} x", judge)


def at_most(question: str, mine: str, other: str, factor: float) -> Judge:
    """At most this many times another question's cost, with a right answer."""

    def judge(outcomes: Outcomes) -> Row:
        ratio = cpu_of(outcomes, mine) / cpu_of(outcomes, other)
        met = ratio <= factor and is_right(outcomes, mine)
        texts = spread_text(outcomes, mine), spread_text(outcomes, other)
        return Row(question, *texts, f"{ratio:.2f} x", f"≤ {factor:g} x", met)

    return guarded(question, f"≤ {factor:g} x", judge)


def number_at_most(question: str, mine: str, name: str, most: float, unit: str) -> Judge:
    """A limit on a number of the answer."""

    def judge(outcomes: Outcomes) -> Row:
        value = number_of(outcomes, mine, name)
        met = value <= most and is_right(outcomes, mine)
        answer = outcomes_of(outcomes, mine)[0].answer
        text = answer.text if answer is not None else ""
        return Row(question, f"{mine}: {text}", "", f"{value:.2f} {unit}", f"≤ {most:g} {unit}", met)

    return guarded(question, f"≤ {most:g} {unit}", judge)


def peak_at_most(question: str, mine: str, most: float) -> Judge:
    """A limit on bytes per graph node at the question's peak."""

    def judge(outcomes: Outcomes) -> Row:
        peak = statistics.median(outcome.peak for outcome in outcomes_of(outcomes, mine))
        value = peak / number_of(outcomes, "graph", "nodes")
        text = f"{mine}: {peak / 1e6:,.0f} MB at the peak"
        return Row(question, text, "", f"{value:.0f} bytes a node", f"≤ {most:g}", value <= most)

    return guarded(question, f"≤ {most:g} bytes a node", judge)


TARGETS: tuple[Judge, ...] = (
    at_most("whole graph with leaves, from cold", "graph", "limit: graph", 1.3),
    peak_at_most("its memory, for paths", "why, chain", 60),
    peak_at_most("its memory, with dominators", "retained", 100),
    at_least("census by type", "types", "objgraph: types", 2),
    at_least("census with bytes", "types and bytes", "guppy3: types and bytes", 9),
    at_least("difference of two, new objects named", "changes", "objgraph: changes", 4),
    at_least("why, narrow path, from cold", "why, chain", "objgraph: why, chain", 2.5),
    at_least("", "why, chain", "guppy3: why, chain", 4),
    number_at_most("each further target on the same graph", "why, further targets", "milliseconds", 20, "ms"),
    at_least("why, 200 dead ends behind one link", "why, bushy", "objgraph: why, bushy", 50),
    at_most("why, held by a saved slot only", "why, saved", "why, chain", 2),
    at_most("why, held by a ctx only", "why, ctx", "why, chain", 2),
    at_least("retained bytes of every node; guppy3: of one", "retained", "guppy3: retained", 1),
    at_least("all cyclic components", "components", "refcycle: components", 40),
    at_least("snapshot file, with names", "file", "refcycle: file", 45),
    at_least("snapshot file, without", "file without labels", "refcycle: file", 45),
    number_at_most("its size, with names", "file", "bytes_per_node", 35, "bytes a node"),
    number_at_most("its size, without", "file without labels", "bytes_per_node", 35, "bytes a node"),
    number_at_most("native scan of 1 address, over the bare read", "native scan, pass", "ratio_1", 1.5, "x"),
    number_at_most("native scan of 30", "native scan, pass", "ratio_30", 1.5, "x"),
    number_at_most("native scan of 1,000", "native scan, pass", "ratio_1000", 1.5, "x"),
)

#: Questions whose cost must be linear in the number of nodes.
LINEAR = ("graph", "types", "why, chain", "retained", "components", "file")
#: How much more a node may cost in a large heap than in a small one: caches are no part of the algorithm.
LINEAR_FACTOR = 1.6


def linear_rows(small: Outcomes, large: Outcomes, names: tuple[str, str]) -> Iterator[Row]:
    """Return nanoseconds per node in a small and a large heap."""
    for question in LINEAR:
        try:
            each = [
                cpu_of(outcomes, question) / number_of(outcomes, "graph", "nodes") * 1e9 for outcomes in (small, large)
            ]
        except Missing as missing:
            yield Row(f"linear: {question}", "", "", str(missing), f"≤ {LINEAR_FACTOR:g} x", None)
            continue
        first, last = (f"{name}: {value:.0f} ns a node" for name, value in zip(names, each, strict=True))
        ratio = each[1] / each[0]
        met = ratio <= LINEAR_FACTOR
        yield Row(f"linear: {question}", first, last, f"{ratio:.2f} x", f"≤ {LINEAR_FACTOR:g} x", met)


def truth_rows(region: Mapping[str, Sequence[int]]) -> Iterator[Row]:
    """Return retained bytes beside allocated ones."""
    titles = {"python": "retained bytes of a region", "storages": "retained bytes of shared storages"}
    for name, title in titles.items():
        allocated, retained = region[name]
        off = retained / allocated - 1
        texts = f"{retained:,} bytes", f"allocated: {allocated:,}"
        yield Row(title, *texts, f"{off:+.1%}", "within 3 %", abs(off) <= 0.03)


#: What may vary in free lists and arenas between measurements.
SLACK = {"resident": 2_000_000, "objects": 100, "blocks": 500}


def growth_row(looks: Sequence[Mapping[str, int]]) -> Row:
    """Whether anything grows with the number of snapshots. The first fifth is warm-up."""
    first, last = looks[2], looks[-1]
    grown = {key: last[key] - first[key] for key in SLACK}
    text = ", ".join(f"{key} {value:+,}" for key, value in grown.items())
    met = all(grown[key] <= SLACK[key] for key in SLACK)
    return Row(
        f"{last['snapshots']:,} snapshots", text, f"since the first {first['snapshots']:,}", "", "nothing grows", met
    )
