"""The fidelity of each profile to its release: one line for each system, then every difference under its reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console, RenderableType
from rich.text import Text

from gradlife.errors import EXIT_CLEAN, EXIT_COULD_NOT_TELL
from gradlife.model.fidelity import Difference, FidelityReport, Nearness
from gradlife.reports.layout import Hanging
from gradlife.reports.run.grid import Cell, Grid
from gradlife.reports.theme import BAD, GOOD, NOTE, QUIET, TITLE
from gradlife.reports.values import contrast, counted
from gradlife.reports.visible_report import shows_report

HEADINGS = [("nearest", "profile"), ("equal",), ("of",), ("per", "cent"), ("un-", "explained")]

#: Most differences to list per system and reason, unless all are requested.
LISTED = 6

UNEXPLAINED = "unexplained"


@shows_report
def print_fidelity(console: Console, report: FidelityReport, in_full: bool = False) -> None:
    """Print the table, the differences, and the conclusion."""
    for part in parts(report, in_full):
        console.print(part, end="")


def parts(report: FidelityReport, in_full: bool) -> Iterator[RenderableType]:
    """Yield the parts of the report."""
    grid = Grid(HEADINGS)
    for line in report.lines:
        grid.row(line.system.name, cells(line))
    if report.lines:
        yield grid
        yield Text("\n")
    for line in report.lines:
        yield from difference_lines(line, in_full)
    if report.missing:
        text = f"not recorded yet: {', '.join(report.missing)} (make atlas, in a checkout, records them)"
        yield Hanging(Text(""), Text(text, QUIET))
    yield closing(report)


def cells(line: Nearness) -> list[Cell]:
    """Return a row of the table."""
    per_cent = "-" if line.per_cent is None else f"{floored(line.per_cent):.2f}"
    unexplained = len(line.unexplained)
    numbers = Cell(f"{line.equal:,}"), Cell(f"{line.comparable:,}"), Cell(per_cent)
    return [Cell(line.profile), *numbers, Cell(f"{unexplained:,}", "", BAD if unexplained else GOOD)]


def floored(per_cent: float) -> float:
    """Format with two decimals, never rounded up to 100."""
    return int(per_cent * 100) / 100


def difference_lines(line: Nearness, in_full: bool) -> Iterator[RenderableType]:
    """Yield every difference of one system, those without a reason first."""
    if not line.differences and not line.unstable:
        return
    title = f"{line.system.name} and mini:{line.profile}"
    asides = [
        f"{count:,} {what}" for count, what in ((line.left_out, "not available"), (line.unstable, "unstable")) if count
    ]
    yield Hanging(Text(""), Text.assemble((title, TITLE), (f"  {', '.join(asides)}", QUIET)))
    by_reason: dict[str, list[Difference]] = {}
    for one in sorted(line.differences, key=lambda one: one.is_explained):
        by_reason.setdefault(one.reason, []).append(one)
    for reason, differences in by_reason.items():
        word, style = ("because", NOTE) if reason else (UNEXPLAINED, BAD)
        text = f"  {reason}" if reason else f"  {counted(len(differences), 'difference')}"
        yield Hanging(Text("  "), Text.assemble((word, style), text))
        yield from lines_of_reason(differences, in_full)
    yield Text("")


def lines_of_reason(differences: Iterable[Difference], in_full: bool) -> Iterator[RenderableType]:
    """Yield the differences that share one reason."""
    differences = list(differences)
    for one in differences if in_full else differences[:LISTED]:
        mine, other = contrast(one.value, one.other)
        at = f" at {one.stage!r}" if one.stage else ""
        what = f"{one.subject}, {one.probe}" if one.subject else one.probe
        yield Hanging(Text("    "), Text(f"{one.scenario}: {what}{at}: {other} there, {mine} in the engine"))
    if len(differences) > LISTED and not in_full:
        yield Hanging(Text("    "), Text(f"and {len(differences) - LISTED:,} more: --stage-detail, --json FILE", QUIET))


def closing(report: FidelityReport) -> RenderableType:
    """Return the last line, which says what the exit status says."""
    word, style = {EXIT_CLEAN: ("clean", GOOD), EXIT_COULD_NOT_TELL: ("could not tell", NOTE)}.get(
        report.exit_status, ("FOUND", BAD)
    )
    unexplained = sum(len(line.unexplained) for line in report.lines)
    explained = sum(len(line.differences) for line in report.lines) - unexplained
    text = (
        f"{counted(report.scenarios, 'story', 'stories')} on {counted(len(report.lines), 'release')} and their profiles: "
        f"{counted(unexplained, 'unexplained difference')}, {explained:,} explained, in {report.seconds:.1f} s"
    )
    return Hanging(Text(""), Text.assemble((word, style), f": {text}"))
