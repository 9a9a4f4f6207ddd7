"""Leak traces on a page: a row per object with its verdict, the cycle as a ring, and the other holders."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gradlife.model.trace import PathStep, StepStatus, Trace
from gradlife.reports.document.blocks import NARROW, WIDE, Tone, plain_words
from gradlife.reports.document.trace import LEAK, gathered, tensor_words, unseen_holders
from gradlife.reports.drawing import RingNode, ring
from gradlife.reports.values import counted, short

#: The word and the tone of the verdict on each object.
Verdicts = Mapping[StepStatus, tuple[str, Tone]]

#: Most rows of a path; a longer one is cut in the middle.
MAX_ROWS = 48


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

    wide: str
    narrow: str


@dataclass(frozen=True, slots=True)
class TraceView:
    """The data of a trace."""

    path: Sequence[Row]
    ring: Drawn | None
    members: Sequence[Row]  # the objects of the ring, as a list
    tail: Sequence[Row]
    lead: Sequence[Row]
    tensor: str  # what is known of the tensor at the end
    unseen: Sequence[str]  # what only native code holds


def trace_view(trace: Trace, verdicts: Verdicts = LEAK) -> TraceView:
    """Collect the data of a trace without its ledger."""
    return TraceView(
        path=path_rows(trace.steps, verdicts),
        ring=ring_drawing(trace.cycle, trace.hidden_references) if trace.cycle else None,
        members=path_rows(trace.cycle, verdicts, is_ring=True),
        tail=path_rows(trace.tail, verdicts),
        lead=path_rows(trace.lead, verdicts),
        tensor=tensor_words(trace.tensor),
        unseen=[
            short(f"{item.lead}: {text}" if item.lead else text)
            for item in unseen_holders(trace)
            for text in [plain_words(item.words)]
        ],
    )


def path_rows(steps: Sequence[PathStep], verdicts: Verdicts = LEAK, *, is_ring: bool = False) -> list[Row]:
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
