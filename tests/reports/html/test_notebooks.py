"""The HTML that values show in a notebook."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

import gradlife
from fabricated_heaps import DIFF, heap, view
from fabricated_hunts import CLEAN, CTX, EVERYTHING, HISTORY, LOSSES, WAITING, hunt
from gradlife.model.heap_map import HeapSummary
from gradlife.reports.html.fragments import fragment

VALUES = {
    "hunt": EVERYTHING,
    "clean": CLEAN,
    "needs gc": hunt(WAITING),
    "killed": hunt(rounds=(), trouble="killed"),
    "trace": HISTORY,
    "cycle": CTX,
    "difference": DIFF,
    "snapshot": HeapSummary(view(30), heap()),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_piece_is_small_and_has_no_script_and_no_id(name: str) -> None:
    piece = fragment(VALUES[name])
    assert piece.startswith('<div class="gradlife"><style>')
    assert len(piece) < 60_000
    for word in ("<script", " id=", "javascript:", "@import", "url(", " src="):
        assert word not in piece


def test_values_show_themselves() -> None:
    assert "1 leak of this program" in hunt(LOSSES)._repr_html_()
    assert "this object" in HISTORY._repr_html_()
    assert "What changed" in DIFF._repr_html_()
    assert "Types that take most" in gradlife.snapshot()._repr_html_()


def test_a_notebook_asks_for_them() -> None:
    formatters = pytest.importorskip("IPython.core.formatters")
    shown = formatters.HTMLFormatter()(gradlife.why(VALUES))
    assert shown.startswith('<div class="gradlife">')


def test_only_the_first_findings_are_reported() -> None:
    piece = fragment(hunt(*[LOSSES] * 10))
    assert piece.count("<article") == 3
    assert "7 more findings, after the first 3" in piece


def test_names_are_data() -> None:
    hostile = "<script>alert(1)</script></style>"
    steps = tuple(replace(one, object=hostile, via=hostile) for one in HISTORY.steps)
    for value in (replace(HISTORY, object=hostile, steps=steps), HeapSummary(view(), heap(6, hostile, hostile))):
        piece = fragment(value)
        assert "<script" not in piece
        assert piece.count("</style>") == 1


def test_what_has_no_page_is_refused() -> None:
    with pytest.raises(TypeError, match="a list has no page"):
        fragment([])


def test_importing_gradlife_loads_no_templates() -> None:
    script = "import sys, gradlife; gradlife.why([]); assert 'jinja2' not in sys.modules and 'rich' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=900)
