"""Answers about a snapshot, on the terminal and in files: why an object is alive, and the whole snapshot."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Console

from gradlife.cli.formats import Writer, picture
from gradlife.heap import Snapshot
from gradlife.model.heap import Meaning
from gradlife.model.neighbourhood import Neighbourhood
from gradlife.model.trace import Trace
from gradlife.reports.formats.json.document import trace_text
from gradlife.reports.heap.why import render_why


@dataclass(frozen=True)
class Why:
    """The question why an object of a snapshot is alive; computed on demand."""

    snapshot: Snapshot
    file: str
    what: int | str

    @functools.cached_property
    def subject(self) -> int | str:
        """The address, type or name of the object, which may be named as `gradlife open` names variables."""
        from gradlife.heap.views.program_objects import variable_or

        return variable_or(self.snapshot, self.what)

    @functools.cached_property
    def meanings(self) -> tuple[Meaning, ...]:
        """What the name can mean, this object first; empty for an address."""
        return self.snapshot.named(self.subject) if isinstance(self.subject, str) else ()

    @functools.cached_property
    def trace(self) -> Trace:
        """The path from a root, or the cycle."""
        return self.snapshot.why(self.subject)

    @functools.cached_property
    def around(self) -> Neighbourhood:
        """The neighbourhood of the object."""
        return self.snapshot.neighbourhood(self.subject)


def print_why(console: Console, why: Why) -> None:
    """Print the trace, and what else the name can mean."""
    console.print(render_why(why.trace, why.subject, why.meanings, why.file))


def why_json(why: Why) -> str:
    """Return the trace as JSON."""
    return trace_text(why.trace)


def why_page(why: Why) -> str:
    """Return the trace as a page, with the object's neighbourhood."""
    from gradlife.heap.views.heap_map import object_map
    from gradlife.reports.html.document import why_page as page

    return page(why.trace, why.file, object_map(why.snapshot, why.subject))


def why_dot(why: Why) -> str:
    """Draw the neighbourhood of the object in graphviz's language."""
    from gradlife.reports.formats.dot.neighbourhood import dot_text

    return dot_text(why.around)


#: The writer of each format.
WHY_WRITERS: Mapping[str, Writer] = {
    "json": why_json,
    "html": why_page,
    "dot": why_dot,
    "svg": picture(print_why, "gradlife why"),
}


def snapshot_page(snapshot: Snapshot, file: str) -> str:
    """Return a snapshot as a page, as far as it fits."""
    from gradlife.heap.views.heap_map import heap_map
    from gradlife.heap.views.overview import page_view
    from gradlife.reports.html.heap import heap_page

    return heap_page(page_view(snapshot, file), heap_map(snapshot))
