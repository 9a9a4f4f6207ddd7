"""A leak trace as text: from the root down, one line an object, one line the reference to the next."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from gradlife.model.trace import Ledger, Lifetime, Step, StepStatus, Sureness, Trace

HEADS = {
    Lifetime.HELD: "is held: a root reaches it",
    Lifetime.GC: "waits for the collector: no root reaches it, it is part of a cycle",
    Lifetime.NEVER: "is never freed: no root reaches it, and the collector cannot break what keeps it",
}
STYLES = {Lifetime.HELD: "bold yellow", Lifetime.GC: "bold cyan", Lifetime.NEVER: "bold red"}
SURENESS = {Sureness.SURE: "", Sureness.LIKELY: "   likely", Sureness.UNSURE: "   perhaps: it may be a stale copy"}
MARKS = {StepStatus.EXPECTED: "expected", StepStatus.LEAKING: "this object", StepStatus.UNKNOWN: ""}


def render_trace(trace: Trace) -> RenderableType:
    """Everything that is known of why an object is alive."""
    return Group(*trace_lines(trace))


def trace_lines(trace: Trace) -> Iterator[Text]:
    """The lines of a report."""
    title = f"{trace.object} {trace.detail}".strip()
    yield Text.assemble((title, "bold"), " ", (HEADS[trace.lifetime], STYLES[trace.lifetime]))
    yield Text(sentence(trace))
    yield Text("")
    yield from step_lines(trace.steps)
    yield from cycle_lines(trace.cycle)
    yield from ledger_lines(trace.ledger)
    for leg in trace.legs:
        yield Text(f"  {leg}")
    for limit in trace.limits:
        yield Text(f"  not seen: {limit}", style="dim")


def step_lines(steps: tuple[Step, ...]) -> Iterator[Text]:
    """The way from the root down."""
    for number, step in enumerate(steps):
        is_last = number + 1 == len(steps)
        lead = "╰→ " if is_last else "├─ " if number else "┌─ "
        mark = MARKS[step.status]
        yield Text.assemble(
            lead, (step.object, "bold"), f" {step.detail}".rstrip(), (f"   {mark}" if mark else "", "dim")
        )
        if not is_last:
            yield Text.assemble("│    ", (step.via, "underline red" if step.is_suspect else ""))


def cycle_lines(cycle: tuple[Step, ...]) -> Iterator[Text]:
    """The ring of objects that keep one another."""
    if not cycle:
        return
    yield Text("A cycle:")
    for number, step in enumerate(cycle):
        yield Text.assemble("┌→ " if number == 0 else "│  ", (step.object, "bold"), f" {step.detail}".rstrip())
        yield Text.assemble("│    " if number + 1 < len(cycle) else "╰─── ", step.via)


def ledger_lines(ledger: Ledger) -> Iterator[Text]:
    """Who refers to the object, and what nobody explains."""
    known = len(ledger.referrers) + ledger.more_referrers
    yield Text("")
    yield Text(f"{ledger.count} reference{'s' * (ledger.count != 1)}, {min(known, ledger.count)} of them known:")
    for referrer in ledger.referrers[:10]:
        yield Text(f"  {referrer.object} {referrer.detail}".rstrip() + f": {referrer.via}")
    if known > 10:
        yield Text(f"  and {known - 10} more")
    yield from native_lines(ledger)


def native_lines(ledger: Ledger) -> Iterator[Text]:
    """What holds the references that no known object explains."""
    if ledger.unaccounted and not ledger.is_scanned:
        yield Text(f"  {ledger.unaccounted} that nothing here explains: native code holds it", style="yellow")
        return
    for holder in ledger.native:
        yield Text.assemble("  native code: ", holder.description, (SURENESS[holder.sureness], "dim"))
    if ledger.unexplained:
        yield Text(
            f"  {ledger.unexplained} reference{'s' * (ledger.unexplained != 1)} that no memory word explains",
            style="yellow",
        )


def sentence(trace: Trace) -> str:
    """The trace in one sentence."""
    if trace.steps:
        first = trace.steps[0]
        way = "".join(f" → {step.via}" if step.via[:1] not in ".[" else step.via for step in trace.steps[:-1])
        return f"{first.object} {first.detail}".strip() + f" keeps it:{way if way.startswith(' ') else ' ' + way}"
    if trace.cycle:
        ring = " → ".join(step.object for step in (*trace.cycle, trace.cycle[0]))
        return f"Nothing but its own cycle keeps it: {ring}"
    return "Nothing that can be seen refers to it."
