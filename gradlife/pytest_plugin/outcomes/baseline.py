"""Known leaks: fingerprints in a file, each with a reason, a link and an expiry date."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from gradlife.errors import UsageError
from gradlife.model.from_json import built, parsed
from gradlife.model.hunt import Finding
from gradlife.pytest_plugin.outcomes.results import Checked, Section, Verdict

FORMAT = "gradlife.leaks-baseline/1"

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

    @property
    def has_expired(self) -> bool:
        """Whether the date has passed."""
        return bool(self.until) and datetime.date.today() > datetime.date.fromisoformat(self.until)

    @property
    def words(self) -> str:
        """Format the entry: baseline, until 2027-01-31, gh#123: reason."""
        parts = ["baseline", f"until {self.until}" if self.until else "", self.link]
        return ", ".join(part for part in parts if part) + (f": {self.reason}" if self.reason else "")


@dataclass(frozen=True)
class Baseline:
    """All accepted findings, by fingerprint."""

    entries: dict[str, Known] = field(default_factory=dict)

    def known(self, fingerprint: str) -> Known | None:
        """Return the entry of a finding. An entry written by hand may have only the digits that a summary shows."""
        exact = self.entries.get(fingerprint)
        if exact is not None:
            return exact
        short = (one for one in self.entries.values() if len(one.fingerprint) >= SHOWN_DIGITS)
        return next((one for one in short if fingerprint.startswith(one.fingerprint)), None)

    def excuse(self, finding: Finding, nodeid: str) -> tuple[bool, str]:
        """Whether a finding is accepted, with the reason why, or why no longer."""
        known = self.known(finding.fingerprint)
        if known is None or (not has_path(finding) and bare(nodeid) not in known.tests):
            return False, ""
        if known.has_expired:
            return False, f"expired: {known.words}"
        return True, known.words

    def unused(self, checked: Iterable[Checked]) -> list[Known]:
        """Return the entries whose tests were all judged and did not have this leak; one that names no test is kept."""
        seen: set[str] = set()
        ran: set[str] = set()
        for one in checked:
            if one.verdict in (Verdict.CLEAN, Verdict.LEAK):
                ran.add(bare(one.nodeid))
            found = (self.known(entry.finding.fingerprint) for entry in one.entries)
            seen.update(known.fingerprint for known in found if known is not None)
        missed = (one for one in self.entries.values() if one.fingerprint not in seen)
        return [one for one in missed if one.tests and ran.issuperset(one.tests)]

    @property
    def expired(self) -> list[Known]:
        """Return the entries that have expired."""
        return [one for one in self.entries.values() if one.has_expired]


def has_path(finding: Finding) -> bool:
    """Whether its fingerprint is specific: without a path or a cycle it says little more than a type."""
    return bool(finding.trace.steps or finding.trace.cycle)


def bare(nodeid: str) -> str:
    """Return a test's name without xdist's group, equal in every run. A folder or a parameter may have an @, too."""
    name, mark, group = nodeid.rpartition("@")
    return name if mark and "::" in name and "]" not in group and "::" not in group else nodeid


def merged(parts: Iterable[Known]) -> Baseline:
    """Merge baselines: the tests of both, the earlier date, the first reason and link."""
    entries: dict[str, Known] = {}
    for one in parts:
        old = entries.get(one.fingerprint)
        entries[one.fingerprint] = one if old is None else both(old, one)
    return Baseline(entries)


def both(one: Known, other: Known) -> Known:
    """Merge two entries of one leak."""
    days = [day for day in (one.until, other.until) if day]
    return replace(
        one,
        tests=tuple(sorted({*one.tests, *other.tests})),
        reason=one.reason or other.reason,
        link=one.link or other.link,
        until=min(days, default=""),
    )


def read(paths: Sequence[str | os.PathLike[str]], *, may_lack: bool = False) -> Baseline:
    """Read the baselines in some files as one. Any other file is refused with a one-line error."""
    return merged(one for path in paths for one in read_one(Path(path), may_lack))


def read_one(path: Path, may_lack: bool) -> list[Known]:
    """Read a file's entries."""
    if may_lack and not path.exists():
        return []
    try:
        document = parsed(path.read_text(encoding="utf-8"))
        if not isinstance(document, dict):
            raise ValueError('it is not an object with "format" and "entries"')
        if document["format"] != FORMAT:
            raise ValueError(f"its format is {document['format']!r}, not {FORMAT!r}")
        found = [entry_of(item) for item in document["entries"]]
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
    found: Known = built(Known, item)
    try:
        datetime.date.fromisoformat(found.until or "2000-01-01")
    except ValueError:
        raise ValueError(f"\"until\": {found.until!r} is not a day such as '2027-03-01'") from None
    return found


def updated(baseline: Baseline, checked: Sequence[Checked]) -> Baseline:
    """Return the baseline with current leaks, and without those that fully checked tests no longer have."""
    gone = {one.fingerprint for one in baseline.unused(checked)}
    now = list(leaks_of(checked))
    kept = [whole(one, now) for one in baseline.entries.values() if one.fingerprint not in gone]
    return merged([*kept, *now])


def whole(known: Known, leaks: Iterable[Known]) -> Known:
    """Complete the fingerprint of an entry that was written with its first digits and leaks now."""
    if len(known.fingerprint) < SHOWN_DIGITS:
        return known
    longer = (one.fingerprint for one in leaks if one.fingerprint.startswith(known.fingerprint))
    return replace(known, fingerprint=next(longer, known.fingerprint))


def leaks_of(checked: Iterable[Checked]) -> Iterator[Known]:
    """Return an entry for each leak of a test."""
    for one in checked:
        for entry in one.of(Section.NEW, Section.LIBRARY, Section.KNOWN):
            finding = entry.finding
            if not entry.why.startswith("allowed"):
                yield Known(finding.fingerprint, finding.code, finding.title, (bare(one.nodeid),))


def dumps(baseline: Baseline) -> str:
    """Return the baseline as text: one entry per line in a fixed order, so that branches merge."""
    rows = sorted(baseline.entries.values(), key=lambda one: (one.tests, one.fingerprint))
    lines = ",\n".join(f"  {json.dumps(asdict(one), ensure_ascii=False)}" for one in rows)
    return f'{{"format": "{FORMAT}",\n "entries": [\n{lines}\n ]}}\n'
