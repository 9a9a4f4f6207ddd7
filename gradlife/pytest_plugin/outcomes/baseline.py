"""Known leaks: fingerprints in a file, each with a reason, a link and an expiry date."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from gradlife.errors import UsageError
from gradlife.model.from_json import built, document_text, parsed, value_words
from gradlife.model.hunt import Finding
from gradlife.patterns.fingerprints import has_own_class
from gradlife.pytest_plugin.outcomes.results import Checked, Section, Verdict

FORMAT = "gradlife.leaks-baseline/1"

#: The version of the fingerprints that entries have now. Those of version 1 know neither modules nor functions.
VERSION = 2

#: A figure may be this many times that of the baseline. Peaks of equal runs are equal to the byte; batches may differ.
MORE = 1.05

#: Digits of a fingerprint in summaries.
SHOWN_DIGITS = 8


@dataclass(frozen=True, slots=True)
class Known:
    """One known leak."""

    fingerprint: str
    code: str = ""
    title: str = ""
    tests: tuple[str, ...] = ()  # tests that were seen to have this leak
    reason: str = ""
    link: str = ""
    until: str = ""  # "2027-01-31"; empty: forever
    version: int = VERSION  # of the fingerprint; 1 in a file that does not say it

    @property
    def has_expired(self) -> bool:
        """Whether the date has passed."""
        return bool(self.until) and datetime.date.today() > datetime.date.fromisoformat(self.until)

    @property
    def words(self) -> str:
        """Format the entry: baseline, until 2027-01-31, gh#123: reason."""
        parts = ["baseline", f"until {self.until}" if self.until else "", self.link]
        return ", ".join(part for part in parts if part) + (f": {self.reason}" if self.reason else "")


@dataclass(frozen=True, slots=True)
class Figures:
    """What a test with the marker max_peak or max_growth had when the baseline was written."""

    test: str
    peak_bytes: int | None = None
    growth_bytes: int | None = None  # per run


@dataclass(frozen=True)
class Baseline:
    """All accepted findings, by fingerprint, and the figures of tests, by name."""

    entries: dict[str, Known] = field(default_factory=dict)
    figures: dict[str, Figures] = field(default_factory=dict)

    def limit(self, nodeid: str, figure: str, limit: int | None) -> int | None:
        """Return the larger of a marker's limit and what the baseline accepts; None if neither is there."""
        known = getattr(self.figures.get(bare(nodeid)), figure, None)
        limits = [one for one in (limit, int(known * MORE) if known is not None else None) if one is not None]
        return max(limits, default=None)

    def known(self, finding: Finding) -> Known | None:
        """Return the entry of a finding, by its fingerprint, else by the one that earlier versions gave it."""
        found = named(self.entries, finding.fingerprint)
        return found if found is not None else named(self.older, finding.legacy_fingerprint)

    def excuse(self, finding: Finding, nodeid: str) -> tuple[bool, str]:
        """Whether a finding is accepted, with the reason why, or why no longer."""
        known = self.known(finding)
        if known is None or (not is_specific(finding) and bare(nodeid) not in known.tests):
            return False, ""
        if known.has_expired:
            return False, f"expired: {known.words}"
        return True, known.words

    def unused(self, checked: Iterable[Checked]) -> list[Known]:
        """Return the entries whose tests were all judged and did not have this leak; one that names no test is kept."""
        tests = list(checked)
        ran = judged(tests)
        found = (self.known(entry.finding) for one in tests for entry in one.entries)
        seen = {known.fingerprint for known in found if known is not None}
        missed = (one for one in self.entries.values() if one.fingerprint not in seen)
        return [one for one in missed if one.tests and ran.issuperset(one.tests)]

    @property
    def older(self) -> dict[str, Known]:
        """The entries that an earlier version may have written."""
        return {name: one for name, one in self.entries.items() if one.version < VERSION}

    def to_renew(self, checked: Iterable[Checked]) -> list[Known]:
        """Return the entries that know a leak of these tests only by the fingerprint that an earlier version gave it."""
        findings = (entry.finding for one in checked for entry in one.entries)
        found = ((one, self.known(one)) for one in findings)
        old = {known.fingerprint: known for one, known in found if known is not None and is_old(known, one)}
        return list(old.values())

    @property
    def expired(self) -> list[Known]:
        """Return the entries that have expired."""
        return [one for one in self.entries.values() if one.has_expired]


def is_old(known: Known, leak: Finding | Known) -> bool:
    """Whether an entry knows this leak only by the fingerprint that an earlier version gave it."""
    return not leak.fingerprint.startswith(known.fingerprint)


def judged(checked: Iterable[Checked]) -> set[str]:
    """Return the names of the tests that have a verdict."""
    return {bare(one.nodeid) for one in checked if one.verdict in (Verdict.CLEAN, Verdict.LEAK)}


def named(entries: Mapping[str, Known], fingerprint: str) -> Known | None:
    """Return the entry with a fingerprint. An entry written by hand may have only the digits that a summary shows."""
    if fingerprint in entries:
        return entries[fingerprint]
    short = (one for one in entries.values() if len(one.fingerprint) >= SHOWN_DIGITS)
    return next((one for one in short if fingerprint.startswith(one.fingerprint)), None)


def is_specific(finding: Finding) -> bool:
    """Whether its fingerprint names a place of the program: a path does, and a cycle with a class of the program or a line
    that made it. Any other fingerprint says little more than a type.
    """
    trace = finding.trace
    return bool(trace.steps) or has_own_class(trace.cycle) or bool(trace.cycle and finding.stored_at)


def bare(nodeid: str) -> str:
    """Return a test's name without xdist's group, equal in every run. A folder or a parameter may have an @, too."""
    name, mark, group = nodeid.rpartition("@")
    return name if mark and "::" in name and "]" not in group and "::" not in group else nodeid


def merged(parts: Iterable[Known], figures: Iterable[Figures] = ()) -> Baseline:
    """Merge baselines: the tests of both, the earlier date, the first reason and link, the last figures."""
    entries: dict[str, Known] = {}
    for one in parts:
        old = entries.get(one.fingerprint)
        entries[one.fingerprint] = one if old is None else both(old, one)
    return Baseline(entries, {one.test: one for one in figures})


def both(one: Known, other: Known) -> Known:
    """Merge two entries of one leak."""
    days = [day for day in (one.until, other.until) if day]
    return replace(
        one,
        tests=tuple(sorted({*one.tests, *other.tests})),
        reason=one.reason or other.reason,
        link=one.link or other.link,
        until=min(days, default=""),
        version=max(one.version, other.version),
    )


def read(paths: Sequence[str | os.PathLike[str]], *, may_lack: bool = False) -> Baseline:
    """Read the baselines in some files as one. Any other file is refused with a one-line error."""
    parts = [read_one(Path(path), may_lack) for path in paths]
    return merged(
        (one for part in parts for one in part.entries.values()),
        (one for part in parts for one in part.figures.values()),
    )


def read_one(path: Path, may_lack: bool) -> Baseline:
    """Read a file."""
    if may_lack and not path.exists():
        return Baseline()
    try:
        document = parsed(document_text(path))
        if not isinstance(document, dict):
            raise ValueError('it is not an object with "format" and "entries"')
        if document["format"] != FORMAT:
            raise ValueError(f"its format is {value_words(document['format'])}, not {FORMAT!r}")
        found = merged(map(entry_of, document["entries"]), built(tuple[Figures, ...], document.get("figures", [])))
    except OSError as error:
        raise UsageError(
            f"the baseline {path} can't be read: {error.strerror}", "--leaks-update-baseline makes it"
        ) from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        why = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
        raise UsageError(f"{path} is not a baseline: {why}") from None
    return found


def entry_of(item: dict[str, Any]) -> Known:
    """Parse one entry. People edit them, so unknown fields and bad dates are reported. Raises ValueError."""
    unknown = sorted(item.keys() - {one.name for one in fields(Known)})
    if unknown:
        raise ValueError(f"an entry has no {unknown[0]!r}, but {', '.join(one.name for one in fields(Known))}")
    found: Known = built(Known, {"version": 1, **item})
    try:
        datetime.date.fromisoformat(found.until or "2000-01-01")
    except ValueError:
        raise ValueError(f"\"until\": {found.until!r} is not a day such as '2027-03-01'") from None
    return found


def updated(baseline: Baseline, checked: Sequence[Checked], figures: Iterable[Figures] = ()) -> Baseline:
    """Return the baseline with current leaks and figures, and without leaks that fully checked tests no longer have."""
    gone = {one.fingerprint for one in baseline.unused(checked)}
    now = [(leak, baseline.known(finding)) for leak, finding in leaks_of(checked)]
    kept = [one for one in baseline.entries.values() if one.fingerprint not in gone]
    ran = judged(checked)
    whole = (each for one in kept for each in renewed(one, [leak for leak, known in now if known == one], ran))
    return merged([*whole, *(leak for leak, _ in now)], [*baseline.figures.values(), *figures])


def renewed(known: Known, leaks: Sequence[Known], ran: Collection[str]) -> Iterator[Known]:
    """Yield an entry with the whole fingerprint of now for each of its leaks. An old fingerprint stays for its tests that were
    not judged: they may have another leak.
    """
    for leak in leaks:
        tests = leak.tests if is_old(known, leak) else known.tests
        yield replace(known, fingerprint=leak.fingerprint, tests=tests, version=VERSION)
    rest = tuple(one for one in known.tests if one not in ran)
    if not leaks:
        yield known
    elif rest and all(is_old(known, leak) for leak in leaks):
        yield replace(known, tests=rest)


def leaks_of(checked: Iterable[Checked]) -> Iterator[tuple[Known, Finding]]:
    """Yield an entry for each leak of a test, with its finding."""
    for one in checked:
        for entry in one.of(Section.NEW, Section.LIBRARY, Section.KNOWN):
            finding = entry.finding
            if not entry.why.startswith("allowed"):
                known = Known(finding.fingerprint, finding.code, finding.title, (bare(one.nodeid),), version=VERSION)
                yield known, finding


def dumps(baseline: Baseline) -> str:
    """Return the baseline as text: one entry per line in a fixed order, so that branches merge."""
    rows = sorted(baseline.entries.values(), key=lambda one: (one.tests, one.fingerprint))
    parts: list[tuple[str, Sequence[Known | Figures]]] = [("entries", rows)]
    if baseline.figures:
        parts.append(("figures", [baseline.figures[test] for test in sorted(baseline.figures)]))
    lists = (
        f' "{name}": [\n' + ",\n".join(f"  {json.dumps(asdict(one), ensure_ascii=False)}" for one in items) + "\n ]"
        for name, items in parts
    )
    return f'{{"format": "{FORMAT}",\n' + ",\n".join(lists) + "}\n"
