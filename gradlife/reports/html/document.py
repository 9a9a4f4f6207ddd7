"""A document as a page, or as a piece of HTML for a notebook."""

from __future__ import annotations

from gradlife.model.heap import HeapDiff
from gradlife.model.heap_map import MappedObject
from gradlife.model.trace import Trace
from gradlife.reports.document.blocks import Document
from gradlife.reports.formats.documents import document_of
from gradlife.reports.heap.diff import diff_document
from gradlife.reports.heap.object_document import object_document
from gradlife.reports.html.page import render_page
from gradlife.reports.values import short


def page_of(report: object) -> str:
    """Return the page of a report."""
    return document_page(document_of(report))


def why_page(trace: Trace, file: str = "", around: MappedObject | None = None) -> str:
    """Return the page of one living object. `around` comes from a snapshot, whose file can answer more."""
    return document_page(object_document(trace, file, around))


def diff_page(difference: HeapDiff, before: str, after: str) -> str:
    """Return the page of the difference between two snapshots."""
    return document_page(diff_document(difference, before, after))


def document_page(document: Document) -> str:
    """Return the page of a document."""
    return render_page(short(document.title), "document.html", document=document)
