"""The stories by suite, each with its title, its pattern and its repaired twins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console, RenderableType
from rich.text import Text

from gradlife.model import ScenarioInfo
from gradlife.reports.layout import Hanging
from gradlife.reports.theme import GOOD, NOTE, QUIET, TITLE
from gradlife.reports.values import counted
from gradlife.reports.visible_report import shows_report

#: A name that ends beyond this column has its title on the next line; so have all if titles get no room.
WIDEST_NAME = 46
MIN_TITLE = 30
GAP = 2


@shows_report
def print_list(console: Console, stories: Sequence[ScenarioInfo]) -> None:
    """Print the list."""
    width = min(WIDEST_NAME, max((len(story.name) + 6 + GAP for story in stories), default=0))
    for suite, members in by_suite(stories).items():
        twins = sum(1 for story in members if story.fixed_of)
        console.print(Text.assemble((suite, TITLE), (f"  {tally(len(members) - twins, twins)}", QUIET)))
        for story in in_families(members):
            for line in story_lines(story, width, console.width):
                console.print(line, end="")
        console.print()
    twins = sum(1 for story in stories if story.fixed_of)
    console.print(Text(f"{tally(len(stories) - twins, twins)}; gradlife explain NAME shows one", QUIET))


def tally(stories: int, twins: int) -> str:
    """Count the stories."""
    return counted(stories, "story", "stories") + (f", {counted(twins, 'repaired twin')}" if twins else "")


def by_suite(stories: Iterable[ScenarioInfo]) -> dict[str, list[ScenarioInfo]]:
    """Yield suites in the order of the stories."""
    suites: dict[str, list[ScenarioInfo]] = {}
    for story in stories:
        suites.setdefault(story.suite, []).append(story)
    return suites


def in_families(stories: Sequence[ScenarioInfo]) -> Iterator[ScenarioInfo]:
    """Yield each story, followed by its twins."""
    names = {story.name for story in stories}
    for story in stories:
        if story.fixed_of in names:
            continue
        yield story
        yield from (twin for twin in stories if twin.fixed_of == story.name)


def story_lines(story: ScenarioInfo, width: int, room: int) -> Iterator[RenderableType]:
    """Yield a name with its title beside it, or below it if the name is too long."""
    is_twin = story.fixed_of is not None
    name = Text("    + " if is_twin else "  ", NOTE)
    name.append(story.name, "" if is_twin else GOOD)
    title = Text(story.title)
    if story.pattern and not is_twin:
        title.append(f"  {story.pattern}", QUIET)
    if name.cell_len + GAP > width or room < width + MIN_TITLE:
        yield Hanging(Text(""), name)
        name = Text("")
        width = min(width, room // 4)
    name.append(" " * (width - name.cell_len))
    yield Hanging(name, title)
