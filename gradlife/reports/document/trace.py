"""The words of a leak trace, for every format that shows one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gradlife.model.trace import CONFIDENCE, MAX_KEEPERS, NativeHolder, PathStep, StepStatus, TensorFacts, Trace
from gradlife.reports.document.blocks import Item, Span, Tone, Words
from gradlife.reports.values import counted, size

#: The verdicts on the objects of a leak, and of a trace that claims no leak.
LEAK: dict[StepStatus, tuple[str, Tone]] = {
    StepStatus.EXPECTED: ("expected", "good"),
    StepStatus.UNKNOWN: ("", "quiet"),
    StepStatus.LEAKING: ("leaked", "bad"),
}
ASKED = {**LEAK, StepStatus.LEAKING: ("this object", LEAK[StepStatus.LEAKING][1])}
#: Most equal steps in a row to show; further ones are counted.
ALIKE = 2
#: The detail of a container.
LENGTH = re.compile(r"len (\d+)")


def gathered(steps: Sequence[PathStep]) -> list[tuple[PathStep, int]]:
    """Return the steps, each with the number of equal ones that follow and are left out."""
    rows: list[tuple[PathStep, int]] = []
    for number, step in enumerate(steps):
        before = steps[max(0, number - ALIKE) : number]
        is_last = number + 1 == len(steps)
        if (
            len(before) == ALIKE
            and not is_last
            and all((one.object, one.via) == (step.object, step.via) for one in before)
        ):
            rows[-1] = (rows[-1][0], rows[-1][1] + 1)
        else:
            rows.append((step, 0))
    return rows


def named(step: PathStep) -> str:
    """Return the object of a step with its detail: list (20 items)."""
    length = LENGTH.fullmatch(step.detail)
    detail = f"({counted(int(length[1]), 'item')})" if length is not None else step.detail
    return f"{step.object} {detail}".strip()


def unseen_holders(trace: Trace) -> Iterator[Item]:
    """Yield what only native code holds: the holders of the first object, and references that no object explains."""
    yield from (Item(holder_words(holder), lead="it is held by") for holder in trace.keepers[:MAX_KEEPERS])
    ledger = trace.ledger
    if ledger.unaccounted and (ledger.native or not (trace.steps or trace.cycle)):
        of = f"{counted(ledger.count, 'reference')}, {ledger.unaccounted:,} of which no object explains"
        yield Item(of, tone="note")
        yield from (Item(holder_words(holder), lead="native code") for holder in ledger.native)
        if not ledger.native and ledger.is_scanned:
            yield Item("no word of memory holds them that surely: a stack, a register, or a lost count", tone="quiet")
    yield from map(Item, trace.hidden_references)


def holder_words(holder: NativeHolder) -> Words:
    """Describe a holder in C++."""
    where = f", {holder.symbol} in {holder.library}" if holder.symbol else ""
    return holder.description + where, Span(CONFIDENCE[holder.sureness], "quiet")


def tensor_words(tensor: TensorFacts | None) -> str:
    """Describe the tensor at the end of the path."""
    if tensor is None:
        return ""
    lines = [f"its grad_fn is {tensor.grad_fn}, with the graph behind it"] if tensor.grad_fn else []
    lines += ["it is a view: it keeps a whole storage"] if tensor.is_view else []
    lines += ["its storage belongs to something that lives anyway"] if tensor.is_alias else []
    lines += [f"its storage has {size(tensor.storage_bytes)}"] if tensor.storage_bytes else []
    return "; ".join(lines)
