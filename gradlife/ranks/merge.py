"""Merges the reports of ranks into one: each finding once with its ranks, one row for the ranks that agree, and how
ranks differ (the skew).

Reports are added one at a time to save memory. Kept are some numbers of each rank, and one rank's version of a finding.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gradlife.errors import UsageError
from gradlife.model import hunt_codec
from gradlife.model.codec import CodecError
from gradlife.model.from_json import built
from gradlife.model.hunt import Explained, Finding, FindingKind, HuntReport, HuntVerdict, Severity
from gradlife.model.ranks import (
    NO_VERDICT,
    ROUNDS_OF,
    FindingRanks,
    RankEnd,
    RankRow,
    SharedLedger,
    Spread,
    rank_ranges,
)
from gradlife.ranks.rank_report import RankReport
from gradlife.ranks.skew import RankFacts, skew_of
from gradlife.ranks.snapshot_times import SnapshotTimes

#: Up to this world size each rank has a row of its own; above it, ranks that agree share one.
ROW_EACH = 16

#: The status of a rank that its launcher ended.
TERMINATED = 128 + signal.SIGTERM

#: Most entries of one list in the merged report, for example of the sentences about what a rank could not see.
MAX_TEXTS = 12

#: Most kinds of failure that are described.
MAX_TROUBLES = 3

#: Identifies a finding on all ranks: kind, code, and fingerprint or title.
Key = tuple[str, str, str]


def merge(reports: Iterable[RankReport], world_size: int = 0) -> HuntReport:
    """Merge the reports of all ranks; ranks below `world_size` without a report are missing."""
    fold = Fold()
    for one in reports:
        fold.add(one)
    return fold.report(world_size)


@dataclass
class Shared:
    """A finding that ranks share."""

    rank: int  # the lowest one, whose finding is shown
    finding: dict[str, Any]
    rates: dict[int, float]
    severities: set[str]
    most: dict[str, Any]  # the finding of the rank where it grows fastest
    fastest: tuple[float, int]  # how fast it grows there, and minus that rank: of several the lowest


@dataclass
class Kept:
    """The part of one rank's report that is kept."""

    report: RankReport  # without its JSON document
    verdict: str
    keys: frozenset[Key]
    growth: float
    steps: int
    trouble: str  # from its own report
    owners: Mapping[str, int] = field(default_factory=dict)  # retained bytes at its last snapshot, by name


@dataclass
class Fold:
    """The ranks merged so far."""

    kept: dict[int, Kept] = field(default_factory=dict)
    shared: dict[Key, Shared] = field(default_factory=dict)
    snapshots: SnapshotTimes = field(default_factory=SnapshotTimes)
    limits: dict[str, None] = field(default_factory=dict)
    explained: dict[tuple[str, str], Explained] = field(default_factory=dict)
    shared_memory: dict[int, SharedLedger] = field(default_factory=dict)  # ledgers by rank
    whole: tuple[tuple[int, int], dict[str, Any]] | None = None  # the report whose rounds and controls are shown

    def add(self, one: RankReport) -> None:
        """Add a rank."""
        document = one.document or {}
        try:
            self._add(one, document)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise UsageError(f"the report of rank {one.rank} is damaged: {type(error).__name__}: {error}") from None

    def _add(self, one: RankReport, document: dict[str, Any]) -> None:
        findings = {key_of(item): item for item in document.get("findings", ())}
        for key, item in findings.items():
            self._share(key, item, one.rank)
        self.kept[one.rank] = Kept(
            replace(one, document=None, snapshots=()),
            document.get("verdict", NO_VERDICT),
            frozenset(findings),
            sum(map(rate_of, findings.values())),
            document.get("warmup_steps", 0) + sum(each["steps"] for each in document.get("rounds", ())),
            doubt_of(document),
            {each["name"]: each["bytes"] for each in document.get("owners", ())},
        )
        self.snapshots.add(one.snapshots)
        self._add_texts(document)
        if "shared_memory" in document:
            self.shared_memory[one.rank] = built(SharedLedger, document["shared_memory"])
        place = (order_of(document), one.rank)
        if document and (self.whole is None or place < self.whole[0]):
            self.whole = (place, {**document, "findings": [], "owners": [], "shared_memory": {}})

    def _share(self, key: Key, item: dict[str, Any], rank: int) -> None:
        shared = self.shared.get(key)
        if shared is None:
            shared = self.shared[key] = Shared(rank, item, {}, set(), item, (rate_of(item), -rank))
        if rank < shared.rank:
            shared.rank, shared.finding = rank, item
        if (rate_of(item), -rank) > shared.fastest:
            shared.fastest, shared.most = (rate_of(item), -rank), item
        shared.rates[rank] = rate_of(item)
        shared.severities.add(item["severity"])

    def _add_texts(self, document: dict[str, Any]) -> None:
        self.limits.update(dict.fromkeys(document.get("limits", ())))
        for one in document.get("explained", ()):
            self.explained.setdefault((one["kind"], one["what"]), built(Explained, one))

    # --- the report ---

    def report(self, world_size: int = 0) -> HuntReport:
        """Return the merged report."""
        if not self.kept:
            raise UsageError("there is no report of any rank", "gradlife merge FOLDER")
        world = max([world_size, 1 + max(self.kept), *(one.report.world_size for one in self.kept.values())])
        for rank in set(range(world)) - set(self.kept):
            absent = RankReport(rank, world, end=RankEnd.MISSING)
            self.kept[rank] = Kept(absent, NO_VERDICT, frozenset(), 0.0, 0, "")
        base = decoded(self.whole[1], self.whole[0][1]) if self.whole is not None else HuntReport("", "", 0, (), ())
        findings = tuple(sorted((self._finding(one, world) for one in self.shared.values()), key=sort_key))
        return replace(
            base,
            settings={**base.settings, ROUNDS_OF: str(self.whole[0][1])} if self.whole is not None else {},
            findings=findings,
            explained=tuple(self.explained.values()),
            limits=capped([*self.limits, *self._limits_of_ranks()]),
            script_status=self._script_status(),
            trouble=self._trouble(),
            world_size=world,
            ranks=tuple(self._rows(world)),
            skew=tuple(skew_of(self._facts())),
            snapshot_cost=self.snapshots.cost,
            shared_memory=of_all_ranks(self.shared_memory),
        )

    def _finding(self, shared: Shared, world: int) -> Finding:
        whole = {**self.whole[1], "findings": [shared.finding]} if self.whole is not None else {}
        [finding] = decoded(whole, shared.rank).findings
        [fastest] = decoded({**whole, "findings": [shared.most]}, -shared.fastest[1]).findings
        rates = shared.rates.values()
        return replace(
            finding,
            per_step=fastest.per_step,
            survivors=fastest.survivors,
            retained_bytes=fastest.retained_bytes,
            steps_to_limit=fastest.steps_to_limit,
            fills=fastest.fills,
            severity=min(map(Severity, shared.severities), key=list(Severity).index),
            on_ranks=FindingRanks(rank_ranges(shared.rates), len(shared.rates), world, Spread(min(rates), max(rates))),
        )

    def _script_status(self) -> int | None:
        return status_of_run([(one.report.end, one.report.status) for _, one in sorted(self.kept.items())])

    def _trouble(self) -> str:
        """Describe ranks that did not finish, grouped by how they ended."""
        ends = end_texts((rank, one.report.status, end_words(one)) for rank, one in self.kept.items())
        more = [f"{len(ends) - MAX_TROUBLES:,} more kinds of failure"] if len(ends) > MAX_TROUBLES else []
        return "; ".join([*ends[:MAX_TROUBLES], *more])

    def _limits_of_ranks(self) -> list[str]:
        silent = [rank for rank, one in self.kept.items() if one.verdict == NO_VERDICT]
        return (
            [
                f"rank{'s' if len(silent) > 1 else ''} {rank_ranges(silent)} left no report: what was held there is unknown"
            ]
            if silent
            else []
        )

    def _rows(self, world: int) -> Iterable[RankRow]:
        alike: dict[object, list[int]] = {}
        for rank, one in sorted(self.kept.items()):
            agreed = (one.verdict, one.keys, one.report.end, one.report.status)
            alike.setdefault(rank if world <= ROW_EACH else agreed, []).append(rank)
        return [self._row(ranks) for ranks in alike.values()]

    def _row(self, ranks: Sequence[int]) -> RankRow:
        members = [self.kept[rank] for rank in ranks]
        first = members[0]
        return RankRow(
            rank_ranges(ranks),
            len(ranks),
            first.verdict,
            first.report.end,
            first.report.status,
            len(first.keys),
            Spread.of([one.steps for one in members]),
            Spread.of([one.growth for one in members]),
            Spread.of([one.report.peak for one in members]),
            first.report.host,
            first.report.trouble or first.trouble,
        )

    def _facts(self) -> dict[int, RankFacts]:
        """Return the figures of the ranks that left a report: only these are compared."""
        heard = {rank: one for rank, one in sorted(self.kept.items()) if one.verdict != NO_VERDICT}
        return {
            rank: RankFacts(self._rates(rank, one), float(one.report.peak), one.steps, one.owners)
            for rank, one in heard.items()
        }

    def _rates(self, rank: int, one: Kept) -> dict[str, float]:
        rates: dict[str, float] = {}
        for shared in (self.shared[key] for key in sorted(one.keys)):
            title = titled(shared.finding)
            rates[title] = rates.get(title, 0.0) + shared.rates[rank]
        return rates


def decoded(document: dict[str, Any], rank: int) -> HuntReport:
    """Decode a report; an error names the rank whose part of it is wrong."""
    try:
        return hunt_codec.decode(document)
    except CodecError as error:
        raise UsageError(f"the report of rank {rank}: {error.message}") from None


def key_of(item: dict[str, Any]) -> Key:
    """Return the key by which findings of two ranks are the same: the fingerprint, else the title."""
    return (item["kind"], item["code"], item["fingerprint"] or item["title"])


def titled(item: dict[str, Any]) -> str:
    """Format the code and title of a finding."""
    return f"{item['code']} {item['title']}"


def rate_of(item: dict[str, Any]) -> float:
    """Return the bytes that a finding adds per step; 0 if it does not grow."""
    if item["kind"] in (FindingKind.RETAINED.value, FindingKind.NEEDS_GC.value):
        return 0.0
    return float(max(item["per_step"]["retained_bytes"], item["per_step"]["bytes"]))


def order_of(document: dict[str, Any]) -> int:
    """Return the sort order of a report: leaks first, then inconclusive ones, then clean ones."""
    order = (HuntVerdict.LEAK, HuntVerdict.INCONCLUSIVE, HuntVerdict.NEEDS_GC, HuntVerdict.CLEAN)
    return [one.value for one in order].index(document["verdict"]) if document else len(order)


def sort_key(finding: Finding) -> tuple[int, float, str]:
    """Return the sort key of a finding: the most severe first, then the fastest growing."""
    rate = finding.on_ranks.per_step.most if finding.on_ranks is not None else 0.0
    return (list(Severity).index(finding.severity), -rate, finding.fingerprint)


def doubt_of(document: dict[str, Any]) -> str:
    """Describe why a rank's report is in doubt, or what went wrong in it."""
    wrong = [one["name"] for one in document.get("controls", ()) if one["expected"] != one["observed"]]
    return str(document.get("trouble", "")) or (f"the planted control {wrong[0]!r} was misjudged" if wrong else "")


def end_words(one: Kept) -> str:
    """Describe how a rank failed, or why it was inconclusive; empty if all is well."""
    report = one.report
    last = "" if one.verdict == NO_VERDICT else f", its last report: {one.verdict}"
    trouble = report.trouble or (one.trouble if report.end is RankEnd.FAILED else "")
    words = end_text(report.end, report.status, trouble, last)
    if words:
        return words
    if one.verdict == NO_VERDICT:
        return "left no report"
    return f"could not tell: {one.trouble}" if one.verdict == HuntVerdict.INCONCLUSIVE.value and one.trouble else ""


def status_of_run(ends: Sequence[tuple[RankEnd, int | None]]) -> int | None:
    """Return the status of the first rank that failed; None if unknown.

    A launcher terminates the other ranks. Their status counts only if no rank failed, with or without a status.
    """
    known = [status for _, status in ends if status is not None]
    failed = [status for status in known if status not in (0, TERMINATED)]
    if failed or not known:
        return failed[0] if failed else None
    is_lost = any(end is RankEnd.LOST for end, _ in ends)
    return max(known) if not is_lost else None if TERMINATED in known else 0


def end_text(end: RankEnd, status: int | None, trouble: str, last: str) -> str:
    """Describe how a rank failed; empty if it finished. ``last``: what its last report says."""
    match end:
        case RankEnd.KILLED:
            return f"was {trouble or 'killed'}{last or ', before its first report'}"
        case RankEnd.LOST:
            return f"ended without an exit status{last or ', before its first report'}"
        case RankEnd.RUNNING:
            return f"was still running{last or ', without a report yet'}"
        case RankEnd.MISSING:
            return "left no files"
        case RankEnd.FAILED:
            return f"ended with status {status}" + (f": {trouble}" if trouble else "")
    return ""


def end_texts(ends: Iterable[tuple[int, int | None, str]]) -> list[str]:
    """Describe ranks by number, status and end, those that agree together. The ranks that a launcher ended are last."""
    alike: dict[str, list[int]] = {}
    for rank, _, words in sorted(ends, key=lambda one: (one[1] == TERMINATED, one[0])):
        if words:
            alike.setdefault(words, []).append(rank)
    return [f"rank{'s' if len(ranks) > 1 else ''} {rank_ranges(ranks)} {words}" for words, ranks in alike.items()]


def of_all_ranks(ledgers: Mapping[int, SharedLedger]) -> SharedLedger:
    """Return the shared memory of all ranks: the largest rows, each with its rank."""
    rows = [
        replace(row, made_by=f"rank {rank}: {row.made_by}") for rank, one in sorted(ledgers.items()) for row in one.rows
    ]
    left = {item.path: item for one in ledgers.values() for item in one.leftovers}
    return SharedLedger(
        sum(one.bytes for one in ledgers.values()),
        sum(one.segments for one in ledgers.values()),
        tuple(sorted(rows, key=lambda row: -row.bytes))[:MAX_TEXTS],
        tuple(sorted(left.values(), key=lambda item: (-item.bytes, item.path)))[:MAX_TEXTS],
    )


def capped(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the first texts, and how many more there are."""
    more = [f"{len(texts) - MAX_TEXTS:,} more limits, each of one rank"] if len(texts) > MAX_TEXTS else []
    return (*texts[:MAX_TEXTS], *more)
