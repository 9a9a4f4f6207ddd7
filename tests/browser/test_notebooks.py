"""Pieces of HTML for notebooks in a real browser: readable in light and dark themes, and without effect on what is beside."""

from __future__ import annotations

import pytest

from browsing import Visitor
from fabricated_heaps import DIFF, heap, view
from fabricated_hunts import CTX, EVERYTHING, HISTORY
from gradlife.model.heap_map import HeapSummary
from gradlife.reports.html.fragments import fragment

VALUES = {
    "hunt": EVERYTHING,
    "trace": HISTORY,
    "cycle": CTX,
    "difference": DIFF,
    "snapshot": HeapSummary(view(30), heap()),
}
BESIDE = "<p id='beside' class='card good'>beside</p><table class='plain'><tr><td class='number'>1</td></tr></table>"

#: What the rules of a piece change within it.
STYLES = """['#beside', 'table.plain', 'table.plain td', 'h2'].map((one) => {
  const style = getComputedStyle(document.querySelector(one));
  return ['color', 'fontWeight', 'borderTopWidth', 'paddingTop', 'textAlign', 'fontSize', 'marginTop', 'borderCollapse'].map(
    (name) => style[name]);
})"""


def notebook(piece: str, is_light: bool) -> str:
    """A page as JupyterLab has it: an attribute names its theme, whatever the browser's own is."""
    colours = "background:#fff;color:#000" if is_light else "background:#111;color:#eee"
    theme = "true" if is_light else "false"
    head = '<!doctype html><html lang="en"><head><title>notebook</title></head>'
    body = f'<body data-jp-theme-light="{theme}" style="{colours}">'
    return f"{head}{body}<main><h1>x</h1><h2>y</h2>{BESIDE}{piece}</main></body></html>"


@pytest.mark.parametrize("is_light", [True, False], ids=["light", "dark"])
@pytest.mark.parametrize("name", VALUES)
@pytest.mark.whole
def test_it_is_readable_in_each_theme_of_the_notebook(visitor: Visitor, name: str, is_light: bool) -> None:
    for width in (1000, 400):
        visit = visitor.open(notebook(fragment(VALUES[name]), is_light), width)
        assert visit.violations() == []
        assert visit.overhang() <= 0
        ground = visit.page.evaluate("getComputedStyle(document.querySelector('.gradlife')).backgroundColor")
        assert ground == ("rgb(255, 255, 255)" if is_light else "rgb(16, 20, 24)")


@pytest.mark.whole
def test_its_rules_reach_nothing_beside_it(visitor: Visitor) -> None:
    empty = visitor.open(notebook("", True)).page.evaluate(STYLES)
    beside = visitor.open(notebook(fragment(EVERYTHING), True)).page.evaluate(STYLES)
    assert beside == empty
    assert len(empty) == 4
