"""The report of `gradlife explain`: name, reason, traces, advice and stories of a pattern."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console, RenderableType
from rich.text import Text

from gradlife.model import ScenarioInfo
from gradlife.patterns import family, patterns_of, sentence
from gradlife.patterns.fallback import code_with_general_names, with_general_words
from gradlife.patterns.matching.pattern import Pattern
from gradlife.reports.layout import Hanging
from gradlife.reports.theme import GOOD, NOTE, QUIET, TITLE
from gradlife.reports.visible_report import shows_report


@shows_report
def print_pattern(console: Console, code: str, stories: Iterable[ScenarioInfo]) -> None:
    """Print everything about a code."""
    for part in pattern_parts(code, list(stories)):
        console.print(part, end="\n" if isinstance(part, Text) else "")


def pattern_parts(code: str, stories: list[ScenarioInfo]) -> Iterator[RenderableType]:
    """Yield the name, the family, each form of the leak, the stories."""
    yield Hanging(Text(f"{code}  ", TITLE), Text(sentence(code)))
    name, result = family(code)
    yield Hanging(Text(f"{code[:3]}xx  ", QUIET), Text(f"{name}: {result}", QUIET))
    rows = patterns_of(code)
    for row in rows:
        yield from row_parts(row)
    if not rows:
        yield from fix_parts(stories)
    if stories:
        yield Text("\nStories" if rows else "")
        yield from story_parts(stories)


def row_parts(row: Pattern) -> Iterator[RenderableType]:
    """Yield one form of a leak."""
    yield Text(f"\n{row.title[:1].upper()}{row.title[1:]}", TITLE)
    yield Hanging(Text("  "), Text(with_general_words(row.reason)))
    yield Hanging(Text("  trace    ", QUIET), Text(row.example))
    yield Hanging(Text("  do       ", QUIET), Text(with_general_words(row.advice)))
    for line in code_with_general_names(row.fix).splitlines():
        yield Hanging(Text("             "), Text(line, GOOD))
    if row.links:
        yield Hanging(Text("  see      ", QUIET), Text(", ".join(row.links)))


def fix_parts(stories: Iterable[ScenarioInfo]) -> Iterator[RenderableType]:
    """Yield the fixes of the stories of a code that has no trace of its own."""
    fixes = dict.fromkeys(story.fix for story in stories if story.fix)
    for fix in fixes:
        yield Hanging(Text("  do       ", QUIET), Text(fix))


def story_parts(stories: Iterable[ScenarioInfo]) -> Iterator[RenderableType]:
    """Yield a line per story, with its repaired twins below it."""
    for story in stories:
        lead = "    + " if story.fixed_of else "  "
        yield Hanging(Text(lead, NOTE), Text.assemble((story.name, GOOD), f"  {story.title}"))
