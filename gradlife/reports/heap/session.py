"""Answers at a prompt: one part of a report at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from rich.console import RenderableType
from rich.text import Text

from gradlife.model.heap import Cycle, HeapView
from gradlife.model.hunt import Finding, HuntReport, Round
from gradlife.model.trace import Ledger, Trace, ledger_lines as rows_of_ledger, trace_lines as rows_of_trace
from gradlife.reports.document.terminal import lines_of, trace_lines as lines_of_trace
from gradlife.reports.heap import tables, why
from gradlife.reports.hunt.finding import finding_card
from gradlife.reports.hunt.rounds import round_table
from gradlife.reports.hunt.verification import brief_line
from gradlife.reports.layout import Hanging
from gradlife.reports.theme import QUIET, TITLE
from gradlife.reports.values import counted
from gradlife.reports.visible_report import shows_report

Lines = Iterable[RenderableType]


def lines(parts: Iterable[RenderableType]) -> Iterator[RenderableType]:
    """Yield the parts, each with a line end; hanging texts have one already."""
    for part in parts:
        yield Text.assemble(part, "\n") if isinstance(part, Text) else part


@shows_report
def leak_lines(findings: Sequence[Finding]) -> Iterator[RenderableType]:
    """Yield the leaks of a report, numbered."""
    if not findings:
        yield Text("Nothing grows.\n")
    for number, finding in enumerate(findings, 1):
        yield brief_line(finding, f"{number:>3}  ")


@shows_report
def file_leak_lines(cycles: Sequence[Cycle], total: int) -> Iterator[RenderableType]:
    """Yield the cycles of a snapshot file that nothing will free. One file has no rates."""
    yield Hanging(Text(""), Text(f"{counted(total, 'cyclic part')} that nothing reaches and nothing will free."))
    yield from map(tables.cycle_line, cycles)
    yield Hanging(Text(""), Text("What grows takes two snapshots, gradlife diff, or gradlife hunt.", QUIET))


@shows_report
def round_lines(rounds: Sequence[Round]) -> Iterator[RenderableType]:
    """Yield what the steps run at the prompt added."""
    yield from lines_of(round_table(rounds))
    if not any(map(has_added, rounds)):
        yield Text("They added nothing.\n")


def has_added(one: Round) -> bool:
    """Whether the steps of a round left something. Fewer objects than steps are entries of caches that fill once."""
    added = one.added
    return max(added.tensors, added.storages, added.graph_nodes, added.bytes) > 0 or added.objects >= one.steps


@shows_report
def finding_lines(finding: Finding, report: HuntReport) -> Iterator[RenderableType]:
    """Yield a leak in full."""
    number = report.findings.index(finding) + 1
    yield from lines(lines_of([finding_card(finding, number, report)]))


@shows_report
def trace_lines(found: Trace) -> Iterator[RenderableType]:
    """Yield the trace of an object."""
    yield from lines(map(why.coloured, rows_of_trace(found)))


@shows_report
def ledger_lines(found: Trace) -> Iterator[RenderableType]:
    """Yield the referrers of an object."""
    yield Text.assemble((f"{found.object} {found.detail}".strip(), TITLE), "\n")
    yield from lines(map(why.coloured, rows_of_ledger(found.ledger)))


@shows_report
def cycle_lines(found: Trace) -> Iterator[RenderableType]:
    """Yield the cycle that keeps an object, and the path from the cycle to the object."""
    if not found.cycle:
        yield Hanging(Text(""), Text("No cycle keeps it: a root reaches it, or nothing refers to it."))
        return
    yield from lines_of_trace(replace(found, steps=(), ledger=Ledger(0, ()), lead=(), keepers=(), hidden_references=()))


@shows_report
def cycle_list(cycles: Sequence[Cycle]) -> Iterator[RenderableType]:
    """Yield the cycles of a heap."""
    if not cycles:
        yield Text("There are none.\n")
    yield from map(tables.cycle_line, cycles)


@shows_report
def view_lines(view: HeapView) -> Iterator[RenderableType]:
    """Yield a table of a snapshot, without anything above its first row."""
    parts = list(tables.parts(view))[1:]
    yield from parts or [Text("There are none.\n")]


@shows_report
def program_lines(view: HeapView) -> Iterator[RenderableType]:
    """Yield what the program's variables hold, and a line for each library."""
    if not view.program:
        yield Text("No variable of the program holds more than 1 kB.\n")
    yield from tables.held_sections(view)


def verb_lines(sentences: Sequence[str]) -> Iterator[RenderableType]:
    """Yield the commands and their meanings."""
    for text in sentences:
        usage, _, meaning = " ".join(text.split()).partition(": ")
        yield Hanging(Text(f"  {usage}  ".ljust(16), TITLE), Text(meaning))
