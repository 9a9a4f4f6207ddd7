"""Ownership trees of one run, stage by stage. A tree inside another one or unchanged since the last stage is not
repeated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from gradlife.model.reading import Ownership
from gradlife.reports.layout import Hanging
from gradlife.reports.theme import QUIET, TITLE

#: The name of an object in the engine: `tensor #12`.
NUMBER = re.compile(r"#\d+")
BRANCHES = re.compile(r"[\s│├└─|`+-]*")


def ownership_lines(owners: Sequence[Ownership]) -> Iterator[RenderableType]:
    """Yield a title per stage, and below it the tree of each subject."""
    before: dict[str, str] = {}  # the last tree of each subject
    for stage in dict.fromkeys(one.stage for one in owners):
        here = [one for one in owners if one.stage == stage]
        yield Text(f"  at {stage!r}", QUIET)
        for one in here:
            home = tree_with(one, here)
            if home is not None:
                yield remark(one.subject, f"in the tree of {home.subject}")
            elif before.get(one.subject) == one.text:
                yield remark(one.subject, "as before")
            else:
                yield Text.assemble("    ", (one.subject, TITLE))
                yield from map(tree_line, one.text.splitlines())
        before.update((one.subject, one.text) for one in here)


def tree_with(one: Ownership, others: Sequence[Ownership]) -> Ownership | None:
    """Return the tree that contains an object's own tree; of two that contain each other, the first."""
    for number, other in enumerate(others):
        is_first = number < others.index(one)
        if other is not one and stands_in(one.text, other.text) and (is_first or not stands_in(other.text, one.text)):
            return other
    return None


def stands_in(tree: str, other: str) -> bool:
    """Whether the object at the top of a tree is one of those in another."""
    number = NUMBER.search(tree.partition("\n")[0])
    return number is not None and number.group() in NUMBER.findall(other)


def remark(subject: str, text: str) -> RenderableType:
    """Describe a subject that needs no tree of its own."""
    return Hanging(Text("    "), Text.assemble((subject, TITLE), (f"  {text}", QUIET)))


def tree_line(line: str) -> RenderableType:
    """Return a line of a tree; text that does not fit continues to the right of its branches."""
    branches = BRANCHES.match(line)
    lead = branches.group() if branches else ""
    return Hanging(Text("      " + lead, QUIET), Text(line[len(lead) :]))
