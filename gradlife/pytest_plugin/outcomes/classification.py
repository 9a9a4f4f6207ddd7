"""Classify a finding: new, a library's, known, within the limits, or shown only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from gradlife.hunting.findings.diagnosis import versions
from gradlife.model.hunt import Finding
from gradlife.patterns import meets
from gradlife.pytest_plugin.outcomes.baseline import Baseline
from gradlife.pytest_plugin.outcomes.results import Entry, Section, amount_of, is_waiting
from gradlife.pytest_plugin.settings.marks import Terms
from gradlife.pytest_plugin.settings.options import ALLOW, WARN
from gradlife.reports.values import size

#: Leading digits of a fingerprint that identify it.
MIN_DIGITS = 6

#: Short form of links to PyTorch's tracker.
SHORT_LINKS = {"pt#": "pytorch/pytorch#"}


def sorted_out(findings: Sequence[Finding], nodeid: str, terms: Terms, baseline: Baseline) -> tuple[Entry, ...]:
    """Assign each finding to its section; those without an excuse are new."""
    entries = [sorted_one(one, nodeid, terms, baseline) for one in findings]
    if is_within(entries, terms):
        entries = [within(one, terms) for one in entries]
    return tuple(entries)


def sorted_one(finding: Finding, nodeid: str, terms: Terms, baseline: Baseline) -> Entry:
    """Return the section of one finding, ignoring limits."""
    if is_waiting(finding) and terms.cycles == ALLOW:
        return Entry(finding, Section.WITHIN, "cycles are allowed")
    known, why = baseline.excuse(finding, nodeid)
    if known and not terms.is_growth:
        return Entry(finding, Section.KNOWN, why)
    if is_allowed(finding, terms):
        words = allowance(terms)
        if not terms.has_expired:
            return Entry(finding, Section.KNOWN, words)
        why = f"was {words}"
    if is_waiting(finding) and (terms.cycles == WARN or finding.per_step.bytes < terms.min_cycle_bytes):
        return Entry(finding, Section.CYCLE, why)
    return Entry(finding, Section.LIBRARY if finding.diagnosis.library else Section.NEW, why)


def is_allowed(finding: Finding, terms: Terms) -> bool:
    """Whether the marker names it, or allows everything until a date."""
    if not terms.allow:
        return terms.until is not None
    return any(names(one, finding) for one in terms.allow)


def names(allowed: str, finding: Finding) -> bool:
    """Whether a name means this finding: its fingerprint, its code, or a library version with a link."""
    if allowed == finding.code:
        return True
    if len(allowed) >= MIN_DIGITS and re.fullmatch("[0-9a-f]+", allowed):
        return finding.fingerprint.startswith(allowed) or finding.legacy_fingerprint.startswith(allowed)
    requirement, mark, link = allowed.partition(":")
    try:
        is_met = bool(mark) and meets(requirement, versions())
    except ValueError:
        return False
    lines = (*finding.diagnosis.advice.links, finding.diagnosis.library)
    return is_met and any(in_full(link) in one for one in lines)


def in_full(link: str) -> str:
    """Expand ``pt#94990`` to ``pytorch/pytorch#94990``."""
    for short, whole in SHORT_LINKS.items():
        if link.startswith(short):
            return whole + link.removeprefix(short)
    return link


def allowance(terms: Terms) -> str:
    """Return who allowed the leaks, until when, and why."""
    until = f" until {terms.until.isoformat()}" if terms.until is not None else ""
    return f"allowed by the marker{until}" + (f": {terms.reason}" if terms.reason else "")


def is_within(entries: Sequence[Entry], terms: Terms) -> bool:
    """Whether all findings except cycles together stay within the limits."""
    counted = [one for one in entries if one.section in (Section.NEW, Section.LIBRARY) and not is_waiting(one.finding)]
    if terms.is_growth:
        return bool(counted) and terms.growth is not None and growth_of(counted) <= terms.growth
    if not counted or (terms.tensors, terms.bytes) == (0, 0):
        return False
    total = amount_of(counted)
    has_some = all(one.finding.per_step.tensors or one.finding.per_step.bytes for one in counted)
    limits = ((total.tensors, terms.tensors), (total.bytes, terms.bytes))
    return has_some and all(limit is None or amount <= limit for amount, limit in limits)


def growth_of(entries: Iterable[Entry]) -> int:
    """Return the bytes that these findings add in each run; cycles that the collector frees do not grow."""
    rates = (one.finding.per_step for one in entries if not is_waiting(one.finding))
    return round(sum(max(rate.bytes, rate.retained_bytes) for rate in rates))


def within(entry: Entry, terms: Terms) -> Entry:
    """Mark the entry as within the limits."""
    if entry.section not in (Section.NEW, Section.LIBRARY) or is_waiting(entry.finding):
        return entry
    parts = [
        f"{limit} {word}" for limit, word in ((terms.tensors, "tensors"), (terms.bytes, "bytes")) if limit is not None
    ]
    if terms.growth is not None:
        return replace(entry, section=Section.WITHIN, why=f"allowed: {size(terms.growth)} a run")
    return replace(entry, section=Section.WITHIN, why=f"allowed: {' and '.join(parts)} a run")
