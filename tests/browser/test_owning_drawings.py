"""The drawings of owners: nothing lies on words, the cycle is marked, and so is the reference that the collector does not see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from browsing import Visit, Visitor
from gradlife.model import RunReport
from gradlife.reports.html.run import run_page
from gradlife.runner import api

OVERLAPS = (Path(__file__).parent / "overlaps.js").read_text("utf-8").partition("\n")[2]

#: Draws each drawing of a page once as wide as it would be there; what lies on what in each of them.
DRAW_ALL = """async (check) => {
  const width = document.getElementById("side-0").clientWidth - 2;
  const place = document.body.appendChild(document.createElement("div"));
  const seen = new Set(), faults = [];
  for (const part of gradlife.data("packed")) {
    const bytes = Uint8Array.from(atob(part), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const graphs = (await new Response(stream).json()).flatMap((story) => story.runs.flatMap((run) => (run ? run.graphs : [])));
    for (const graph of graphs) {
      const places = new Map(graph.nodes.map((node, number) => [node.id, number]));
      const nodes = graph.nodes.map((node) => [node.kind, node.name, node.subject, node.wrapper]);
      const key = JSON.stringify([nodes, graph.edges.map(([from, to, ...rest]) => [places.get(from), places.get(to), ...rest])]);
      if (!graph.nodes.length || seen.has(key)) continue;
      seen.add(key);
      place.replaceChildren(owning.draw(graph, width, null));
      faults.push(...check(place.firstChild));
    }
  }
  return [seen.size, faults];
}"""

SYSTEMS = ("mini:torch-1.1", "mini:torch-1.2", "mini:torch-1.10", "mini:torch-2.13")


def drawn(visitor: Visitor, report: RunReport, width: int) -> tuple[int, list[str]]:
    """How many different drawings a run has, and what lies on what in them."""
    visit = visitor.open(run_page(report), width)
    visit.page.wait_for_selector("#side-1 h3")
    count, faults = visit.page.evaluate(f"({DRAW_ALL})({OVERLAPS})")
    return count, faults


@pytest.fixture(scope="module")
def report() -> RunReport:
    return api.run(keyword="ctx_keeps", backends=SYSTEMS, with_graphs=True, with_events=True)


@pytest.mark.whole
@pytest.mark.parametrize("width", [1280, 400])
def test_no_word_lies_on_an_arrow_a_box_or_another_word(visitor: Visitor, report: RunReport, width: int) -> None:
    count, faults = drawn(visitor, report, width)
    assert faults == []
    assert count > 30


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_lies_on_words_in_any_drawing_of_all_stories(visitor: Visitor, width: int) -> None:
    count, faults = drawn(visitor, api.run(backends=SYSTEMS[::3], with_graphs=True, with_events=True), width)
    assert faults == []
    assert count > 500


def test_the_check_finds_words_on_words_and_arrows_on_words(visitor: Visitor) -> None:
    visit = visitor.open("""<!doctype html><svg width=300 height=99><path class=edge d="M0,50 L300,50"/>
        <text x=20 y=55>one</text><text x=30 y=58>other</text><text x=200 y=20>free</text></svg>""")
    visit.faults.clear()
    faults = visit.page.evaluate(f"({OVERLAPS})(document.querySelector('svg'))")
    assert faults == ["words 'one' and 'other'", "an arrow on 'one'", "an arrow on 'other'"]


def side(visit: Visit, number: int) -> Any:
    return visit.page.locator(f"#side-{number}")


def test_the_cycle_is_marked_and_what_the_collector_does_not_see_of_it(visitor: Visitor, report: RunReport) -> None:
    visit = visitor.open(run_page(report))
    visit.page.wait_for_selector("#side-1 h3")
    visit.page.evaluate("location.hash = '#story/function_ownership/ctx_keeps_output'")
    visit.page.wait_for_function("document.getElementById('about').textContent.includes('ctx_keeps_output)')")
    visit.page.select_option("#pick-0", "mini:torch-1.1")
    visit.page.select_option("#pick-1", "mini:torch-1.10")
    assert side(visit, 0).locator("svg .edge.cycle").count() == 2  # y owns its grad_fn, which is ctx, which has y
    assert side(visit, 0).locator("svg .unseen").count() == 1
    assert side(visit, 1).locator("svg .edge.cycle").count() == 3
    assert side(visit, 1).locator("svg .unseen").count() == 0
    assert "as grad_fn: strong, in the cycle, not seen by the collector" in (side(visit, 0).text_content() or "")
    visit.page.evaluate("location.hash = '#story/function_ownership/ctx_keeps_detached_output'")
    visit.page.wait_for_function("document.getElementById('about').textContent.includes('ctx_keeps_detached_output)')")
    assert visit.page.locator("svg .edge.cycle").count() == 0
