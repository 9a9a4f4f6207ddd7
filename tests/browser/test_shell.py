"""Every page has themes, keyboard, tables that sort and search, and tabs; it loads nothing from outside and runs no
data.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import DictLoader

from browsing import Visitor
from gradlife.reports.document.tables import Cell, Column, Table
from gradlife.reports.html.environment import environment
from gradlife.reports.html.page import as_frame, render_page

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=alert(1)>\u2028</script>&amp;"

TEMPLATE = """\
{% extends "page.html" %}
{% block nav %}
<nav aria-label="Parts"><ul><li><a href="#names">Names</a></li><li><a href="#deep">Deep</a></li></ul></nav>
{% endblock %}
{% block content %}
<section id="names"><h2>Names</h2>{{ ui.data_table(table, "names-table") }}</section>
{% call ui.tabs("two", "Two panels") %}
<section data-tab="First"><p>first panel</p></section>
<section data-tab="Second"><p>second panel {{ ui.chip("never", "never") }}</p></section>
{% endcall %}
<p>
{% for word in ("del", "gc", "held", "never", "inconclusive") %}
{{ ui.chip(word, word) }} <span class="{{ word }}">{{ word }}</span>
{% endfor %}
</p>
<details><summary>More</summary><p id="deep">hidden within</p></details>
{{ embedded("values", {"name": name}) }}
{% endblock %}
"""


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> str:
    return page_of(monkeypatch, rows=450)


def page_of(monkeypatch: pytest.MonkeyPatch, rows: int) -> str:
    monkeypatch.setattr(environment(), "loader", Both({"trial.html": TEMPLATE}))
    columns = [Column("Name"), Column("Bytes", is_number=True), Column("Verdict")]
    lines: list[list[Cell | str | int | float]] = [
        [f"object {n}", 1000 * (n % 7) + n, Cell("never" if n % 2 else "del", style="never")] for n in range(rows)
    ]
    table = Table("What lives", columns, [[HOSTILE, -1, "del"], *lines])
    return render_page(HOSTILE, "trial.html", table=table, name=HOSTILE)


class Both(DictLoader):
    """A template of the test's own, beside those of gradlife."""

    def __init__(self, mapping: dict[str, str]) -> None:
        super().__init__(mapping)
        self.others = environment().loader

    def get_source(self, env: object, template: str) -> tuple[str, str | None, object]:  # type: ignore[override]
        if template in self.mapping:
            return super().get_source(env, template)  # type: ignore[arg-type]
        assert self.others is not None
        return self.others.get_source(env, template)  # type: ignore[arg-type]


@pytest.mark.whole
def test_it_is_clean_at_each_width_in_both_schemes(visitor: Visitor, page: str) -> None:
    assert visitor.look(page) == []


def test_names_are_data_and_nothing_in_them_runs(visitor: Visitor, page: str) -> None:
    visit = visitor.open(page)
    assert visit.page.title().startswith("<script>document.title='owned'</script>")
    assert visit.page.text_content("h1") == HOSTILE
    assert visit.page.text_content("#names-table tbody tr:first-child th") == HOSTILE
    assert visit.page.evaluate("gradlife.data('values').name") == HOSTILE
    assert visit.page.locator("img").count() == 0


def test_the_button_changes_the_theme_and_remembers_it(visitor: Visitor, page: str) -> None:
    visit = visitor.open(page)
    ground = "getComputedStyle(document.body).backgroundColor"
    assert visit.page.evaluate(ground) == "rgb(255, 255, 255)"
    visit.page.click("text=Dark theme")
    assert visit.page.evaluate(ground) == "rgb(16, 20, 24)"
    visit.page.reload()
    assert visit.page.evaluate(ground) == "rgb(16, 20, 24)"
    assert visit.page.text_content("#theme") == "Light theme"


def test_a_table_draws_its_first_rows_and_the_others_on_demand(visitor: Visitor, page: str) -> None:
    visit = visitor.open(page)
    rows = visit.page.locator("#names-table tbody tr")
    assert rows.count() == 200
    visit.page.click("text=Show more rows")
    assert rows.count() == 451
    assert not visit.page.is_visible("text=Show more rows")


def test_a_table_is_searched_beyond_the_rows_that_are_drawn(visitor: Visitor, page: str) -> None:
    visit = visitor.open(page)
    visit.page.fill("input[type=search]", "OBJECT 44 never")
    assert visit.page.locator("#names-table tbody th").all_text_contents() == [
        "object 441",
        "object 443",
        "object 445",
        "object 447",
        "object 449",
    ]
    assert visit.page.text_content(".count") == "5 of 451 rows"
    visit.page.fill("input[type=search]", "no such thing")
    assert visit.page.locator("#names-table tbody tr").count() == 0


def test_a_column_of_numbers_is_sorted_by_number_largest_first_then_the_other_path(visitor: Visitor, page: str) -> None:
    visit = visitor.open(page)
    first = "#names-table tbody tr:first-child td"
    visit.page.click("button:text('Bytes')")
    assert visit.page.text_content(first) == "6,447"
    visit.page.focus("button:text('Bytes')")
    visit.page.keyboard.press("Enter")
    assert visit.page.text_content(first) == "-1"
    assert visit.page.get_attribute("th:has-text('Bytes')", "aria-sort") == "ascending"
    visit.page.click("button:text('Name')")
    assert visit.page.get_attribute("th:has-text('Bytes')", "aria-sort") is None


def test_tabs_are_walked_with_the_arrow_keys(visitor: Visitor, page: str) -> None:
    visit = visitor.open(page)
    assert visit.page.is_visible("text=first panel")
    visit.page.focus("role=tab[name=First]")
    visit.page.keyboard.press("ArrowLeft")
    assert visit.page.is_visible("text=second panel")
    assert not visit.page.is_visible("text=first panel")
    visit.page.keyboard.press("ArrowRight")
    assert visit.page.is_visible("text=first panel")
    assert visit.page.evaluate("document.activeElement.textContent") == "First"


def test_a_link_into_a_closed_part_opens_it(visitor: Visitor, page: str) -> None:
    visit = visitor.open(page)
    assert not visit.page.is_visible("#deep")
    visit.page.click("text=Deep")
    assert visit.page.is_visible("#deep")


def test_the_first_stop_of_the_keyboard_skips_to_the_content(visitor: Visitor, page: str) -> None:
    visit = visitor.open(page)
    visit.page.keyboard.press("Tab")
    visit.page.keyboard.press("Enter")
    assert visit.page.evaluate("document.activeElement.id") == "content"


def test_on_paper_every_panel_is_shown_and_no_button(visitor: Visitor, page: str) -> None:
    visit = visitor.open(page)
    visit.page.emulate_media(media="print")
    assert visit.page.is_visible("text=second panel")
    assert not visit.page.is_visible("#theme")


def test_ten_thousand_rows_are_small_and_found(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    page = page_of(monkeypatch, rows=10_000)
    assert len(page.encode()) < 2_000_000
    visit = visitor.open(page)
    assert visit.page.locator("#names-table tbody tr").count() == 200
    visit.page.fill("input[type=search]", "object 9999")
    assert visit.page.locator("#names-table tbody th").all_text_contents() == ["object 9999"]


def test_a_page_in_a_frame_stays_by_itself(visitor: Visitor, page: str) -> None:
    visit = visitor.open(f"<!doctype html><title>a notebook</title>{as_frame(page)}")
    frame = visit.page.frame_locator("iframe")
    frame.locator("text=Dark theme").click()
    assert frame.locator("#names-table tbody tr").count() == 200
    assert visit.page.title() == "a notebook"


@pytest.mark.whole
def test_what_asks_the_network_or_errs_is_noticed(chromium: object, tmp_path: Path) -> None:
    visitor = Visitor(chromium, tmp_path)
    visitor.open("<title>x</title><script>console.error('no')</script><img src='http://127.0.0.1:9/a.png'>")
    faults = visitor.close()
    assert "console: no" in faults
    assert "request: http://127.0.0.1:9/a.png" in faults
