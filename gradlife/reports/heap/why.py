"""A leak trace in the terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from gradlife.model.trace import Line, Part, Trace, trace_lines

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


def render_trace(trace: Trace) -> RenderableType:
    """Print why an object is alive."""
    return Group(*map(coloured, trace_lines(trace)))


def coloured(line: Line) -> Text:
    """Return a line with each part in its colour."""
    return Text.assemble(*((words, STYLES[part]) for words, part in line))
