"""Leak traces on a page: a row per object with its verdict, the cycle as a ring, and the other holders."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gradlife.model.trace import CONFIDENCE, MAX_KEEPERS, Ledger, PathStep, StepStatus, Trace
from gradlife.reports.drawing import RingNode, Svg, ring
from gradlife.reports.html.words import short
from gradlife.reports.hunt.trace import gathered
from gradlife.reports.values import counted, size

#: The text and the CSS class of each verdict on an object.
LEAKING = {
    StepStatus.EXPECTED: ("leaking: no", "good"),
    StepStatus.UNKNOWN: ("leaking: ?", "quiet"),
    StepStatus.LEAKING: ("leaking: yes", "bad"),
}
#: The same for a trace that answers why an object is alive, without a claim that it leaks.
ASKED = {
    StepStatus.EXPECTED: ("expected", "good"),
    StepStatus.UNKNOWN: ("", "quiet"),
    StepStatus.LEAKING: ("this object", "bad"),
}
Verdicts = Mapping[StepStatus, tuple[str, str]]

#: Most rows of a path; a longer one is cut in the middle.
MAX_ROWS = 48
#: Widths of drawings for a wide page and for a narrow one, in pixels.
WIDE, NARROW = 640.0, 330.0


@dataclass(frozen=True, slots=True)
class Row:
    """An object on the path, and its reference to the next."""

    object: str
    detail: str
    verdict: str
    style: str
    reason: str = ""
    via: str = ""
    is_suspect: bool = False
    more: int = 0  # the number of equal rows that follow, or of others left out
    is_gap: bool = False


@dataclass(frozen=True, slots=True)
class Drawn:
    """A drawing for a wide page and one for a narrow one."""

    wide: Svg
    narrow: Svg


@dataclass(frozen=True, slots=True)
class TraceView:
    """The data of a trace."""

    path: Sequence[Row]
    ring: Drawn | None
    members: Sequence[Row]  # the objects of the ring, as a list
    tail: Sequence[Row]
    lead: Sequence[Row]
    facts: Sequence[str]
    natives: Sequence[str]
    hidden_references: Sequence[str] = field(default_factory=tuple)


def trace_view(trace: Trace, verdicts: Verdicts = LEAKING) -> TraceView:
    """Collect the data of a trace without its ledger."""
    return TraceView(
        path=path_rows(trace.steps, verdicts),
        ring=ring_drawing(trace.cycle, trace.hidden_references) if trace.cycle else None,
        members=path_rows(trace.cycle, verdicts, is_ring=True),
        tail=path_rows(trace.tail, verdicts),
        lead=path_rows(trace.lead, verdicts),
        facts=tensor_facts(trace),
        natives=[*keeper_lines(trace), *native_lines(trace.ledger, bool(trace.steps or trace.cycle))],
        hidden_references=[short(line) for line in trace.hidden_references],
    )


def path_rows(steps: Sequence[PathStep], verdicts: Verdicts = LEAKING, *, is_ring: bool = False) -> list[Row]:
    """Return a row per object. Repeated objects are counted, and a long path is cut in the middle."""
    rows = [row_of(step, more, verdicts, is_ring) for step, more in gathered(steps)]
    if len(rows) <= MAX_ROWS:
        return rows
    half = MAX_ROWS // 2
    left_out = rows[half:-half]
    gap = Row("", "", "", "", more=sum(row.more + (not row.is_gap) for row in left_out), is_gap=True)
    return [*rows[:half], gap, *rows[-half:]]


def row_of(step: PathStep, more: int, verdicts: Verdicts, is_ring: bool) -> Row:
    """Return the row of one object, or of those left out. Objects in a ring get no verdict: none of them is expected to live."""
    if step.kind == "gap":
        return Row("", "", "", "", more=step.count, is_gap=True)
    verdict, style = ("", "") if is_ring and step.status is StepStatus.UNKNOWN else verdicts[step.status]
    return Row(
        short(step.object),
        short(step.detail),
        verdict,
        style,
        short(step.reason),
        short(step.via),
        step.is_suspect,
        more,
    )


def ring_drawing(cycle: Sequence[PathStep], hidden_references: Sequence[str] = ()) -> Drawn:
    """Draw the cycle as a ring, with a sign on references that the collector does not see."""
    nodes = [
        RingNode(
            short(step.object or step.detail, 80),
            short(step.via, 80),
            step.is_suspect,
            is_unseen(step, after, hidden_references),
            count=step.count,
        )
        for step, after in zip(cycle, [*cycle[1:], cycle[0]], strict=True)
    ]
    title = f"A cycle of {counted(sum(step.count for step in cycle), 'object')}"
    return Drawn(ring(nodes, WIDE, title), ring(nodes, NARROW, title))


def is_unseen(step: PathStep, after: PathStep, hidden_references: Sequence[str]) -> bool:
    """Whether the reference from an object of a cycle to the next one is hidden from the collector.

    Their texts say so: `Tensor float32 [4] has 1 reference from DoubleBackward and Round that the collector cannot see`.
    """
    for line in hidden_references:
        found = re.fullmatch(r"(.*) has \d+ references? from (.*) that the collector cannot see.*", line)
        if found and f"{found[1]} ".startswith(f"{after.object} ") and step.object in found[2].split(" and "):
            return True
    return False


def tensor_facts(trace: Trace) -> list[str]:
    """Yield the facts about the tensor at the end of the path."""
    tensor = trace.tensor
    if tensor is None:
        return []
    lines = [f"its grad_fn is {tensor.grad_fn}, with the graph behind it"] if tensor.grad_fn else []
    lines += ["it is a view: it keeps a whole storage"] if tensor.is_view else []
    return lines + ([f"its storage has {size(tensor.storage_bytes)}"] if tensor.storage_bytes else [])


def keeper_lines(trace: Trace) -> list[str]:
    """Yield the native memory that holds the first object of the path."""
    return [short(f"It is held by {one.description}{CONFIDENCE[one.sureness]}") for one in trace.keepers[:MAX_KEEPERS]]


def native_lines(ledger: Ledger, has_path: bool) -> list[str]:
    """Yield references that no object explains, and the native memory that holds them."""
    if not ledger.unaccounted or (has_path and not ledger.native):
        return []
    lines = [f"{counted(ledger.count, 'reference')}, {ledger.unaccounted:,} of which no object explains"]
    for holder in ledger.native:
        where = f", {holder.symbol} in {holder.library}" if holder.symbol else ""
        lines.append(short(f"native code: {holder.description}{where}{CONFIDENCE[holder.sureness]}"))
    return lines
