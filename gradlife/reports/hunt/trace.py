"""The trace of a finding: the verdict on each object, with the suspect stretch underlined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text

from gradlife.model.trace import CONFIDENCE, MAX_KEEPERS, Ledger, NativeHolder, PathStep, StepStatus, TensorFacts, Trace
from gradlife.reports.hunt.sentences import named
from gradlife.reports.layout import Hanging
from gradlife.reports.theme import BAD, GOOD, NOTE, QUIET, TITLE, ReportConsole
from gradlife.reports.values import counted, size
from gradlife.reports.visible_report import shows_report

VERDICTS = {
    StepStatus.EXPECTED: ("expected", GOOD),
    StepStatus.LEAKING: ("leaked", BAD),
    StepStatus.UNKNOWN: ("", QUIET),
}
#: Most equal steps in a row to draw; further ones are counted.
ALIKE = 2
#: The width of a drawing in plain text.
PLAIN_WIDTH = 100


def trace_part(trace: Trace) -> Iterator[RenderableType]:
    """Return the path from the root, or the cycle if there is no root, and references that no object explains."""
    yield from path_down(trace.steps)
    yield from ring(trace.cycle)
    yield from path_down(trace.tail)
    yield from held_unseen(trace)
    yield from facts(trace.tensor)
    yield from unaccounted(trace.ledger, bool(trace.steps or trace.cycle))
    for line in trace.hidden_references:
        yield Hanging(Text("  "), Text(line))


def path_down(steps: Sequence[PathStep]) -> Iterator[RenderableType]:
    """Yield each object, and below it its reference to the next."""
    for number, (step, more) in enumerate(gathered(steps)):
        is_last = step is steps[-1]
        yield object_line("┬ " if number == 0 else "╰→ " if is_last else "├─ ", step, "   " if is_last else "│    ")
        if not is_last:
            yield from reference_lines("│    ", step, more)


def ring(cycle: Sequence[PathStep]) -> Iterator[RenderableType]:
    """Yield the objects of a cycle: the last refers to the first."""
    rows = gathered(cycle)
    for number, (step, more) in enumerate(rows):
        yield object_line("╭→ " if number == 0 else "├─ ", step, "│    ")
        yield from reference_lines("│    ", step, more)
    if rows:
        yield Hanging(Text("╰─ ", QUIET), Text(f"back to {named(rows[0][0])}", QUIET))


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


def object_line(lead: str, step: PathStep, below: str) -> RenderableType:
    """Return an object and the verdict on it."""
    word, style = VERDICTS[step.status]
    text = Text.assemble((step.object, TITLE), f" {step.detail}".rstrip())
    if word:
        text.append("   ")
        text.append(word, style)
    if step.reason:
        text.append(f"{':' if word else '  '} {step.reason}", QUIET)
    width = max(len(lead), len(below))
    return Hanging(Text(lead.ljust(min(width, 3)), QUIET), text, Text(below[:3], QUIET))


def reference_lines(lead: str, step: PathStep, more: int) -> Iterator[RenderableType]:
    """Yield a reference, underlined if it is suspect."""
    yield Hanging(Text(lead, QUIET), Text(step.via, NOTE if step.is_suspect else ""), Text(lead, QUIET))
    if step.is_suspect:
        underline = "~" * min(cell_len(step.via), PLAIN_WIDTH // 2)
        yield Hanging(Text(lead, QUIET), Text(underline, BAD), Text(lead, QUIET))
    if more:
        yield Hanging(Text(lead, QUIET), Text(f"... and {more:,} more like it", QUIET), Text(lead, QUIET))


def held_unseen(trace: Trace) -> Iterator[RenderableType]:
    """Yield the path from an object that only native code holds, and the holders of that object."""
    if trace.lead:
        yield Hanging(Text("  "), Text("native code holds the first of these:", NOTE))
        yield from path_down(trace.lead)
    yield from (holder_line("  it is held by ", holder) for holder in trace.keepers[:MAX_KEEPERS])


def holder_line(lead: str, holder: NativeHolder) -> RenderableType:
    """Return the line of a holder in C++."""
    where = f", {holder.symbol} in {holder.library}" if holder.symbol else ""
    return Hanging(Text(lead), Text.assemble(holder.description, where, (CONFIDENCE[holder.sureness], QUIET)))


def facts(tensor: TensorFacts | None) -> Iterator[RenderableType]:
    """Yield the facts about the tensor at the end of the path."""
    lines = []
    if tensor is not None and tensor.grad_fn:
        lines.append(f"its grad_fn is {tensor.grad_fn}, with the graph behind it")
    if tensor is not None and tensor.is_view:
        lines.append("it is a view: it keeps a whole storage")
    if tensor is not None and tensor.is_alias:
        lines.append("its storage belongs to something that lives anyway")
    if tensor is not None and tensor.storage_bytes:
        lines.append(f"its storage has {size(tensor.storage_bytes)}")
    if lines:
        yield Hanging(Text("   "), Text("; ".join(lines), QUIET))


def unaccounted(ledger: Ledger, has_path: bool) -> Iterator[RenderableType]:
    """Yield references that no object explains, and the native memory that holds them."""
    if not ledger.unaccounted or (has_path and not ledger.native):
        return
    of = f"{counted(ledger.count, 'reference')}, {ledger.unaccounted:,} of which no object explains"
    yield Hanging(Text("  "), Text(of, NOTE))
    for holder in ledger.native:
        yield holder_line("  native code: ", holder)
    if not ledger.native and ledger.is_scanned:
        yield Hanging(
            Text("  "), Text("no word of memory holds them that surely: a stack, a register, or a lost count", QUIET)
        )


@shows_report
def trace_drawing(trace: Trace) -> str:
    """Return the trace as plain text."""
    console = ReportConsole(
        width=PLAIN_WIDTH, no_color=True, markup=False, emoji=False, highlight=False, force_terminal=False
    )
    with console.capture() as captured:
        for line in trace_part(trace):
            console.print(line, end="" if isinstance(line, Hanging) else "\n")
    return captured.get()
