"""The doctor's report for the terminal: the verdict, one line per sign, then the problems with their remedies."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.text import Text

from gradlife.model.checkup import Checkup, Health, Sign
from gradlife.reports.layout import Hanging
from gradlife.reports.theme import BAD, GOOD, NOTE, QUIET, TITLE
from gradlife.reports.values import counted
from gradlife.reports.visible_report import shows_report

MARKS = {
    Health.WELL: ("✔", GOOD),
    Health.ABSENT: ("·", QUIET),
    Health.LESS: ("!", NOTE),
    Health.BROKEN: ("✘", BAD),
}
#: A section with more signs than this shows equal signs that are well in one line.
MOST = 20


@shows_report
def print_checkup(console: Console, checkup: Checkup) -> None:
    """Print the whole report."""
    for part in parts(checkup):
        console.print(part, end="")


def parts(checkup: Checkup) -> Iterator[RenderableType]:
    """Yield the verdict, the sections, the problems, and the verdict again: a terminal shows the last lines."""
    yield verdict(checkup)
    yield Text("\n")
    for title, signs in checkup.sections.items():
        yield Text(f"{title}\n", TITLE)
        yield from section_lines(signs)
        yield Text("\n")
    if checkup.problems:
        yield Text("To fix\n", TITLE)
        yield from (line for sign in checkup.problems for line in problem_lines(sign))
        yield Text("\n")
    yield verdict(checkup)


def section_lines(signs: list[Sign]) -> Iterator[RenderableType]:
    """Yield one line per sign; many well signs with the same text share one line."""
    known = {sign.text for sign in signs if sign.health is Health.WELL}
    if len(signs) > MOST and len(known) == 1:
        well = [sign.name for sign in signs if sign.health is Health.WELL]
        lead = Text.assemble("  ", MARKS[Health.WELL], " ")
        yield Hanging(lead, Text.assemble(f"{len(well)} of {len(signs)}: ", (", ".join(well), QUIET)))
        signs = [sign for sign in signs if sign.health is not Health.WELL]
    width = max((len(sign.name) for sign in signs), default=0)
    for sign in signs:
        lead = Text.assemble("  ", MARKS[sign.health], f" {sign.name.ljust(width)}  ")
        yield Hanging(lead, Text(sign.text, "" if sign.is_problem else QUIET))


def problem_lines(sign: Sign) -> Iterator[RenderableType]:
    """Yield a problem, and what to do about it."""
    mark, style = MARKS[sign.health]
    yield Hanging(Text(f"  {mark} ", style), Text.assemble((sign.name, TITLE), f": {sign.text}"))
    yield Hanging(Text("    try: ", QUIET), Text(sign.remedy))


def verdict(checkup: Checkup) -> RenderableType:
    """Return the first and last line, which says what the exit status says."""
    broken = sum(sign.health is Health.BROKEN for sign in checkup.signs)
    less = len(checkup.problems) - broken
    rest = f"; {counted(less, 'thing')} that gradlife can do without, and tells less" if less else ""
    if broken:
        return Hanging(Text("NOT WELL: ", BAD), Text(f"{counted(broken, 'thing')} that gradlife relies on{rest}"))
    return Hanging(Text("well", GOOD), Text(f": {counted(len(checkup.signs), 'thing')} looked at{rest}"))
