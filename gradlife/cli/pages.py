"""Answers of a snapshot, on the terminal and in files: why an object is alive, and the whole as a page."""

from __future__ import annotations

import sys

from gradlife.heap import Snapshot
from gradlife.output import NoOutput, OutputFile, OutputStream
from gradlife.reports.json import trace_text
from gradlife.reports.theme import make_console
from gradlife.reports.trace import render_trace

Output = OutputFile | OutputStream


def tell_why(
    snapshot: Snapshot, file: str, what: int | str, output: Output, page: Output, *, is_silent: bool = False
) -> None:
    """Print the trace, unless standard output is taken, and write it as JSON and as a page where that was asked for."""
    trace = snapshot.why(what)
    if not is_silent:
        make_console(sys.stdout).print(render_trace(trace))
    output.write(trace_text(trace))
    if not isinstance(page, NoOutput):
        from gradlife.heap.mapping import neighbourhood
        from gradlife.reports.html.why import why_page

        page.write(why_page(trace, file, neighbourhood(snapshot, what)))


def snapshot_page(snapshot: Snapshot, file: str) -> str:
    """The whole snapshot, as far as it fits on a page."""
    from gradlife.heap.mapping import heap_map
    from gradlife.heap.overview import overview
    from gradlife.reports.html.heap import heap_page

    return heap_page(overview(snapshot, file), heap_map(snapshot))
