"""One story in full: what happens, what each profile does, and the fix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, RenderableType
from rich.text import Text

from gradlife.model import Declared, RunOk, RunReport, ScenarioInfo
from gradlife.patterns import sentence
from gradlife.reports.docstrings import folded_prose
from gradlife.reports.layout import Hanging
from gradlife.reports.run.grid import Grid
from gradlife.reports.run.ownership_tree import ownership_lines
from gradlife.reports.run.run import mark_legend
from gradlife.reports.run.suites import ANSWERS, add_stages, detail_for
from gradlife.reports.run.view import LIVENESS, RunView
from gradlife.reports.theme import BAD, GOOD, NOTE, QUIET, TITLE, VERDICT_STYLES
from gradlife.reports.values import plain
from gradlife.reports.visible_report import shows_report

DIFF_STYLES = {"-": BAD, "+": GOOD, ".": QUIET}

#: Probes about what is alive and who holds it. The others are counts and bytes.
STAGE_PROBES = ("expiry", "refcount", *ANSWERS, "referrers")


@dataclass(frozen=True)
class Fix:
    """A repaired twin, and how its source differs from the story's."""

    twin: ScenarioInfo
    diff: Sequence[str]


@dataclass(frozen=True)
class Explanation:
    """The full page of one story."""

    story: ScenarioInfo
    profiles: Sequence[tuple[str, Sequence[Declared]]]  # the declared values of each profile
    fixes: Sequence[Fix]
    report: RunReport | None = None  # a run of the story, to show its stages
    why_no_report: str = ""
    owners_in: Sequence[str] = ()  # systems whose ownership trees are shown if the run has them


@shows_report
def print_explanation(console: Console, explanation: Explanation) -> None:
    """Print the whole page."""
    for part in parts(console.width, explanation):
        console.print(part, end="\n" if isinstance(part, Text) else "")


def parts(width: int, explanation: Explanation) -> Iterator[RenderableType]:
    """Yield the head, the story, its stages, the profiles, the fixes."""
    story = explanation.story
    yield from head(story)
    yield Text("\nThe story", TITLE)
    yield from folded_prose(story.story or "It has no docstring.")
    yield Text("\nStage by stage", TITLE)
    yield from stages(width, explanation)
    yield from owners(explanation)
    if explanation.profiles and story.expects:
        yield Text("\nWhat each profile is declared to do", TITLE)
        yield from profile_lines(explanation.profiles)
    for fix in explanation.fixes:
        yield from fix_lines(fix)
    if not explanation.fixes:
        yield Text("\nNo repaired twin: " + no_twin(story), QUIET)


def head(story: ScenarioInfo) -> Iterator[RenderableType]:
    """Yield the title and the origin of the story."""
    yield Hanging(Text(""), Text(story.title, TITLE))
    yield Hanging(Text("  story    ", QUIET), Text(story.id + (f"  ({story.file}:{story.line})" if story.file else "")))
    if story.fixed_of:
        yield Hanging(Text("  repairs  ", QUIET), Text(story.fixed_of))
    if story.pattern:
        yield Hanging(Text("  pattern  ", QUIET), Text(f"{story.pattern}: {sentence(story.pattern)}"))
    if story.origin:
        yield Hanging(Text("  origin   ", QUIET), Text(", ".join(story.origin)))
    if story.needs:
        yield Hanging(Text("  needs    ", QUIET), Text(story.needs))
    if story.profile:
        yield Hanging(Text("  profile  ", QUIET), Text(f"{story.profile} (the mini engine; no release)"))


def stages(width: int, explanation: Explanation) -> Iterator[RenderableType]:
    """Yield the readings of each stage of the run."""
    if explanation.report is None:
        yield Hanging(Text("  "), Text(explanation.why_no_report or "It was not run.", QUIET))
        return
    view = RunView(explanation.report)
    grid = Grid(view.headings)
    keys = [key for key in view.keys.get(explanation.story.id, ()) if key.probe in STAGE_PROBES]
    add_stages(grid, view, keys, detail_for(width, len(view.systems), in_full=True))
    for run in explanation.report.runs:
        if run.reason:
            yield Hanging(Text(f"  {run.system}: "), Text(run.reason, QUIET))
    if grid.rows:
        yield grid
        yield from mark_legend(view, [grid])


def owners(explanation: Explanation) -> Iterator[RenderableType]:
    """Yield the ownership diagram of each stage."""
    for run in explanation.report.runs if explanation.report else ():
        if isinstance(run, RunOk) and run.owners and run.system in explanation.owners_in:
            yield Text(f"\nWho owns whom on {run.system}", TITLE)
            yield from ownership_lines(run.owners)


def profile_lines(profiles: Sequence[tuple[str, Sequence[Declared]]]) -> Iterator[RenderableType]:
    """Yield a row per profile with its declared values and the numbers of their reasons; then the reasons."""
    reasons: dict[str, int] = {}
    spoken_of = [(profile, declared) for profile, declared in profiles if declared]
    width = max((len(profile) for profile, _ in spoken_of), default=0)
    for profile, declared in spoken_of:
        row = Text()
        for one in declared:
            row.append("; " if row else "")
            append_declared(row, one, reasons)
        yield Hanging(Text(f"  {profile.ljust(width)}  ", GOOD), row)
    for reason, number in reasons.items():
        yield Hanging(Text(f"  [{number}] ", NOTE), Text(reason))
    silent = [profile for profile, declared in profiles if not declared]
    if silent:
        yield Hanging(Text("  "), Text(f"nothing is declared of {', '.join(silent)}", QUIET))


def append_declared(row: Text, declared: Declared, reasons: dict[str, int]) -> None:
    """Add one declared value."""
    row.append(f"{declared.subject} ")
    value = plain(declared.value)
    row.append(value, VERDICT_STYLES.get(value, TITLE) if declared.probe == LIVENESS else TITLE)
    if declared.stage:
        row.append(f" at {declared.stage!r}", QUIET)
    if declared.because:
        row.append(f" [{reasons.setdefault(declared.because, len(reasons) + 1)}]", NOTE)


def fix_lines(fix: Fix) -> Iterator[RenderableType]:
    """Yield the fix, and its change to the source."""
    yield Text("")
    yield Hanging(Text("The fix: ", TITLE), Text(fix.twin.fix or fix.twin.title))
    yield Hanging(Text("  "), Text(f"as shown in {fix.twin.name}: {fix.twin.title}", QUIET))
    yield from folded_prose(fix.twin.story)
    if fix.diff:
        yield Text("")
    for line in fix.diff:
        yield Hanging(Text("    "), Text(line, DIFF_STYLES.get(line[:1], "")))


def no_twin(story: ScenarioInfo) -> str:
    """Return the reason why the story has no fix."""
    return f"this is the repaired form of {story.fixed_of}." if story.fixed_of else "nothing in this story is a fault."
