"""A leak trace in the terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from gradlife.model.trace import Line, Part, Trace, trace_lines
from gradlife.reports.layout import Hanging
from gradlife.reports.visible_report import shows_report

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


def coloured(line: Line) -> RenderableType:
    """Return a line with each part in its colour; an indented one keeps its indentation when it wraps."""
    text = Text.assemble(*((words, STYLES[part]) for words, part in line))
    indent = len(text.plain) - len(text.plain.lstrip(" "))
    return Hanging(text[:indent], text[indent:]) if indent else text
