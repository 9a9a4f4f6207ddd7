"""The result of checking one test: plain values that can be sent to another process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from gradlife.model.from_json import built
from gradlife.model.hunt import Amounts, Explained, Finding
from gradlife.model.hunt_codec import encode_finding, finding_item, no_text
from gradlife.model.trace import Trace
from gradlife.model.unread_layout import UnreadLayout
from gradlife.pytest_plugin.settings.options import FAIL

#: The report attribute that carries a test's result as text: xdist transmits only plain values.
ATTRIBUTE = "gradlife_leaks"

#: A limit of a test after which memory of C++ was not searched: see `checks.native_survivors`.
UNSEARCHED = "memory of C++ was not searched"


class Verdict(StrEnum):
    """The result of a check."""

    CLEAN = "clean"
    LEAK = "leak"
    INCONCLUSIVE = "inconclusive"
    NOT_REPEATABLE = "not repeatable"  # a repeat failed after a passing first run: no leak


class Section(StrEnum):
    """The class of a finding."""

    NEW = "new"
    LIBRARY = "library"
    CYCLE = "waiting"  # waits for the collector, and is only reported, as requested
    KNOWN = "known"  # in the baseline, or allowed by the marker
    WITHIN = "within limits"


@dataclass(frozen=True, slots=True)
class Entry:
    """A finding with its section and the reason for it."""

    finding: Finding
    section: Section = Section.NEW
    why: str = ""  # "baseline, until 2027-01-31, gh#123"


@dataclass(frozen=True, slots=True)
class Run:
    """The results of one counted run."""

    tensors: int  # Python objects, alive at the end of all runs
    others: int  # storages, grad nodes, contexts
    waiting: int  # of both, in cycles that the collector freed
    bytes: int = 0  # growth of malloc's bytes in use


@dataclass(frozen=True, slots=True)
class Checked:
    """One test that was checked."""

    nodeid: str
    place: str = ""  # "tests/test_train.py:12"
    how: str = "marker"  # or "--leaks", "--leaks-repeat", "lifetimes"
    mode: str = FAIL  # or "warn"
    phase: str = "call"
    verdict: Verdict = Verdict.CLEAN
    entries: tuple[Entry, ...] = ()
    explained: tuple[Explained, ...] = ()
    runs: tuple[Run, ...] = ()  # counted runs only
    trouble: str = ""
    limits: tuple[str, ...] = ()
    unread: UnreadLayout | None = None  # what could not be read of this PyTorch

    def of(self, *sections: Section) -> list[Entry]:
        """Return the entries of some sections."""
        return [one for one in self.entries if one.section in sections]

    @property
    def guilty(self) -> list[Entry]:
        """Return the findings for which the test fails, or would fail."""
        return self.of(Section.NEW, Section.LIBRARY)

    @property
    def is_failure(self) -> bool:
        """Whether the check fails the test. A check without a verdict does not pass."""
        return self.mode == FAIL and bool(self.guilty or self.verdict is Verdict.INCONCLUSIVE)


def encode(checked: Checked, text_of: Callable[[Trace], str] = no_text) -> dict[str, Any]:
    """Return the result as a JSON object."""
    entries = [
        {**encode_finding(one.finding, text_of), "section": one.section.value, "why": one.why}
        for one in checked.entries
    ]
    return {
        "nodeid": checked.nodeid,
        "place": checked.place,
        "how": checked.how,
        "mode": checked.mode,
        "phase": checked.phase,
        "verdict": checked.verdict.value,
        "is_failure": checked.is_failure,
        "findings": entries,
        "explained": [asdict(one) for one in checked.explained],
        "runs": [asdict(one) for one in checked.runs],
        "trouble": checked.trouble,
        "limits": list(checked.limits),
        **({"unread": asdict(checked.unread)} if checked.unread is not None else {}),
    }


def decode(item: dict[str, Any]) -> Checked:
    """Read a result from a JSON object."""
    entries = [{**one, "finding": finding_item(one)} for one in item["findings"]]
    checked: Checked = built(Checked, {**item, "entries": entries})
    return checked


def amount_of(entries: list[Entry]) -> Amounts:
    """Return the sum that these findings add in each run."""
    parts = [one.finding.per_step for one in entries]
    names = ("objects", "tensors", "storages", "graph_nodes", "bytes")
    return Amounts(*(sum(getattr(part, name) for part in parts) for name in names))


def is_waiting(finding: Finding) -> bool:
    """Whether it only waits for the collector, which a test session may have disabled."""
    return finding.is_collectable
