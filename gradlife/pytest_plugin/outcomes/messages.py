"""The message of a failing test: a headline, then each leak as on the first screen of a hunt.

At -vv it also has the counted runs, and the trace from the survivor to its holder in sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradlife.hunting.findings.leak_trace import FIXTURE
from gradlife.model.hunt import UNKNOWN_CODE, Finding, FindingKind, HuntReport
from gradlife.model.trace import PathStep, Trace
from gradlife.pytest_plugin.outcomes.baseline import SHOWN_DIGITS
from gradlife.pytest_plugin.outcomes.results import Checked, Entry, Run
from gradlife.reports.document.trace import named
from gradlife.reports.hunt.first_screen import plain_blocks
from gradlife.reports.hunt.sentences import amounts, folded
from gradlife.reports.values import counted, size
from gradlife.reports.visible_report import shows_report
from gradlife.visible_text import visible_lines

#: Default number of lines of a message, and their width.
LINES, WIDTH = 12, 80
#: Leaks shown; the headline counts all.
MAX_LEAKS = 3
#: The verbosity at which everything is shown.
IN_FULL = 2

FATES = {
    FindingKind.GROWTH: "held",
    FindingKind.NEVER: "never freed",
    FindingKind.NATIVE: "held by native code",
    FindingKind.RETAINED: "retained too long",
    FindingKind.NEEDS_GC: "waits for the collector",
}


def headline(checked: Checked) -> str:
    """Return the headline: 1 leak (held), 1 tensor and 4.0 MiB a run: GL402 … [7c1e]"""
    found = checked.guilty
    if not found:
        return f"gradlife could not tell: {checked.trouble}"
    first = found[0].finding
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{counted(len(found), 'leak')} ({FATES[first.kind]}), {brief(first)}{more}"


def brief(finding: Finding) -> str:
    """Return a finding in one line, without its verdict."""
    return f"{quantity(finding)}: {finding.code} {finding.title}  [{finding.fingerprint[:SHOWN_DIGITS]}]"


def quantity(finding: Finding) -> str:
    """Return the amount of a finding."""
    if finding.kind is FindingKind.RETAINED:
        return size(finding.retained_bytes)
    return f"{amounts(finding.per_step)} a run"


@shows_report
def failure(checked: Checked, verbosity: int = 0) -> str:
    """Return the message of a failing test in the detail of pytest's verbosity."""
    is_short = verbosity < IN_FULL and checked.guilty
    return visible_lines("\n".join(short_lines(checked) if is_short else full_lines(checked)))


def short_lines(checked: Checked) -> Iterator[str]:
    """Yield the headline, then for each leak its cause, the line that stores it, the change, the path."""
    guilty = checked.guilty[:MAX_LEAKS]
    reasons = (part for one in guilty for part in (one.why, one.finding.diagnosis.library) if part)
    foot = [*(f"Note: {reason}" for reason in dict.fromkeys(reasons)), "Details: pytest -vv"]
    yield headline(checked)
    yield ""
    report = HuntReport(checked.nodeid, "run", 0, (), tuple(one.finding for one in guilty))
    yield from plain_blocks(report, WIDTH, LINES - 3 - len(foot))
    yield ""
    yield from foot


def full_lines(checked: Checked) -> Iterator[str]:
    """Yield the headline, the runs, and each leak in full."""
    yield headline(checked)
    yield ""
    yield from table(checked.runs)
    for number, entry in enumerate(checked.guilty, 1):
        yield from entry_lines(entry, number)


def table(runs: Sequence[Run]) -> Iterator[str]:
    """Yield a table of the objects that each counted run left, one column per run."""
    rows = [("tensors", "tensors"), ("others", "graph, storages"), ("waiting", "in cycles"), ("bytes", "bytes")]
    shown = [(word, [getattr(run, field) for run in runs]) for field, word in rows]
    shown = [row for row in shown if any(row[1])]
    if not shown:
        return
    width = max(len(f"{value:+,}") for _, row in shown for value in row)
    yield f"{'counted run':<16}" + " ".join(f"{number:>{width}}" for number in range(1, len(runs) + 1))
    for word, row in shown:
        yield f"{word:<16}" + " ".join(f"{value:>+{width},}" for value in row)
    before = max((run.tensors for run in runs[:-1]), default=0)
    if len(runs) > 1 and runs[-1].tensors > before:
        yield "the last run also counts objects that a next run would replace"
    yield ""


def entry_lines(entry: Entry, number: int) -> Iterator[str]:
    """Format the lines of one leak."""
    finding = entry.finding
    yield f"{number}. {finding.code} {finding.title}  [{finding.fingerprint}]"
    if entry.why:
        yield f"   {entry.why}"
    for line in sentences(finding.trace, finding.created_at):
        yield f"   {line}"
    if finding.diagnosis.reason and finding.code != UNKNOWN_CODE:
        yield f"   {finding.diagnosis.reason}"
    if finding.diagnosis.library:
        yield f"   A bug of: {finding.diagnosis.library}"
    yield from advice(finding)
    yield ""


def advice(finding: Finding) -> Iterator[str]:
    """Return the advice for a finding."""
    if finding.code == UNKNOWN_CODE:
        return
    result = finding.diagnosis.advice
    if result.text:
        yield f"   What to do: {result.text}"
    for line in result.code.splitlines():
        yield f"       {line}".rstrip()
    if result.links:
        yield f"   See {', '.join(result.links)}"


def sentences(trace: Trace, created_at: Sequence[str] = ()) -> Iterator[str]:
    """Yield the trace as sentences, from the survivor outwards; each line starts where the previous one ends."""
    made = f" (made at {', called from '.join(created_at)})" if created_at else ""
    last = trace.steps[-1] if trace.steps else None
    shown = named(last) if last is not None else f"{trace.object} {trace.detail}".strip()
    if trace.steps:
        yield f"{shown}{made} is held by"
        yield from held_lines(folded(trace.steps))
    elif trace.cycle:
        yield f"{shown}{made} is held by nothing but a cycle"
        yield from ring_lines(trace.cycle)
        yield from (f"  the cycle leads to {words(step)} of {named(step)}" for step in trace.tail[:-1])
        yield from (f"  {line}" for line in trace.hidden_references)
    elif trace.ledger.native:
        yield f"{shown}{made} is held by native code: {trace.ledger.native[0].description}"
    else:
        yield f"{shown}{made} is held by native code: no object refers to it"


def held_lines(steps: Sequence[PathStep]) -> Iterator[str]:
    """Yield the path from the survivor to the root."""
    for number in range(len(steps) - 2, -1, -1):
        end = ", which is held by" if number else ""
        yield f"  {reference(steps[number])}{end}"


def ring_lines(cycle: Sequence[PathStep]) -> Iterator[str]:
    """Yield each object of a cycle and its reference to the next."""
    for number, step in enumerate(cycle):
        after = cycle[(number + 1) % len(cycle)]
        yield f"  {named(step)} refers by {words(step)} to {after.object}"


def reference(step: PathStep) -> str:
    """Format a reference: attribute 'losses' of Trainer."""
    if (step.kind, step.object) == ("root", FIXTURE):
        return f"fixture {step.detail}"
    if step.kind == "gap":
        return step.detail
    return f"{words(step)} of {named(step)}"


def words(step: PathStep) -> str:
    """Return the name of the reference."""
    via = step.via
    if via.startswith(".") and via[1:].isidentifier():
        return f"attribute '{via[1:]}'"
    if via.startswith("[") and via.endswith("]"):
        inner = via[1:-1]
        return f"item {inner}" if inner.lstrip("-").isdigit() else f"key {inner}"
    return via.removeprefix(".") or "a reference"
