"""The answer to a hunt: for each finding its line, the change and the path, and what the proof says."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator, Sequence

from gradlife.model.hunt import ATTACHED, CALLED, Amounts, Confidence, Finding, FindingChange, HuntReport
from gradlife.model.ranks import SHARED_MEMORY
from gradlife.model.trace import PROFILED, PathStep, Trace
from gradlife.reports.document.blocks import Block, Code, Diff, Paragraph, Span, Words
from gradlife.reports.hunt.changes import changed_rows
from gradlife.reports.hunt.ranks import who_has
from gradlife.reports.hunt.sentences import amounts, because_of_it, folded, how_often
from gradlife.reports.source_places import Place, first_place
from gradlife.reports.values import GAP, counted

#: Stands before a piece of advice.
DO = "What to do"
#: The longest line with the command of a proof.
MAX_PROOF = 80
#: Separates the objects of a path.
ARROW = " → "
#: Separates a place, `train.py:16`, from the source of that line.
BESIDE = "   "
#: The beginnings of labels of variables. The object that a variable refers to is shown by its name.
GLOBAL_VARIABLE = "global variable '"
VARIABLES = (GLOBAL_VARIABLE, "local variable '", "argument '")
#: The line number in `main (train.py:23)`.
LINE_NUMBER = re.compile(r":\d+\)$")
#: The number of references behind one step `.name` of a trace, if they go through the object's dict: to the dict, and to
#: the value. If the trace grows at such a step, the object itself gets more attributes, and its own name ends before it.
HOPS_OF_ATTRIBUTE = 2
#: Most objects of a path; a longer one is cut in the middle.
MAX_OBJECTS = 8


def answer_blocks(finding: Finding, report: HuntReport) -> Iterator[Block]:
    """Yield who has a finding, its line, the change to make or advice with code that can be pasted, and how it grows."""
    patch, advice = finding.patch, finding.diagnosis.advice
    if who_has(finding):
        yield Paragraph(who_has(finding), tone="note")
    if where := place_text(first_place(finding, report), finding):
        yield Paragraph(Span(where, is_code=True))
    if library := finding.diagnosis.library:
        yield Paragraph(f"a bug of {library}.")
    if patch is not None:
        yield Diff("\n".join(map(" ".join, changed_rows(finding))))
        yield from [Paragraph(f"({patch.remains})", tone="quiet")] if patch.remains else []
    else:
        yield from [Paragraph(advice.text, DO)] if advice.text else []
        yield from [Code("\n".join(code))] if (code := pasted_code(finding)) else []
    if finding.arrivals is not None:
        yield Paragraph(f"comes {how_often(finding.arrivals, report.step)}", tone="quiet")
    if finding.consequences:
        yield Paragraph(because_of_it(finding), tone="quiet")


def place_text(place: Place | None, finding: Finding) -> str:
    """Return the line that stores, else the line that creates, with its source if the file exists."""
    if finding.stored_at is not None:
        stored = finding.stored_at
        doubt = "   (unsure: other lines fit as well)" if stored.confidence is Confidence.UNSURE else ""
        return f"{stored.file}:{stored.line}{BESIDE}{stored.source}{doubt}"
    created = "created at " if finding.created_at else ""
    if place is None:
        return f"{created}{finding.created_at[0]}" if created else ""
    source = linecache.getline(place.file, place.line).strip()
    return f"{created}{place.relative}:{place.line}{BESIDE}{source}".rstrip()


def pasted_code(finding: Finding) -> list[str]:
    """Return the code of the advice if it has the program's own names, else none."""
    advice = finding.diagnosis.advice
    return [line for line in advice.code.splitlines() if line.strip() and not advice.is_example]


def name_of_holder(trace: Trace, grows_at: int | None = None) -> str:
    """Return the program's expression for the container, such as `trainer.losses`, or for the object that gets more
    attributes; empty if there is none.
    """
    if len(trace.steps) < 2 or not trace.steps[0].via.startswith(GLOBAL_VARIABLE):
        return ""
    words = plain_name(trace.steps[0].via)
    if words.startswith("_") and trace.steps[0].detail != "__main__":
        return ""  # a library's own variable, which means nothing to the reader
    for number, step in enumerate(trace.steps[1:-1], 1):
        is_around = grows_at is not None and number < grows_at
        if not step.via.startswith((".", "[") if is_around else "."):
            break
        if number == grows_at and len(step.hops) == HOPS_OF_ATTRIBUTE:
            break
        words += step.via
    return words


def holder_of(change: FindingChange, report: HuntReport) -> str:
    """Return the holder of a finding that is compared; empty if it is gone, or has no name."""
    found = filter(change.is_about, report.findings)
    return next((name_of_holder(one.trace, one.grows_at) for one in found), "")


def plain_name(via: str) -> str:
    """Return ``global variable 'cache'`` as the program writes it: ``cache``."""
    return via.partition("'")[2].partition("'")[0] if via.startswith(VARIABLES) else via


def path(trace: Trace, grows_at: int | None = None) -> str:
    """Return the path from the root to the survivor. `trainer.losses: list` is a list and the name that leads to it.

    The step that grows, if one does, has a name of the program.
    """
    if trace.object == SHARED_MEMORY:
        return trace.detail
    if trace.steps:
        growing = trace.steps[grows_at] if grows_at is not None else None
        return ARROW.join(shortened([*path_words(folded(trace.steps), growing), *end_words(trace)]))
    if trace.cycle:
        ring = shortened([step.object for step in trace.cycle])
        return f"cycle: {ARROW.join([*ring, trace.cycle[0].object])}"
    if trace.detail == PROFILED:
        return "what torch's profiler has recorded"
    holders = trace.keepers or trace.ledger.native
    return f"native code: {holders[0].description}" if holders else "no object that can be seen holds it"


def path_words(steps: Sequence[PathStep], growing: PathStep | None = None) -> Iterator[str]:
    """Return a root, then objects, each with the name through which it is reached; those around the growing one are parts
    of its name.
    """
    inside = next((number for number, step in enumerate(steps) if step is growing), 0)
    yield f"{steps[0].object} {without_line(steps[0])}".strip()
    name = plain_name(steps[0].via) if len(steps) > 1 else ""
    for number, step in enumerate(steps[1:], 1):
        is_last = number + 1 == len(steps)
        if not is_last and number != inside and step.via.startswith((".", "[") if name and number < inside else "."):
            name += step.via
            continue
        yield f"{name}: {object_words(step)}" if name and not name.startswith("[") else object_words(step)
        name = "" if is_last else step.via


def without_line(root: PathStep) -> str:
    """Return a root's detail. A running frame loses its line number, which changes with each snapshot."""
    return (
        LINE_NUMBER.sub(")", root.detail)
        if root.object == "running frame" and root.detail.endswith(")")
        else root.detail
    )


def object_words(step: PathStep) -> str:
    """Describe an object, with the number of its items if it has any."""
    length = step.length
    if length is None and step.detail.startswith("len ") and step.detail[4:].replace(",", "").isdigit():
        length = int(step.detail[4:].replace(",", ""))
    return step.object if length is None else f"{step.object} ({counted(length, 'item')})"


def end_words(trace: Trace) -> list[str]:
    """Return the survivor's grad_fn, if it is a tensor with one."""
    return [trace.tensor.grad_fn] if trace.tensor is not None and trace.tensor.grad_fn else []


def shortened(words: list[str]) -> list[str]:
    """Replace the middle of many words by dots."""
    if len(words) <= MAX_OBJECTS:
        return words
    return [*words[: MAX_OBJECTS // 2], GAP, *words[-(MAX_OBJECTS // 2 - 1) :]]


def can_be_proven(report: HuntReport) -> bool:
    """Whether this is a leak of a single process that can run again."""
    first = report.findings[0] if report.findings else None
    if first is None or not (first.patch is not None or first.trace.steps or first.trace.cycle):
        return False  # no line to change, no reference to cut
    is_one = first.in_workers is None and first.trace.object != SHARED_MEMORY
    can_run_again = ATTACHED not in report.settings and report.settings.get(CALLED) != "watch"
    return is_one and not report.ranks and can_run_again


def proof_line(report: HuntReport) -> Words:
    """Return the growth that is left with the line changed or the suspect reference removed, or the command to measure it."""
    first = report.findings[0]
    is_called = CALLED in report.settings  # a running program is not changed
    proof, is_patched = first.proof, first.patch is not None and not is_called
    if proof is None and is_called:
        return "To cut the reference: report.prove()"
    if proof is None:
        aim = "To try the fix: " if is_patched else "To cut the reference: "
        line = f"{aim}gradlife hunt --prove {report.typed_target}"
        return line if len(line) <= MAX_PROOF else f"{aim}add --prove to the command"
    if not proof.has_rate:
        return Span("Not proven: ", "note"), proof.note
    what = "with the line changed" if is_patched else "with the reference cut"
    after = "0 B" if proof.after == Amounts() else amounts(proof.after)
    if proof.is_sufficient:
        more = f"; {proof.note}" if is_patched and proof.note else "" if is_patched else f" ({proof.cut})"
        return Span("Proof: ", "good"), f"{'in a copy ' if is_patched else ''}{what}, {after} per step{more}"
    if proof.after == Amounts():
        return Span("Not proven: ", "note"), f"{what}, nothing grows, but {proof.note}"
    return Span("Not proven: ", "note"), f"{what}, each step adds {after}{f', {proof.note}' if proof.note else ''}"
