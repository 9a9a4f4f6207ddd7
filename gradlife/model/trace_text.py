"""A leak trace as text: from the root down, one line an object, one line the reference to the next.

Each line is a row of spans, words with the part that they play in it; what a part looks like is a report's affair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

from gradlife.model.trace import Ledger, Lifetime, NativeHolder, Step, StepStatus, Sureness, Trace


class Part(StrEnum):
    """The part that words play in a line."""

    PLAIN = "plain"
    TITLE = "title"  # an object's type
    HELD = "held"  # the verdicts
    GC = "gc"
    NEVER = "never"
    UNKNOWN = "unknown"
    SUSPECT = "suspect"  # a reference to look at
    ASIDE = "aside"
    WARNING = "warning"


#: Words of memory that are told of what native code holds.
MOST_KEEPERS = 5
#: Objects of a way that are told, and references that its sentence has: of a longer one the middle is left out.
MOST_STEPS, MOST_WORDS = 60, 16

Line = tuple[tuple[str, Part], ...]

HEADS = {
    Lifetime.HELD: "is held: a root reaches it",
    Lifetime.GC: "waits for the collector: no root reaches it, it is part of a cycle",
    Lifetime.NEVER: "is never freed: no root reaches it, and the collector cannot break what keeps it",
    Lifetime.UNKNOWN: "was not found in the part of the heap that was looked at",
}
#: Of what is never freed and in no cycle: who holds it may let go of it.
HELD_UNSEEN = "is held by native code: no root that can be seen reaches it"
NO_KEEPER = "  no word of memory was found that surely or likely holds it"
NOT_SEARCHED = "  memory was not searched for what holds it: gradlife.why(obj, scan=True)"
SURENESS = {Sureness.SURE: "", Sureness.LIKELY: "   likely", Sureness.UNSURE: "   perhaps: it may be a stale copy"}
MARKS = {StepStatus.EXPECTED: "expected", StepStatus.LEAKING: "this object", StepStatus.UNKNOWN: ""}


def plain(text: str) -> Line:
    """A line of one kind of words."""
    return ((text, Part.PLAIN),)


def text_of(lines: Iterator[Line]) -> str:
    """Lines without anything but their words."""
    return "\n".join("".join(words for words, _ in line).rstrip() for line in lines)


def trace_lines(trace: Trace) -> Iterator[Line]:
    """Everything that is known of why an object is alive."""
    name = f"{trace.object} {trace.detail}".strip()
    yield ((name, Part.TITLE), (" ", Part.PLAIN), (head(trace), Part(trace.lifetime.value)))
    yield plain(sentence(trace))
    yield plain("")
    yield from step_lines(trace.steps)
    yield from cycle_lines(trace.cycle)
    if trace.tail:
        yield plain("On it hangs what keeps this object:")
        yield from step_lines(trace.tail)
    yield from lead_lines(trace)
    yield plain("")
    yield from ledger_lines(trace.ledger)
    for leg in trace.legs:
        yield plain(f"  {leg}")
    for limit in trace.limits:
        yield ((f"  not seen: {limit}", Part.ASIDE),)


def step_lines(steps: tuple[Step, ...]) -> Iterator[Line]:
    """The way from the root down."""
    left_out = len(steps) - MOST_STEPS
    for number, step in enumerate(steps):
        if left_out > 0 and MOST_STEPS // 2 <= number < MOST_STEPS // 2 + left_out:
            if number == MOST_STEPS // 2:
                yield (("│  ", Part.PLAIN), (f"... {left_out:,} more objects ...", Part.ASIDE))
            continue
        is_last = number + 1 == len(steps)
        lead = "╰→ " if is_last else "├─ " if number else "┌─ "
        mark = MARKS[step.status]
        yield (
            (lead, Part.PLAIN),
            (step.object, Part.TITLE),
            (f" {step.detail}".rstrip(), Part.PLAIN),
            (f"   {mark}" if mark else "", Part.ASIDE),
        )
        if not is_last:
            yield (("│    ", Part.PLAIN), (step.via, Part.SUSPECT if step.is_suspect else Part.PLAIN))


def cycle_lines(cycle: tuple[Step, ...]) -> Iterator[Line]:
    """The ring of objects that keep one another."""
    if not cycle:
        return
    yield plain("A cycle:")
    for number, step in enumerate(cycle):
        lead = "┌→ " if number == 0 else "│  "
        yield ((lead, Part.PLAIN), (step.object, Part.TITLE), (f" {step.detail}".rstrip(), Part.PLAIN))
        yield plain(("│    " if number + 1 < len(cycle) else "╰─── ") + step.via)


def lead_lines(trace: Trace) -> Iterator[Line]:
    """The way from what only native code holds, and what that is."""
    if trace.lead:
        yield plain("Native code holds the first of these:")
        yield from step_lines(trace.lead)
    yield from holder_lines("  it is held by ", trace.keepers)
    if is_held_unseen(trace) and not trace.keepers:
        yield ((NO_KEEPER if trace.ledger.is_scanned else NOT_SEARCHED, Part.ASIDE),)


def holder_lines(lead: str, holders: Sequence[NativeHolder]) -> Iterator[Line]:
    """What holds references in C++."""
    for holder in holders[:MOST_KEEPERS]:
        yield (lead, Part.PLAIN), (holder.description, Part.PLAIN), (SURENESS[holder.sureness], Part.ASIDE)
    if len(holders) > MOST_KEEPERS:
        yield plain(f"  and {len(holders) - MOST_KEEPERS} more words of memory")


def ledger_lines(ledger: Ledger, what: str = "reference") -> Iterator[Line]:
    """Who refers to the object, and what nobody explains."""
    known = len(ledger.referrers) + ledger.more_referrers
    yield plain(f"{counted(ledger.count, what)}, {min(known, ledger.count)} of them known:")
    for referrer in ledger.referrers[:10]:
        yield plain(f"  {referrer.object} {referrer.detail}".rstrip() + f": {referrer.via}")
    if known > 10:
        yield plain(f"  and {known - 10} more")
    yield from native_lines(ledger)
    if ledger.behind is not None:
        yield from ledger_lines(ledger.behind, "owner of its C++ object")


def counted(number: int, what: str) -> str:
    """``2 owners of its C++ object``: a plural has its s on the first word."""
    first, space, rest = what.partition(" ")
    return f"{number} {first}{'s' * (number != 1)}{space}{rest}"


def native_lines(ledger: Ledger) -> Iterator[Line]:
    """What holds the references that no known object explains."""
    if ledger.unaccounted and not ledger.is_scanned:
        yield ((f"  {ledger.unaccounted} that nothing here explains: native code holds it", Part.WARNING),)
        return
    yield from holder_lines("  native code: ", ledger.native)
    if ledger.unexplained:
        count = f"{ledger.unexplained} reference{'s' * (ledger.unexplained != 1)}"
        yield ((f"  {count} that no memory word explains", Part.WARNING),)


def sentence(trace: Trace) -> str:
    """The trace in one sentence."""
    if trace.steps:
        return f"{title(trace.steps[0])} keeps it:{way_words(trace.steps)}"
    if trace.cycle:
        ring = " → ".join(step.object for step in (*trace.cycle, trace.cycle[0]))
        return f"Nothing but its own cycle keeps it: {ring}"
    if trace.lead:
        return f"Native code holds {title(trace.lead[0])}, which keeps it:{way_words(trace.lead)}"
    if is_held_unseen(trace):
        return "Native code holds it, and nothing that can be seen leads to it."
    return "Nothing that can be seen refers to it."


def head(trace: Trace) -> str:
    """The verdict in words."""
    return HELD_UNSEEN if is_held_unseen(trace) else HEADS[trace.lifetime]


def is_held_unseen(trace: Trace) -> bool:
    """Is it held by native code, not by a cycle?"""
    return trace.lifetime is Lifetime.NEVER and not trace.cycle and not trace.steps


def title(step: Step) -> str:
    """An object in a few words."""
    return f"{step.object} {step.detail}".strip()


def way_words(steps: tuple[Step, ...]) -> str:
    """The references of a way in a row, from the space on that stands before the first."""
    ways = [f" → {step.via}" if step.via[:1] not in ".[" else step.via for step in steps[:-1]]
    if len(ways) > MOST_WORDS:
        ways[MOST_WORDS // 2 : -MOST_WORDS // 2] = [" ... "]
    way = "".join(ways)
    return way if way.startswith(" ") else f" {way}"
