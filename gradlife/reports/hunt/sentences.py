"""The findings of a hunt as sentences, shared by the terminal, Markdown and search terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradlife.errors import EXIT_CLEAN, EXIT_COULD_NOT_TELL, EXIT_FOUND
from gradlife.model.hunt import (
    ATTACHED,
    CALLED,
    LONGER_CODE,
    MAPPED,
    WORSE,
    Amounts,
    Arrivals,
    ChangeKind,
    CollectorWait,
    Control,
    Finding,
    FindingChange,
    FindingKind,
    HuntComparison,
    HuntReport,
    HuntVerdict,
    Severity,
)
from gradlife.model.memory_balance import ResidentPart
from gradlife.model.ranks import SHARED_MEMORY
from gradlife.model.trace import UNHELD, PathStep, Trace, as_written
from gradlife.reports.document.blocks import Tone
from gradlife.reports.document.trace import named
from gradlife.reports.hunt.ranks import leaking_ranks, who_has
from gradlife.reports.values import counted, size

#: Counts from which on people leave out fractions.
WHOLE = 10

#: Names of containers with small growth in a headline.
MOST_NAMES = 3

#: The verdicts as a reader sees them.
WORDS: dict[HuntVerdict, tuple[str, Tone]] = {
    HuntVerdict.LEAK: ("LEAK", "bad"),
    HuntVerdict.NEEDS_GC: ("needs-gc", "note"),
    HuntVerdict.CLEAN: ("clean", "good"),
    HuntVerdict.INCONCLUSIVE: ("could not tell", "note"),
}
#: The state of the survivors, after "Each step leaks 1 tensor and 65.5 kB".
FATES = {
    FindingKind.GROWTH: ", still reachable",
    FindingKind.NEVER: ", unreachable and never freed",
    FindingKind.NATIVE: ", held by native code",
    FindingKind.NEEDS_GC: ", in a cycle that waits for the collector",
}
KINDS = {
    FindingKind.GROWTH: "grows in every round",
    FindingKind.NEVER: "never freed",
    FindingKind.NATIVE: "held by native code",
    FindingKind.RETAINED: "retained between steps, not growing",
    FindingKind.NEEDS_GC: "needs the collector",
}
#: What the hunt found out about a control.
JUDGED = {
    "growth": "found to grow",
    "never": "found never to be freed",
    "clean": "found clean",
    "whole": "found whole",
    "in part": "found in part",
}
#: Codes of leaks in which many objects get one new object each: they have no growing container to name.
WITHOUT_CONTAINER = {"GL527"}
#: The retained bytes are shown instead of the storages' bytes if they are larger by at least this share.
MIN_EXTRA_SHARE = 0.25
#: And by at least this many bytes: the small objects around a storage take less.
MIN_EXTRA_BYTES = 1_000
#: A kind of object is left out if each step adds at most this share of the most numerous kind.
STRAY_SHARE = 0.05
#: From this share of the growth on, a finding is all of it.
NEARLY_ALL = 0.95
#: Types too common to search for.
COMMON_TYPES = {
    "dict",
    "list",
    "tuple",
    "module",
    "cell",
    "object",
    "type",
    "function",
    "str",
    "int",
    "running frame",
    "frame",
}


def problem(finding: Finding, report: HuntReport) -> list[str]:
    """Describe the problem: what leaks, its share of the growth, its holder, where it is stored."""
    if finding.trace.object == SHARED_MEMORY:
        return [orphaned_memory(finding)]
    lines = [f"{what(finding, report.step)}.", held_by(finding.trace)]
    lines += gathered_in(finding) if finding.code not in WITHOUT_CONTAINER else []
    share = share_of(finding, report)
    if share:
        lines.insert(1, f"That is {share}.")
    if finding.retained_bytes:
        lines.append(f"Freeing {freed_holder(finding)} would free {size(finding.retained_bytes)}.")
    if finding.arrivals is not None:
        lines.append(f"It comes {how_often(finding.arrivals, report.step)}.")
    if finding.waits is not None and finding.waits.bytes:
        lines.append(wait_sentence(finding.waits, report.step))
    if finding.consequences:
        lines.append(f"{because_of_it(finding)}.")
    if finding.emptied_at:
        lines.append(f"{finding.emptied_at} may empty it later: a longer run shows whether it does.")
    if finding.also_held_by:
        lines.append(f"These also hold it, each on its own, and must let go too: {'; '.join(finding.also_held_by)}.")
    if who_has(finding):
        lines.insert(1, f"{'In' if finding.in_workers is not None else 'On'} {who_has(finding)}.")
    if finding.created_at:
        lines.append(f"Created at {', called from '.join(finding.created_at)}.")
    return lines


def judged(control: Control) -> str:
    """Describe a control and what the hunt found out about it."""
    wrong = "" if control.is_right else f", but it is {control.expected}"
    return f"{control.name}: {JUDGED.get(control.observed, control.observed)}{wrong}"


def orphaned_memory(finding: Finding) -> str:
    """Describe files of shared memory that exist after the processes that used them have ended."""
    count, kept = finding.survivors, size(finding.retained_bytes)
    more = f" and {count - 1:,} more" if count > 1 else ""
    return f"{finding.trace.detail}{more}: {kept} of shared memory that no process has mapped any more."


def what(finding: Finding, step: str) -> str:
    """Return the survivors and their number. ``step`` is the word for one step."""
    if finding.kind is FindingKind.RETAINED:
        kept = [counted(finding.survivors, noun(finding.trace))]
        kept += [size(finding.retained_bytes)] if finding.retained_bytes else []
        return f"Between two {step}s {listed(kept)} {'is' if finding.survivors == 1 else 'are'} retained"
    is_wanted = finding.severity is Severity.NOTE  # the states of a metric, until its reset()
    verb = "leaves" if finding.kind is FindingKind.NEEDS_GC else "adds" if is_wanted else "leaks"
    each = f"result after the last {step}" if finding.is_after_steps else step
    return f"Each {each} {verb} {amounts(finding.per_step)}{FATES[finding.kind]}"


def noun(trace: Trace) -> str:
    """Return the name of the survivors."""
    return trace.object or "object"


def amounts(per_step: Amounts) -> str:
    """Format 1 tensor and 65.5 kB; without tensors, the other objects."""
    names = (("tensors", "tensor"), ("storages", "storage"), ("graph_nodes", "grad node"), ("objects", "object"))
    counts = [(getattr(per_step, field), word) for field, word in names]
    most = max(count for count, _ in counts)
    first = [rate(count, word) for count, word in counts if count and count > STRAY_SHARE * most][:2]
    if per_step.tensors and abs(per_step.storages - per_step.tensors) <= STRAY_SHARE * per_step.tensors:
        first = [rate(max(per_step.tensors, per_step.storages), "tensor")]  # one at a reused address looks old
    nbytes = [size(round(per_step.bytes))] if round(per_step.bytes) else []
    more = per_step.retained_bytes - per_step.bytes
    if first and more >= max(MIN_EXTRA_BYTES, MIN_EXTRA_SHARE * per_step.bytes):
        included = "(graph included)" if per_step.graph_nodes else "in all"
        nbytes = [f"{size(round(per_step.retained_bytes))} {included}"]
    return listed(first + nbytes) or "nothing"


def rate(count: float, word: str) -> str:
    """Format a rate: 1 tensor, 0.5 tensors."""
    text = number(count)
    return f"{text} {word if text == '1' else word + 's'}"


def number(count: float) -> str:
    """Format a count as people say it: whole numbers, from ten on all, in full, others with two figures, below one with one."""
    if count == int(count) or count >= WHOLE:
        return f"{count:,.0f}"
    return f"{count:.2g}" if count > 1 else f"{count:.1g}"


def wait_sentence(waits: CollectorWait, step: str) -> str:
    """Say how long garbage waits for the collector, and how much of it there is by then."""
    often = f"every {waits.steps:,} {step}s" if waits.steps > 1 else f"in each {step}"
    return f"At its threshold of {waits.threshold:,} objects the collector runs {often}: about {size(waits.bytes)} wait by then."


def listed(parts: Iterable[str]) -> str:
    """Join words: a; a and b; a, b and c."""
    *most, last = [*parts] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def how_often(found: Arrivals, step: str) -> str:
    """Format a frequency: about once in 40 steps (12 times in 480 steps), 333 kB each; or how many came after the steps."""
    if found.is_after_steps:
        return f"{found.times:,} times after the last {step}, {size(found.bytes_each)} each"
    apart = round(found.steps / found.times)
    return f"about once in {apart:,} {step}s ({found.times:,} times in {found.steps:,} {step}s), {size(found.bytes_each)} each"


def because_of_it(finding: Finding) -> str:
    """Describe how much else grows for the same reason."""
    verb, are = ("grows", "is") if finding.consequences == 1 else ("grow", "are")
    return f"{counted(finding.consequences, 'other place')} {verb} because of this, and {are} counted here"


def share_of(finding: Finding, report: HuntReport) -> str:
    """Return the finding's share of all growth, if other growth is worth a word."""
    steps = sum(one.steps for one in report.rounds)
    grown = sum(one.added.bytes for one in report.rounds) / steps if steps else 0.0
    part = finding.per_step.bytes / grown if grown > 0 else 0.0
    return f"{part * 100:.0f} % of all growth in storages" if 0 < part < NEARLY_ALL else ""


def held_by(trace: Trace) -> str:
    """Return the holder of the survivors."""
    if trace.steps:
        first = trace.steps[0]
        return f"Held by {named(first)}: {path_text(trace.steps)}."
    if trace.cycle:
        ring = " → ".join(step.object for step in (*trace.cycle, trace.cycle[0]))
        return f"Nothing but their own cycle keeps them: {ring}."
    if trace.object == UNHELD:
        return "No object that can be seen has it."
    if trace.ledger.native:
        return f"Native code holds them: {trace.ledger.native[0].description}."
    return "No object refers to them: their reference counts are higher than the references that can be seen."


def gathered_in(finding: Finding) -> list[str]:
    """Name the container that grows in each step, else the last object whose item or key the path follows."""
    trace = finding.trace
    if finding.grows_at is not None:
        step = trace.steps[finding.grows_at]
        return (
            [f"Stored in {named(step)}, {path_text(trace.steps[: finding.grows_at + 1])}."] if finding.grows_at else []
        )
    for number in range(len(trace.steps) - 2, 0, -1):
        if trace.steps[number].via.startswith(("[", "an item", "an element", "a key")):
            return [f"Stored in {named(trace.steps[number])}, {path_text(trace.steps[: number + 1])}."]
    return []


def freed_holder(finding: Finding) -> str:
    """Return the words for the container that grows, after the sentence that names it; else for the holder."""
    return f"that {finding.trace.steps[finding.grows_at].object}" if finding.grows_at else "its holder"


def path_text(steps: tuple[PathStep, ...]) -> str:
    """Format the references of a trace: state.losses[0] → grad_fn."""
    text = ""
    for step in folded(steps)[:-1]:
        text += step.via if step.via[:1] in ".[" else f"{' → ' if text else ''}{step.via}"
    return as_written(text)


def folded(steps: tuple[PathStep, ...]) -> list[PathStep]:
    """Replace each run of equal steps by its first and its last step."""
    kept: list[PathStep] = []
    for step in steps:
        if len(kept) >= 2 and all((one.object, one.via) == (step.object, step.via) for one in kept[-2:]):
            kept[-1] = step
        else:
            kept.append(step)
    return kept


def keywords(finding: Finding) -> list[str]:
    """Return words for a search engine."""
    trace = finding.trace
    around = [step for step in (*trace.steps, *trace.cycle) if step.is_suspect] or [*trace.steps, *trace.cycle]
    types = [step.object for step in around] + [trace.object]
    words = [finding.code, *(word for word in types if word not in COMMON_TYPES)]
    words += [link for link in finding.diagnosis.advice.links if not link.startswith("http")]
    return list(dict.fromkeys(words))


def by_whose_bug(report: HuntReport) -> Iterator[tuple[str, list[Finding]]]:
    """Yield the findings by heading: leaks of the program, leaks of libraries, cycles that wait for the collector, notes."""
    leaks, waiting, notes = sorted_out(report)
    sections = (
        ("Leaks of this program", [one for one in leaks if not one.diagnosis.library]),
        ("Leaks of libraries", [one for one in leaks if one.diagnosis.library]),
        ("Waiting for the collector: no leaks, but memory at its peak", waiting),
        ("Notes: no leaks, but memory that is kept", notes),
    )
    yield from ((title, found) for title, found in sections if found)


def sorted_out(report: HuntReport) -> tuple[list[Finding], list[Finding], list[Finding]]:
    """Return the leaks, the cycles that wait for the collector, and the notes."""
    waiting = [one for one in report.findings if one.kind is FindingKind.NEEDS_GC]
    others = [one for one in report.findings if one.kind is not FindingKind.NEEDS_GC]
    notes = [one for one in others if one.severity is Severity.NOTE]
    return [one for one in others if one.severity is not Severity.NOTE], waiting, notes


def sums(report: HuntReport) -> str:
    """Format the sums: 2 leaks of this program, 1 of libraries, 1 growth explained."""
    leaks, waiting, notes = sorted_out(report)
    library = sum(bool(one.diagnosis.library) for one in leaks)
    own = len(leaks) - library
    parts = [f"{counted(own, 'leak')} of this program"] if own else []
    parts += [f"{counted(library, 'leak')} of libraries"] if library else []
    parts += [f"{counted(len(waiting), 'cycle')} waiting for the collector"] if waiting else []
    parts += [counted(len(notes), "note")] if notes else []
    parts += [f"{counted(len(report.meant), 'growth')} explained"] if report.meant else []
    return ", ".join(parts)


#: The verdict of a comparison with an earlier hunt, by its exit status.
COMPARED: dict[int, tuple[str, Tone]] = {
    EXIT_CLEAN: ("no regression", "good"),
    EXIT_FOUND: ("REGRESSION", "bad"),
    EXIT_COULD_NOT_TELL: ("could not tell", "note"),
}


def compared(against: HuntComparison) -> str:
    """Say how many findings are new, larger, as before, smaller and gone."""
    if against.trouble:
        return f"not compared with {against.file}: {against.trouble}"
    kinds = [one.kind for one in against.changes]
    counts = [f"{kinds.count(kind):,} {kind.value}" for kind in ChangeKind if kind in kinds]
    small = sum(one.kind in WORSE and not one.is_failure for one in against.changes)
    note = f"; {counted(small, 'is', 'are')} not counted (see --fail-on)" if small else ""
    return f"{listed(counts) or 'nothing leaks, and nothing did'}, compared with {against.file}{note}"


def change_words(change: FindingChange, holder: str = "") -> str:
    """Return what became of a finding: its holder if it is known, its line and its rates."""
    place = f" ({change.stored_at})" if change.stored_at else ""
    then = () if change.kind is ChangeKind.NEW else (amounts(change.before),)
    now = () if change.kind is ChangeKind.GONE else (amounts(change.after),)
    name = f"{holder}: " if holder else ""
    return f"{change.code} {name}{change.title}{place}: {' to '.join(dict.fromkeys((*then, *now)))} a step"


def verdict_word(report: HuntReport) -> tuple[str, Tone]:
    """Return the verdict as a reader sees it, with its tone. LEAK is only what the exit status calls one."""
    if report.against is not None and report.verdict is not HuntVerdict.INCONCLUSIVE:
        return COMPARED[report.exit_status]
    if report.tolerated is not None:
        return report.tolerated.value, "note"
    is_growing = report.verdict is HuntVerdict.INCONCLUSIVE and all(one.is_right for one in report.controls)
    return ("GROWS", "bad") if is_growing and report.unexplained else WORDS[report.verdict]


#: What the parts of resident memory are that no object accounts for.
RESIDENT_WORDS = {
    ResidentPart.RESERVE: "freed memory that malloc and Python keep for reuse",
    ResidentPart.FILES: "pages of {file}, which the system drops when it needs memory",
    ResidentPart.SHARED: "memory shared with other processes",
    ResidentPart.UNEXPLAINED: "pages that are touched for the first time, such as zeros, or mapped without malloc",
}


def headline(report: HuntReport) -> str:
    """Return the result in one line."""
    if report.against is not None and report.verdict is not HuntVerdict.INCONCLUSIVE:
        return compared(report.against)
    match report.verdict:
        case HuntVerdict.LEAK:
            found = sums(report) + (f" on {leaking_ranks(report)}" if report.ranks else "")
            return f"{found}{how_sure(report)}"
        case HuntVerdict.NEEDS_GC:
            return f"nothing leaks, but memory waits for the collector: {sums(report)}"
        case HuntVerdict.CLEAN:
            grown = f"; {counted(len(report.meant), 'growth')} explained" if report.meant else ""
            if report.ranks:
                return f"nothing grew on any of {report.world_size:,} ranks"
            if not report.rounds:
                return "nothing grew in its worker processes"
            least = f"{rate_of_small_growth(report)}{growth_of_notes(report)} in {rounds_of(report)}"
            return f"{least}{grown}{how_sure(report, has_rounds=False)}"
    if report.rests_on_unread:
        return str(report.unread)
    wrong = [control.name for control in report.controls if not control.is_right]
    if wrong:
        were = "planted controls {} were" if len(wrong) > 1 else "planted control {} was"
        return f"unreliable: the {were.format(listed(map(repr, wrong)))} misjudged"
    return report.trouble or "too few steps to tell"


def growth_of_notes(report: HuntReport) -> str:
    """Say what grew in a clean program: nothing, the states of metrics, or a tensor by less than a byte a step."""
    grown = {one.code for one in report.findings if one.kind is FindingKind.GROWTH}
    if grown == {LONGER_CODE}:
        return "a tensor grew by less than a byte per step, nothing else grew"
    if grown:
        return "nothing grew but what metrics keep until reset()"
    return "nothing else grew" if report.small_growth else "nothing grew"


def rate_of_small_growth(report: HuntReport) -> str:
    """Say how much got longer by less than counts as a leak; empty if nothing did."""
    rows = report.small_growth
    if not rows:
        return ""
    items, nbytes = sum(one.items for one in rows), sum(one.bytes for one in rows)
    return f"{items:.3g} objects ({size(round(nbytes))}) per {report.step} are unexplained; "


def small_containers(report: HuntReport) -> str:
    """Name the containers with small growth; empty if there are none."""
    rows = [f"{one.what} ({one.type}, {size(round(one.bytes))})" for one in report.small_growth]
    more = [f"{counted(len(rows) - MOST_NAMES, 'more container')}"] if len(rows) > MOST_NAMES else []
    return f"Unexplained per {report.step}: {listed([*rows[:MOST_NAMES], *more])}" if rows else ""


def resident_sentence(report: HuntReport) -> str:
    """Say what makes resident memory grow beside all objects; empty if nothing does, or if a leak or the verdict says more."""
    told = {ResidentPart.UNEXPLAINED} if MAPPED in report.unexplained else set()
    parts = [
        f"{size(round(rate))} of {RESIDENT_WORDS[part].format(file=report.mapped_file or 'mapped files')}"
        for part, rate in report.resident_growth.items()
        if part not in told and report.verdict is not HuntVerdict.LEAK
    ]
    return f"Resident memory grows per {report.step} by {listed(parts)}" if parts else ""


def how_sure(report: HuntReport, *, has_rounds: bool = True) -> str:
    """Return why a leak is only suspected, and how many more steps would make it sure; empty if it is sure."""
    if not report.more_steps or report.ranks:
        return ""
    more = f"{counted(report.more_steps, f'more {report.step}')} would make it sure"
    return f" (suspected: {rounds_of(report)}; {more})" if has_rounds else f"; {more}"


def rounds_of(report: HuntReport) -> str:
    """Format the rounds: 3 rounds of 5 to 11 steps."""
    return f"{counted(len(report.rounds), 'round')} of {steps_of(report)}"


def steps_of(report: HuntReport) -> str:
    """Format the steps: 7 steps; 7 to 13 steps."""
    least, most = min(one.steps for one in report.rounds), max(one.steps for one in report.rounds)
    return counted(most, report.step) if least == most else f"{least} to {most} {report.step}s"


def method(report: HuntReport) -> str:
    """Return the method of the hunt."""
    text = f"{counted(report.warmup_steps, report.step)} of warm-up"
    if report.rounds:
        text += f", then {rounds_of(report)}"
    return text


def with_what(report: HuntReport) -> str:
    """Return what `--prove` changes."""
    return "with the change" if report.findings[0].patch is not None else "without the suspect reference"


def next_commands(report: HuntReport) -> list[tuple[str, str]]:
    """Return the next commands, each with its purpose."""
    if not report.findings:
        return []
    target = report.typed_target
    code = report.findings[0].code
    lines = [] if code == "GL000" else [(f"gradlife explain {code}", "explains it with a small program")]
    if report.ranks or report.findings[0].trace.object == SHARED_MEMORY:
        return lines
    if CALLED in report.settings:
        is_once = report.settings[CALLED] == "watch" or any(one.proof is not None for one in report.findings)
        proof = ("report.prove()", "calls it again without the suspect reference, and measures")
        return [*lines, *([] if is_once else [proof])]
    if ATTACHED in report.settings:  # the process can be attached to again, but not run again
        return [*lines, (f"{report.settings[ATTACHED]} -i", "a prompt on a snapshot of the process")]
    if all(one.proof is None and one.in_workers is None for one in report.findings):
        lines.append((f"gradlife hunt --prove {target}", f"runs again {with_what(report)}, and measures"))
    lines.append((f"gradlife hunt -i {target}", "stops at the leak, to look around and to cut it"))
    lines.append((f"gradlife hunt --json before.json {target}", "before the fix: writes down the growth per step"))
    lines.append((f"gradlife hunt --verify before.json {target}", "after the fix: compares them"))
    return lines
