"""The first screen of a hunt: the verdict, then for each finding its cause, the line, the advice and the path.

A screen has at most `LINES` lines at 80 columns. If several findings need more, the last blocks lose their path first,
then the advice, then the line. `gradlife hunt --full` prints everything.
"""

from __future__ import annotations

import linecache
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from gradlife.model.hunt import (
    ATTACHED,
    BOUNDED,
    Amounts,
    Confidence,
    Finding,
    FindingKind,
    HuntReport,
    HuntVerdict,
    Severity,
)
from gradlife.model.ranks import SHARED_MEMORY, Spread
from gradlife.model.trace import PROFILED, PathStep, Trace
from gradlife.reports.hunt.changes import STYLES, changed_rows
from gradlife.reports.hunt.held_memory import owners_at_the_end, ran_out_of_memory
from gradlife.reports.hunt.next_try import details_command, what_next
from gradlife.reports.hunt.ranks import first_screen_lines, leaking_ranks, who_has
from gradlife.reports.hunt.sentences import (
    amounts,
    because_of_it,
    folded,
    headline,
    how_often,
    how_sure,
    listed,
    small_containers,
    verdict_word,
)
from gradlife.reports.hunt.workers import leaking_workers, worker_notes
from gradlife.reports.layout import GAP, middle_out
from gradlife.reports.source_places import Place, first_place
from gradlife.reports.theme import BAD, GOOD, NOTE, QUIET, TITLE
from gradlife.reports.values import counted, size
from gradlife.reports.visible_report import shows_report

LINES = 15
MAX_FINDINGS = 5
#: Most lines of a piece of advice, and of its code.
MAX_ADVICE, MAX_CODE = 3, 5
#: Most rows of a line of code.
MAX_ROWS = 2
DO = "do: "
#: The most lines of the notes below the findings: on worker processes, and on how ranks differ.
MAX_NOTE, MAX_SKEW = 4, 2
INDENT = "   "
#: The longest line with the command of a proof.
MAX_PROOF = 80
#: Most owners of memory to name when it ran out, and beside leaks.
MAX_HELD, MAX_HELD_BESIDE = 5, 3
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
#: Most lines of a path.
MAX_PATH = 2
#: Most objects of a path; a longer one is cut in the middle.
MAX_OBJECTS = 8


@shows_report
def print_first_screen(console: Console, report: HuntReport) -> None:
    """Print the screen."""
    console.print(FirstScreen(report), end="")


@dataclass(frozen=True)
class FirstScreen:
    """The screen, laid out for the width of the console."""

    report: HuntReport

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in screen_lines(self.report, options.max_width):
            line.no_wrap = True
            yield line


def screen_lines(report: HuntReport, width: int) -> list[Text]:
    """Return the lines of the whole screen."""
    head = folded_lines(head_text(report, width), width, 2)
    if not report.findings or report.verdict is HuntVerdict.INCONCLUSIVE:
        notes = (*worker_notes(report), *garbage_places(report))
        is_told = report.verdict is HuntVerdict.INCONCLUSIVE  # how it ended is in the first line then
        ends = unread_note(report) if is_told else end_notes(report)
        texts = [
            *ends,
            *first_screen_lines(report),
            *(Text(f"Seen: {title_of(one, width)}") for one in report.findings if report.rests_on_unread),
            *filling(report),
            *(Text(sentence(note)) for note in notes),
        ]
        lines = [line for text in texts for line in folded_lines(text, width, MAX_NOTE)]
        lines += held_lines(report, MAX_HELD, width)
        return [*head, *lines, clipped(what_next(report), width)]
    foot = list(foot_lines(report, width))
    shown = report.findings[:MAX_FINDINGS]
    middle = blocks(report, shown, width, LINES - len(head) - len(foot) - 1)
    return [*head, Text(""), *middle, *foot]


def filling(report: HuntReport) -> Iterator[Text]:
    """Yield a line for each container that grows up to a declared bound, and one for those with small growth."""
    yield from (Text(one.what) for one in report.explained if one.kind == BOUNDED)
    yield from (Text(line) for line in [small_containers(report)] if line)


def garbage_places(report: HuntReport) -> Iterator[str]:
    """Yield where the garbage beside unexplained growth is created: often the same statement makes both."""
    for one in report.findings if report.unexplained else ():
        place = place_text(first_place(one, report), one)
        if one.kind is FindingKind.NEEDS_GC and place:
            yield f"garbage that the collector frees is {place}"


def held_lines(report: HuntReport, most: int, width: int) -> Iterator[Text]:
    """Yield who held the memory when it ran out."""
    rows = owners_at_the_end(report)[:most]
    column = max((len(size(one.bytes)) for one in rows), default=0)
    if rows:
        yield Text("Held when memory ran out:" if ran_out_of_memory(report) else "Held shortly before:")
    for one in rows:
        lead = f"{INDENT}{size(one.bytes):>{column}}  "
        yield Text(lead + middle_out(one.what, width - len(lead)))


def head_text(report: HuntReport, width: int) -> Text:
    """Return the verdict with the rate. The target gets at most one line, so that the rate fits on the second."""
    word, style = verdict_word(report)
    target = middle_out(report.target, width - len(word) - 2)
    text = Text.assemble((word, style), "  ", (target, TITLE))
    if report.verdict in (HuntVerdict.CLEAN, HuntVerdict.INCONCLUSIVE) or not report.findings:
        return text.append(f": {headline(report)}")
    if report.ranks:
        text.append(f", {leaking_ranks(report)},")
    elif leaking_workers(report):
        text.append(f", {leaking_workers(report)},")
    return text.append(f" {growth(report)}{how_sure(report)}")


def growth(report: HuntReport) -> str:
    """Return the growth of the program, and the time until its memory runs out."""
    leaks = [one for one in report.findings if one.severity is not Severity.NOTE] or report.findings
    growing = [one for one in leaks if one.kind not in (FindingKind.RETAINED, FindingKind.NEEDS_GC)]
    if not growing:
        return kept_bytes(leaks)
    after = [one for one in growing if one.is_after_steps]
    if after == growing:
        return kept_after_steps(after, report.step)
    growing = [one for one in growing if one not in after]
    own = [one for one in growing if one.in_workers is None]
    others = [one for one in growing if own and one.in_workers is not None]
    return f"{growth_of(own or growing, report)}{growth_of_workers(others)}"


def kept_bytes(leaks: Sequence[Finding]) -> str:
    """Say what is kept though nothing grows."""
    kept = size(sum(one.retained_bytes for one in leaks))
    if all(one.trace.object == SHARED_MEMORY for one in leaks):
        return f"leaves {kept} of shared memory; nothing grows"
    if any(one.kind is FindingKind.NEEDS_GC for one in leaks):
        return "keeps memory that only the collector frees; nothing grows"
    return f"keeps {f'{kept} of ' if any(one.retained_bytes for one in leaks) else ''}memory of a finished step; nothing grows"


def growth_of_workers(findings: Sequence[Finding]) -> str:
    """Say how fast workers grow beside the program: their rate has another unit. Empty without findings."""
    if not findings:
        return ""
    found = [one.in_workers for one in findings if one.in_workers is not None]
    return f"; its workers by {size(round(rate_of(findings)))} per {found[0].step}"


def rate_of(findings: Sequence[Finding]) -> float:
    """Return the bytes per step of several findings."""
    return sum(max(one.per_step.retained_bytes, one.per_step.bytes) for one in findings)


def growth_of(growing: Sequence[Finding], report: HuntReport) -> str:
    """Return the rate of findings with the same unit, and the time until memory runs out."""
    nbytes = max((row.growth.most for row in report.ranks), default=rate_of(growing))
    up_to = "up to " if len({rate for one in report.ranks for rate in spread_of(one.growth)}) > 1 else ""
    seconds = float(report.settings.get("step_seconds", 0))  # 0: steps are not intervals of time
    nbytes /= seconds or 1
    rate = up_to + size(round(nbytes)) if nbytes >= 1 else amounts(growing[0].per_step)
    rate += " per second" if seconds and nbytes >= 1 else f" per {report.step}"
    end = out_of_memory(growing, seconds, report)
    return f"grows by {rate}{judged_over(report, seconds)}{end or on_device(growing)}"


def judged_over(report: HuntReport, seconds: float) -> str:
    """Say over how many steps the growth was measured; empty without rounds. ``seconds``: of a step that is a time."""
    steps = sum(one.steps for one in report.rounds)
    if not steps:
        return ""
    return f" over {counted(round(steps * seconds), 'second') if seconds else counted(steps, report.step)}"


def kept_after_steps(findings: Sequence[Finding], step: str) -> str:
    """Say what was kept after the last step: it has no rate."""
    kept = [one.arrivals for one in findings if one.arrivals is not None]
    nbytes = sum(one.times * one.bytes_each for one in kept)
    return f"keeps {size(nbytes)} of {sum(one.times for one in kept):,} results after the last {step}"


def out_of_memory(growing: Sequence[Finding], seconds: float, report: HuntReport) -> str:
    """Say that memory ran out, or when and where it will; empty if a usual job would end first."""
    if ran_out_of_memory(report):
        return " and ran out of memory"
    near = [one for one in growing if one.steps_to_limit is not None]
    if not near:
        return ""
    left, device = min((steps_together(near, growing, one.fills, report), one.fills) for one in near)
    limit = report.settings.get("memory_limit", "") if not device else ""
    where = f" on {device}" if device else ""
    room = f" ({size(int(limit))})" if limit else ""
    return f": out of memory{where} after about {time_left(left, seconds, report.step)}{room}"


def steps_together(near: Sequence[Finding], growing: Sequence[Finding], device: str, report: HuntReport) -> int:
    """Return the steps until all that grows on a device has filled it. Of ranks, the worst is shown, and its findings are
    not known one by one.
    """
    here = [one for one in near if one.fills == device]
    rate = sum(one.rates.get(device, 0.0) for one in growing)
    alone = min(one.steps_to_limit or 0 for one in here)
    if report.ranks or not rate:
        return alone
    free = max((one.steps_to_limit or 0) * one.rates.get(device, 0.0) for one in here)
    return min(alone, round(free / rate))


def on_device(growing: Sequence[Finding]) -> str:
    """Name the device that most of the growth is on; empty for the CPU."""
    found = Counter[str]()
    for one in growing:
        found.update(one.device_bytes)
    device, nbytes = found.most_common(1)[0] if found else ("", 0)
    return f", most of it on {device}" if 2 * nbytes > sum(one.retained_bytes for one in growing) else ""


def time_left(steps: int, seconds: float, step: str) -> str:
    """Format ``1,200 more steps``, or ``120 seconds`` if a step is a time, rounded down to two figures."""
    return f"{rounded(round(steps * seconds)):,} seconds" if seconds else f"{rounded(steps):,} more {step}s"


def spread_of(growth: Spread) -> Iterator[float]:
    """Yield the least and the greatest rate of the ranks, if one grows."""
    yield from (rate for rate in (growth.least, growth.most) if growth.most)


def rounded(steps: int) -> int:
    """Round down to two figures: more are not known."""
    unit = int("1".ljust(len(str(steps)) - 1, "0"))
    return steps // unit * unit


@shows_report
def plain_blocks(report: HuntReport, width: int, room: int) -> list[str]:
    """Return the blocks of a report's findings in at most ``room`` lines, without colours."""
    return [line.plain.rstrip() for line in blocks(report, report.findings, width, room)]


def blocks(report: HuntReport, findings: Sequence[Finding], width: int, room: int) -> list[Text]:
    """Return a block for each finding, all in at most ``room`` lines."""
    return fit([block(finding, number, report, width) for number, finding in enumerate(findings, 1)], room)


def fit(blocks: Sequence[Sequence[Text]], room: int) -> list[Text]:
    """Shorten blocks, the longest and last first, until they fit; no block loses its title."""
    kept = [list(one) for one in blocks]
    while sum(map(len, kept)) > room and max(map(len, kept)) > 1:
        longest = max(map(len, kept))
        last = max(number for number, one in enumerate(kept) if len(one) == longest)
        kept[last].pop()
    spare = room - sum(map(len, kept))
    lines: list[Text] = []
    for number, one in enumerate(kept):
        if number and spare >= len(kept) - 1:
            lines.append(Text(""))
        lines += one
    return lines


def block(finding: Finding, number: int, report: HuntReport, width: int) -> list[Text]:
    """Return the lines of a finding: title, source line, change or advice, path."""
    lines = title_lines(finding, number, width)
    if who_has(finding):
        lines.append(clipped(Text(f"{INDENT}{who_has(finding)}", NOTE), width))
    where = place_text(first_place(finding, report), finding)
    if where:
        lines.append(clipped(Text(INDENT + with_short_file(where, width - len(INDENT))), width))
    lines += [clipped(line, width) for line in change_lines(finding, width)]
    if finding.arrivals is not None:
        lines.append(clipped(Text(f"{INDENT}comes {how_often(finding.arrivals, report.step)}", QUIET), width))
    if finding.consequences:
        lines.append(clipped(Text(f"{INDENT}{because_of_it(finding)}", QUIET), width))
    shown = path(finding.trace, finding.grows_at)
    lines += (Text(INDENT + line, QUIET) for line in path_lines(shown, width - len(INDENT)))
    return lines


def path_lines(text: str, width: int) -> list[str]:
    """Wrap a path into at most `MAX_PATH` lines. A longer one loses its middle: its root and its survivor say most."""
    words = text.split(ARROW)
    while len(lines := broken(ARROW.join(words), width)) > MAX_PATH and len(words) > 3:
        at = len(words) // 2
        words = [*words[: at - (words[at] == GAP)], GAP, *words[at + 1 :]]
        words = [word for number, word in enumerate(words) if word != GAP or words[number - 1] != GAP]
    return [middle_out(line, width) for line in lines[:MAX_PATH]]


def broken(text: str, width: int) -> list[str]:
    """Wrap a path before its arrows, into as many lines as it needs."""
    lines = [""]
    for number, word in enumerate(text.split(ARROW)):
        more = f"{ARROW if number else ''}{word}"
        if number and cell_len(lines[-1] + more) > width:
            lines.append(more.lstrip())
        else:
            lines[-1] += more
    return lines


def with_short_file(text: str, room: int) -> str:
    """Return a place and its source with the middle of a long file name left out, so that the line number stays."""
    place, gap, source = text.partition(BESIDE)
    return middle_out(place, max(room - len(gap + source), room // 2)) + gap + source


def title_lines(finding: Finding, number: int, width: int) -> list[Text]:
    """Return the title, with code and severity at the right edge of its first line."""
    right = f"{finding.code}, {finding.severity.value}"
    lead = f"{number}. "
    room = max(16, width - len(right) - 2 - len(lead))
    first, *more = folded_lines(Text(title_of(finding, room), TITLE), room, 2)
    space = " " * max(2, width - len(lead) - first.cell_len - len(right))
    style = QUIET if finding.severity in (Severity.MINOR, Severity.NOTE) else BAD
    return [Text.assemble(lead, first, space, (right, style)), *(Text.assemble(INDENT, one) for one in more)]


def title_of(finding: Finding, room: int) -> str:
    """Return the title with the name of the holder, unless that is long: the path has long names."""
    named = name_of_holder(finding.trace, finding.grows_at)
    return f"{named}: {finding.title}" if named and len(named) <= room // 2 else finding.title


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


def change_lines(finding: Finding, width: int) -> Iterator[Text]:
    """Yield the change to make: the patch with what remains after it, else the advice with code that can be pasted."""
    patch, advice = finding.patch, finding.diagnosis.advice
    if patch is not None:
        for sign, line in changed_rows(finding):
            rows = folded_lines(Text(line), width - len(INDENT) - 2, MAX_ROWS)
            style = STYLES[sign]
            yield from (Text(f"{INDENT}{' ' if number else sign} {row}", style) for number, row in enumerate(rows))
        if patch.remains:
            yield Text(f"{INDENT}({patch.remains})", QUIET)
        return
    if advice.text:
        rows = folded_lines(Text(advice.text), width - len(INDENT) - len(DO), MAX_ADVICE)
        yield from (Text.assemble(INDENT, " " * len(DO) if number else DO, row) for number, row in enumerate(rows))
    for line in pasted_code(finding)[:MAX_CODE]:
        rows = folded_lines(Text(line), width - len(INDENT) - len(DO), MAX_ROWS)
        yield from (Text.assemble(INDENT, " " * len(DO), (row.plain, GOOD)) for row in rows)


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


def foot_lines(report: HuntReport, width: int) -> Iterator[Text]:
    """Yield the other findings, doubts about the verdict, the proof, and where to read on."""
    rest = report.findings[MAX_FINDINGS:]
    if rest:
        severities = listed(dict.fromkeys(one.severity.value for one in rest))
        yield clipped(Text(f"{len(rest):,} more, {severities}", QUIET), width)
    yield Text("")
    yield from (part for line in first_screen_lines(report) for part in folded_lines(line, width, MAX_SKEW))
    yield from (part for note in worker_notes(report) for part in folded_lines(Text(sentence(note)), width, MAX_SKEW))
    yield from (part for line in end_notes(report) for part in folded_lines(line, width, MAX_SKEW))
    yield from held_lines(report, MAX_HELD_BESIDE, width)
    if report.settings.get("steps") == "sampled" and report.findings[0].in_workers is None:
        hint = " (to count others: --step-on MODULE:FUNCTION)"
        yield Text(f"Steps: {middle_out(report.stepped_by, width - len('Steps: ' + hint))}{hint}", QUIET)
    if can_be_proven(report):
        yield clipped(proof_line(report), width)
    yield clipped(Text(f"Details: {details_command(report)}, or --html report.html"), width)


def end_notes(report: HuntReport) -> Iterator[Text]:
    """Yield how the program or its ranks ended, if not well."""
    yield from unread_note(report)
    if report.trouble:
        yield Text(f"Note: {report.trouble}", NOTE)
    if report.script_status and "ended with" not in report.trouble:
        yield Text(f"Note: the script ended with status {report.script_status}", NOTE)


def unread_note(report: HuntReport) -> Iterator[Text]:
    """Yield what could not be read of PyTorch, unless that is why there is no verdict: the first line says so then."""
    if report.unread is not None and not report.rests_on_unread:
        yield Text(f"Note: {report.unread}", NOTE)


def sentence(note: str) -> str:
    """Return a note as a sentence of its own."""
    return f"{note[:1].upper()}{note[1:]}"


def can_be_proven(report: HuntReport) -> bool:
    """Whether this is a leak of a single process that can run again."""
    first = report.findings[0] if report.findings else None
    if first is None or not (first.patch is not None or first.trace.steps or first.trace.cycle):
        return False  # no line to change, no reference to cut
    is_one = first.in_workers is None and first.trace.object != SHARED_MEMORY
    return is_one and not report.ranks and ATTACHED not in report.settings


def proof_line(report: HuntReport) -> Text:
    """Return the growth that is left with the line changed or the suspect reference removed, or the command to measure it."""
    first = report.findings[0]
    proof, is_patched = first.proof, first.patch is not None
    if proof is None:
        aim = "To try the fix: " if is_patched else "To cut the reference: "
        line = f"{aim}gradlife hunt --prove {report.typed_target}"
        return Text(line if len(line) <= MAX_PROOF else f"{aim}add --prove to the command")
    if not proof.has_rate:
        return Text.assemble(("Not proven: ", NOTE), proof.note)
    what = "with the line changed" if is_patched else "with the reference cut"
    after = "0 B" if proof.after == Amounts() else amounts(proof.after)
    if proof.is_sufficient:
        more = f"; {proof.note}" if is_patched and proof.note else "" if is_patched else f" ({proof.cut})"
        return Text.assemble(("Proof: ", GOOD), f"{'in a copy ' if is_patched else ''}{what}, {after} per step{more}")
    still = "" if proof.after == Amounts() else "still "
    return Text.assemble(("Not proven: ", NOTE), f"{what}, {still}{after} per step. {proof.note}".rstrip())


def folded_lines(text: Text, width: int, most: int) -> list[Text]:
    """Wrap the text into at most ``most`` lines; the last one is clipped."""
    console = Console(width=width)
    lines = list(text.wrap(console, width, overflow="fold"))
    for line in lines:
        line.rstrip()
    if len(lines) > most:
        lines[most - 1] = clipped(Text.assemble(lines[most - 1], " ..."), width)
    return lines[:most] or [Text("")]


def clipped(text: Text, width: int) -> Text:
    """Return the text on one line; dots replace the end that does not fit."""
    if text.cell_len <= width:
        return text
    room = width - 3
    kept = len(set_cell_size(text.plain, room).rstrip())
    short = text[: min(kept, len(text))]
    while cell_len(short.plain) > room:
        short = short[:-1]
    return Text.assemble(short, "...")
