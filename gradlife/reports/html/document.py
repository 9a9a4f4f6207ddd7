"""A document as a page, or as a piece of HTML for a notebook."""

from __future__ import annotations

from gradlife.reports.document.blocks import Document
from gradlife.reports.formats.documents import document_of
from gradlife.reports.html.page import render_page
from gradlife.reports.values import short


def page_of(report: object) -> str:
    """Return the page of a report."""
    return document_page(document_of(report))


def document_page(document: Document) -> str:
    """Return the page of a document."""
    return render_page(short(document.title), "document.html", document=document)
