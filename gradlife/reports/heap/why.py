"""A leak trace in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from gradlife.model.heap import Meaning
from gradlife.model.trace import Line, Part, Trace, trace_lines
from gradlife.reports.layout import Hanging
from gradlife.reports.visible_report import shows_report

#: Most meanings of a name that are listed.
MEANINGS = 6

STYLES = {
    Part.PLAIN: "",
    Part.TITLE: "bold",
    Part.HELD: "bold yellow",
    Part.GC: "bold cyan",
    Part.NEVER: "bold red",
    Part.UNKNOWN: "bold",
    Part.SUSPECT: "underline red",
    Part.NOTE: "dim",
    Part.WARNING: "yellow",
}


@shows_report
def render_trace(trace: Trace) -> RenderableType:
    """Print why an object is alive."""
    return Group(*map(coloured, trace_lines(trace)))


@shows_report
def render_why(trace: Trace, asked: int | str, meanings: Sequence[Meaning], file: str) -> RenderableType:
    """Print why an object is alive; then which one of several this is, and how to ask for the others."""
    which = [f"'{asked}' is here: {one.words}" for one in meanings[:1] if one.is_one_of_many or len(meanings) > 1]
    rest = [f"also {one.words}: gradlife why {file} {one.text}" for one in meanings[1:MEANINGS]]
    more = [f"and {len(meanings) - MEANINGS:,} more"] if len(meanings) > MEANINGS else []
    indents = [Text("  "), *(Text("    ") for _ in [*rest, *more])]
    lines = zip(indents, [*which, *rest, *more], strict=False)
    return Group(render_trace(trace), *(Hanging(indent, Text(line, STYLES[Part.NOTE])) for indent, line in lines))


def coloured(line: Line) -> RenderableType:
    """Return a line with each part in its colour; an indented one keeps its indentation when it wraps."""
    text = Text.assemble(*((words, STYLES[part]) for words, part in line))
    indent = len(text.plain) - len(text.plain.lstrip(" "))
    return Hanging(text[:indent], text[indent:]) if indent else text
