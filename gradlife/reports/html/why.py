"""The page of one living object: trace, cycle, references and neighbourhood."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from gradlife.model.heap_map import MappedObject, OtherEnd
from gradlife.model.trace import Lifetime, Referrer, Trace, head, sentence
from gradlife.reports.document.trace import ASKED
from gradlife.reports.html.heap_map import what
from gradlife.reports.html.page import render_page
from gradlife.reports.html.traces import TraceView, trace_view
from gradlife.reports.values import counted, short, size
from gradlife.reports.visible_report import shows_report

STYLES = {Lifetime.HELD: "held", Lifetime.GC: "gc", Lifetime.NEVER: "never", Lifetime.UNKNOWN: "inconclusive"}
#: Most referrers to show.
REFERRERS = 100


@dataclass(frozen=True)
class NeighbourList:
    """The neighbours of an object, of one kind."""

    title: str
    items: Sequence[tuple[str, str, str]]  # the object, the reference, the retained size
    more: int


@dataclass(frozen=True)
class WhyView:
    """The data of an answer."""

    name: str
    word: str
    style: str
    head: str
    sentence: str
    trace: TraceView
    count: str
    referrers: Sequence[tuple[str, str]]
    more_referrers: int
    unaccounted: int
    facts: Sequence[tuple[str, str]]
    around: Sequence[NeighbourList]
    limits: Sequence[str]
    commands: Sequence[tuple[str, str]]


@shows_report
def why_page(trace: Trace, file: str = "", around: MappedObject | None = None) -> str:
    """Return the page. `around` comes from a snapshot, whose file can answer more."""
    view = why_view(trace, file, around)
    return render_page(f"Why {short(view.name, 100)} is alive", "why.html", view=view)


def why_view(trace: Trace, file: str = "", around: MappedObject | None = None) -> WhyView:
    """Collect the data of an answer."""
    ledger = trace.ledger
    shown = ledger.referrers[:REFERRERS]
    return WhyView(
        name=short(f"{trace.object} {trace.detail}".strip()),
        word=trace.lifetime.value,
        style=STYLES[trace.lifetime],
        head=head(trace),
        sentence=short(sentence(trace), 2000),
        trace=trace_view(trace, ASKED),
        count=counted(ledger.count, "reference"),
        referrers=[referrer(one) for one in shown],
        more_referrers=len(ledger.referrers) - len(shown) + ledger.more_referrers,
        unaccounted=ledger.unaccounted,
        facts=facts(around) if around is not None else [],
        around=[*neighbourhood(around)] if around is not None else [],
        limits=[short(limit) for limit in trace.limits],
        commands=commands(file, around) if around is not None else [],
    )


def referrer(one: Referrer) -> tuple[str, str]:
    """Describe a referrer and its reference."""
    native = ", which the collector does not see" if one.is_native else ""
    return short(f"{one.object} {one.detail}".strip()), short(one.via) + native


def facts(around: MappedObject) -> list[tuple[str, str]]:
    """Yield the facts that a snapshot has about the object."""
    lines = [("Type", short(around.type)), ("Address", f"{around.address:#x}"), ("Itself", size(around.bytes))]
    lines.append(("Retains", size(around.retained)))
    return lines + [(f"Storages on {device}", size(nbytes)) for device, nbytes in around.storages]


def neighbourhood(around: MappedObject) -> list[NeighbourList]:
    """Yield its referrers, its referents, and the objects that it alone keeps."""
    return [
        neighbours("Referred to by", around.referrers, around.referrer_count),
        neighbours("Refers to", around.referents, around.referent_count),
        neighbours("Keeps alone", around.kept, around.kept_count),
    ]


def neighbours(title: str, found: Sequence[OtherEnd], count: int) -> NeighbourList:
    """Return one list of neighbours."""
    items = [(what(one), short(one.via), size(one.retained)) for one in found]
    return NeighbourList(f"{title} ({count:,})", items, count - len(items))


def commands(file: str, around: MappedObject) -> list[tuple[str, str]]:
    """Yield the commands that show more."""
    name = shlex.quote(short(file))
    return [
        (f"gradlife open {name} -i", "every object, asked at a prompt"),
        (f"gradlife open {name} --html {shlex.quote(os.path.basename(short(file)) + '.html')}", "the whole snapshot"),
        (f"gradlife open {name} --instances {shlex.quote(short(around.type))}", "others of its type"),
    ]
