"""Values as a notebook shows them: pieces of HTML with their own styles, no scripts, and nothing from outside.

The styles apply only within the piece, and its colours follow the notebook's theme.
"""

from __future__ import annotations

import re
from functools import cache

from markupsafe import Markup

from gradlife.model.heap import HeapDiff
from gradlife.model.heap_map import HeapSummary
from gradlife.model.hunt import HuntReport
from gradlife.model.peak.report import PeakReport
from gradlife.model.trace import Trace
from gradlife.reports.heap.diff import diff_document
from gradlife.reports.heap.object_document import object_document
from gradlife.reports.html.document import page_of
from gradlife.reports.html.environment import asset, environment
from gradlife.reports.html.heap import facts, type_table
from gradlife.reports.html.heap_map import heap_drawing, legend
from gradlife.reports.html.page import as_frame
from gradlife.reports.hunt.document import hunt_digest
from gradlife.reports.visible_report import shows_report
from gradlife.visible_text import visible_lines

#: Most findings with a card, and most rows of a table.
CARDS, ROWS = 3, 12
MAP_HEIGHT = 300.0


@shows_report
def fragment(value: object) -> str:
    """Return the piece of HTML. Raises TypeError for anything but a report, trace, snapshot summary or difference."""
    match value:
        case HuntReport():
            return rendered("notebook_document.html", document=hunt_digest(value, CARDS))
        case Trace():
            return rendered("notebook_document.html", document=object_document(value))
        case HeapDiff():
            return rendered("notebook_document.html", document=diff_document(value))
        case PeakReport():
            return as_frame(page_of(value))
        case HeapSummary():
            return rendered(
                "notebook_heap.html",
                facts=facts(value.view),
                map=heap_drawing(value.map, has_links=False, height=MAP_HEIGHT),
                legend=legend(value.map),
                types=type_table(value.view.types),
                rows=ROWS,
            )
    raise TypeError(f"a {type(value).__name__} has no page")


@cache
def load() -> None:
    """Load templates and styles now instead of with the first piece. Takes some 0.2 s, once per process.

    Call it before comparing snapshots of this process, so that what it creates is not among the differences.
    """
    for name in environment().list_templates(extensions=["html"]):
        if name.startswith("notebook"):
            environment().get_template(name)
    fragment(HeapDiff(by_identity=True, types=(), paths=()))


def rendered(template: str, **values: object) -> str:
    """Render a template that extends `notebook.html`."""
    return visible_lines(environment().get_template(template).render(style=style(), **values))


@cache
def style() -> Markup:
    """Return colours and rules, all scoped to one class."""
    found = re.search(r":root \{\s*(?:color-scheme:[^;]*;)?(.*?)\}", str(asset("style.css")), re.DOTALL)
    colours = found[1] if found is not None else ""
    return Markup(f".gradlife {{{colours}}}\n{asset('notebook.css')}\n.gradlife {{\n{asset('parts.css')}\n}}")
