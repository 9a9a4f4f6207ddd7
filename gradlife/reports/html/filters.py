"""How templates show the values in blocks of a document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from gradlife.model.source_text import plain_rows
from gradlife.reports.document.blocks import NARROW, Drawing, Span, TraceBlock, Words, spans
from gradlife.reports.document.tables import Cell, Table
from gradlife.reports.document.trace import ASKED, LEAK
from gradlife.reports.drawing import growth_chart
from gradlife.reports.html.code import code_markup
from gradlife.reports.html.traces import Drawn, TraceView, trace_view
from gradlife.reports.values import short

#: Most characters of a sentence, and of code.
MAX_SENTENCE, MAX_CODE = 2000, 4000
#: The CSS classes of tones with other names.
CLASSES = {"note": "gc", "title": ""}
#: The beginnings of lines of a unified diff that are no lines of a file.
DIFF_HEADS = ("---", "+++", "@@")


def kind(block: object) -> str:
    """Return the name of a block's class, which is that of its macro."""
    return type(block).__name__


def tone(name: str) -> str:
    """Return the CSS class of a tone."""
    return CLASSES.get(name, name)


def words(parts: Words) -> Markup:
    """Return a sentence with its tones, code and links."""
    return Markup("").join(map(span_markup, spans(parts)))


def span_markup(span: Span) -> Markup:
    """Return a part of a sentence."""
    markup = Markup.escape(short(span.text, MAX_SENTENCE))
    if span.is_code:
        markup = Markup("<code>{}</code>").format(markup)
    elif span.tone == "title":
        markup = Markup("<strong>{}</strong>").format(markup)
    if span.link:
        own = "" if span.link.startswith("#") else Markup(' rel="noreferrer"')
        return Markup('<a href="{}"{}>{}</a>').format(short(span.link), own, markup)
    return Markup('<span class="{}">{}</span>').format(css, markup) if (css := tone(span.tone)) else markup


def traced(block: TraceBlock) -> TraceView:
    """Return the rows of a trace."""
    return trace_view(block.trace, LEAK if block.is_leak else ASKED)


def drawn(drawing: Drawing) -> Drawn:
    """Return a drawing for a wide page and for a narrow one."""
    return Drawn(drawing.draw(drawing.wide), drawing.draw(NARROW))


def shortened(table: Table) -> Table:
    """Return a table without the ends of long texts."""
    return replace(table, rows=[[shortened_cell(cell) for cell in row] for row in table.rows])


def shortened_cell(cell: Cell | str | int | float) -> Cell | str | int | float:
    """Return a cell without the end of a long text."""
    if isinstance(cell, str):
        return short(cell)
    return replace(cell, text=short(str(cell.text)), style=tone(cell.style)) if isinstance(cell, Cell) else cell


def code(text: str) -> Markup:
    """Return lines of Python."""
    return code_markup(short(text, MAX_CODE))


def diff(text: str) -> Markup:
    """Return the changed lines and those around them, without the heads of a unified diff."""
    rows = plain_rows(short(text, MAX_CODE))
    return code_markup("\n".join(row for row in rows if not row.startswith(DIFF_HEADS)))


def upper_first(text: str) -> str:
    """Return a text that begins like a sentence."""
    return text[:1].upper() + text[1:]


def thousands(number: float) -> str:
    """Format a number as 12,345."""
    return f"{number:,}"


FILTERS: dict[str, Callable[..., Any]] = {
    one.__name__: one
    for one in (
        kind,
        tone,
        words,
        drawn,
        shortened,
        code,
        diff,
        upper_first,
        thousands,
        short,
        traced,
        growth_chart,
    )
}
