"""The page of a run: the matrix, the story side by side, its slider, and that nothing in it is more than data."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import fabricated
from browsing import Visit, Visitor
from gradlife.cli import main
from gradlife.model import RunReport
from gradlife.reports.html.run import run_page
from gradlife.runner import api

HOSTILE = "</script><script>document.title='owned'</script><b>%2"

SYSTEMS = ("mini:torch-1.1", "mini:torch-1.2", "mini:torch-2.13")
RECORDED = "recorded:torch-1.2.0"


@pytest.fixture(scope="session")
def report() -> RunReport:
    backends = [*SYSTEMS, RECORDED]
    return api.run(keyword="ctx_keeps", backends=backends, against=SYSTEMS[0], with_events=True, with_graphs=True)


@pytest.fixture(scope="session")
def page(report: RunReport) -> str:
    return run_page(report)


def open_story(
    visitor: Visitor, page: str, story: str = "function_ownership/ctx_keeps_output", width: int = 1280
) -> Visit:
    visit = visitor.open(page, width)
    visit.page.wait_for_selector("#side-1 h3")
    visit.page.evaluate(f"location.hash = '#story/{story}'")
    visit.page.wait_for_function(f"document.getElementById('about').textContent.includes('({story})')")
    return visit


def put(visit: Visit, left: str, right: str) -> None:
    visit.page.select_option("#pick-0", left)
    visit.page.select_option("#pick-1", right)


@pytest.mark.whole
def test_it_is_clean_at_each_width_in_both_schemes(visitor: Visitor, page: str) -> None:
    assert visitor.look(page) == []


def test_one_story_is_clean_with_every_part_of_it_opened(visitor: Visitor, page: str) -> None:
    for width in (1280, 400):
        visit = open_story(visitor, page, width=width)
        put(visit, SYSTEMS[0], RECORDED)
        visit.page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
        assert visit.violations() == []
        assert visit.overhang() == 0


def test_the_matrix_has_a_row_a_story_and_words_beside_colours(visitor: Visitor, page: str, report: RunReport) -> None:
    visit = visitor.open(page)
    assert visit.page.locator("#matrix-table tbody tr").count() == len(report.scenarios)
    row = visit.page.locator(
        "#matrix-table tbody tr", has=visit.page.get_by_role("link", name="ctx_keeps_output", exact=True)
    )
    assert row.locator("td").all_text_contents() == ["function_ownership", "never", "never", "gc*", "never"]


def test_stories_are_searched_and_only_those_that_differ_are_left(visitor: Visitor, page: str) -> None:
    visit = visitor.open(page)
    visit.page.check("text=only where systems differ")
    left = visit.page.locator("#matrix-table tbody tr").count()
    assert 0 < left < visit.page.evaluate("gradlife.data('run').stories.length")
    visit.page.fill("#matrix input[type=search]", "keeps_output")
    assert "ctx_keeps_output" in visit.page.locator("#matrix-table tbody th a").all_text_contents()
    visit.page.uncheck("text=only where systems differ")
    visit.page.fill("#matrix input[type=search]", "no such story")
    assert visit.page.locator("#matrix-table tbody tr").count() == 0


def test_a_click_on_a_story_shows_it(visitor: Visitor, page: str) -> None:
    visit = visitor.open(page)
    visit.page.get_by_role("link", name="ctx_keeps_output", exact=True).click()
    visit.page.wait_for_function("document.getElementById('about').textContent.includes('ctx keeps its own output')")
    assert visit.page.text_content("#stage-name") == "3 of 3: output dropped"
    assert visit.page.input_value("#pick-story") == str(
        visit.page.evaluate("gradlife.data('run').stories.findIndex((one) => one[1] === 'ctx_keeps_output')")
    )


def test_two_releases_side_by_side_show_how_a_context_and_its_node_own_each_other(visitor: Visitor, page: str) -> None:
    visit = open_story(visitor, page)
    put(visit, "mini:torch-1.1", "mini:torch-1.2")
    assert visit.page.locator("#side-0 svg .box.odd").count() == 1
    assert visit.page.locator("#side-1 svg .box.odd").count() == 2
    assert (
        visit.page.locator("#side-0 svg .edge.weak").count() + 1 == visit.page.locator("#side-1 svg .edge.weak").count()
    )
    visit.page.click("#side-0 summary:has-text('The same in words')")
    words = visit.page.text_content("#side-0")
    assert "the DoubleBackward has it inside itself: who owns it owns the DoubleBackward" in words
    visit.page.click("#side-1 summary:has-text('The same in words')")
    words = visit.page.text_content("#side-1") or ""
    owned = re.search(r"ctx: DoubleBackward #(\d+) holds ctx: DoubleBackward as context: strong", words)
    assert owned is not None
    assert f"ctx: DoubleBackward holds ctx: DoubleBackward #{owned[1]} as its node: weak" in words


def test_the_slider_is_moved_with_the_keyboard_and_names_the_stage(visitor: Visitor, page: str) -> None:
    visit = open_story(visitor, page)
    put(visit, "mini:torch-1.1", "mini:torch-1.2")
    names = visit.page.locator("#side-0 svg .box.name")
    assert names.count() == 0
    visit.page.focus("#stage")
    visit.page.keyboard.press("Home")
    assert visit.page.text_content("#stage-name") == "1 of 3: forward done"
    assert visit.page.get_attribute("#stage", "aria-valuetext") == "forward done"
    assert names.all_text_contents() == ["yy"]  # its text, and the title of it
    assert visit.page.is_disabled("#stage-back")
    visit.page.keyboard.press("ArrowRight")
    assert visit.page.text_content("#stage-name") == "2 of 3: backward done"


def test_the_slider_is_moved_with_the_mouse(visitor: Visitor, page: str) -> None:
    visit = open_story(visitor, page)
    visit.page.locator("#stage").click(position={"x": 3, "y": 10})
    assert visit.page.text_content("#stage-name") == "1 of 3: forward done"
    visit.page.click("#stage-on")
    assert visit.page.text_content("#stage-name") == "2 of 3: backward done"
    visit.page.click("#side-0 svg .band >> nth=0")
    assert visit.page.text_content("#stage-name") == "1 of 3: forward done"


def test_what_was_opened_stays_open_as_the_stage_changes(visitor: Visitor, page: str) -> None:
    visit = open_story(visitor, page)
    visit.page.click("#side-1 summary:has-text('Readings')")
    visit.page.click("#stage-back")
    assert visit.page.is_visible("#side-1 td:text-is('expiry') >> nth=0")


def test_a_system_that_has_no_owners_shows_what_was_read_of_it(visitor: Visitor, page: str) -> None:
    visit = open_story(visitor, page)
    put(visit, "mini:torch-1.2", RECORDED)
    assert "This system does not tell who owns whom" in visit.page.text_content("#side-1")
    assert visit.page.locator("#side-1 svg .lane-name").all_text_contents() == ["ctxctx", "yy"]
    assert visit.page.locator("#side-1 svg .mark.alive").count() == 6


def test_the_lanes_show_the_engines_events_and_nothing_else(visitor: Visitor, page: str, report: RunReport) -> None:
    visit = open_story(visitor, page)
    put(visit, "mini:torch-2.13", "mini:torch-1.1")
    run = report.run_of("function_ownership/ctx_keeps_output", "mini:torch-2.13")
    events = getattr(run, "events", ())
    drawn = visit.page.locator("#side-0 svg .mark:not(:text-is('>'))").count()
    alive = visit.page.locator("#side-0 svg .mark title:text-is('not destroyed')").count()
    assert drawn - alive == len(events) > 0


def test_a_long_timeline_scrolls_to_the_stage_and_keeps_its_names(visitor: Visitor, page: str) -> None:
    visit = open_story(visitor, page, width=400)
    put(visit, "mini:torch-2.13", "mini:torch-1.1")
    frame = visit.page.locator("#side-0 .lanes .frame")
    visit.page.wait_for_function("document.querySelector('#side-0 .lanes .frame').scrollLeft > 100")
    name = visit.page.locator("#side-0 .lane-name >> nth=0").bounding_box()
    assert name["x"] >= 0
    assert visit.page.locator("#side-0 svg rect.now").bounding_box()["x"] < 400
    visit.page.focus("#stage")
    visit.page.keyboard.press("Home")
    visit.page.wait_for_function("document.querySelector('#side-0 .lanes .frame').scrollLeft === 0")
    assert frame.get_attribute("tabindex") == "0"


def test_a_link_to_a_story_opens_it(visitor: Visitor, page: str, tmp_path: Path) -> None:
    path = tmp_path / "run.html"
    path.write_text(page, "utf-8")
    visit = visitor.open(path)
    visit.page.goto(f"{visit.address}#story/function_ownership/ctx_keeps_output")
    visit.page.wait_for_function("document.getElementById('about').textContent.includes('ctx keeps its own output')")


def hostile(report: RunReport) -> RunReport:
    story = replace(report.scenarios[0], id=f"x/{HOSTILE}", name=HOSTILE, title=HOSTILE, story=HOSTILE)
    runs = tuple(
        replace(
            run,
            scenario=story.id,
            readings=tuple(replace(one, scenario=story.id, value=HOSTILE) for one in run.readings),
        )
        for run in report.runs
        if run.scenario == report.scenarios[0].id
    )
    return replace(report, scenarios=(story,), runs=runs, expectations=())


def test_names_of_any_kind_are_data(visitor: Visitor) -> None:
    visit = visitor.open(run_page(hostile(fabricated.seven_systems())))
    visit.page.wait_for_selector("#side-1 h3")
    assert visit.page.text_content("#matrix-table tbody th") == HOSTILE
    visit.page.click("#matrix-table tbody th a")
    assert visit.page.text_content("#about strong") == HOSTILE
    assert visit.page.title() == "Lifetime stories · gradlife"


def many(report: RunReport, count: int) -> RunReport:
    scenarios, runs = [], []
    for number in range(count):
        story = replace(report.scenarios[0], id=f"many/story_{number}", name=f"story_{number}", suite="many")
        scenarios.append(story)
        for run in report.runs[:2]:
            readings = tuple(replace(one, scenario=story.id) for one in run.readings)
            runs.append(replace(run, scenario=story.id, readings=readings))
    return replace(report, systems=report.systems[:2], scenarios=tuple(scenarios), runs=tuple(runs), expectations=())


@pytest.mark.whole
def test_ten_thousand_stories_are_under_five_megabytes_and_found(visitor: Visitor) -> None:
    page = run_page(many(fabricated.seven_systems(), 10_000))
    assert len(page.encode()) < 5_000_000
    visit = visitor.open(page)
    visit.page.fill("#matrix input[type=search]", "story_9999")
    visit.page.click("#matrix-table tbody th a")
    visit.page.wait_for_function("document.getElementById('about').textContent.includes('many/story_9999')")
    assert visit.overhang() == 0


def test_a_run_of_one_system_is_put_beside_itself(visitor: Visitor) -> None:
    report = api.run(keyword="ctx_keeps_output", backends=["mini:torch-2.13"], with_events=True, with_graphs=True)
    visit = visitor.open(run_page(report))
    visit.page.wait_for_selector("#side-1 h3")
    assert visit.page.locator("svg .box.odd").count() == 0


@pytest.mark.whole
def test_the_command_writes_the_page_and_the_json_is_spared_what_only_drawings_need(
    visitor: Visitor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, text = tmp_path / "run.html", tmp_path / "run.json"
    arguments = ["run", "ctx_keeps_output", "--backend", "mini:torch-1.1", "mini:torch-1.2"]
    assert main([*arguments, "--html", str(page), "--json", str(text)]) == 0
    assert '"graphs"' not in text.read_text("utf-8")
    assert '"events": [' not in text.read_text("utf-8")
    visit = visitor.open(page)
    visit.page.wait_for_selector("#side-0 svg .box")
    capsys.readouterr()
    assert main([*arguments, "--html", str(tmp_path / "no" / "such" / "folder.html")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_what_only_the_collector_freed_ends_in_its_stage(visitor: Visitor) -> None:
    backends = ["recorded:torch-2.13.0", "recorded:torch-1.2.0"]
    visit = open_story(visitor, run_page(api.run(["ctx_keeps_output"], backends=backends)))
    put(visit, *backends)
    assert visit.page.locator("#side-0 svg .mark.dead title").all_text_contents() == [
        f"{subject} at 'output dropped': freed when the collector ran" for subject in ("ctx", "y", "y.storage")
    ]
    assert visit.page.locator("#side-1 svg .mark.dead").count() == 0


@pytest.mark.whole
@pytest.mark.torch
def test_pytorch_beside_its_imitation_has_the_same_owners(visitor: Visitor) -> None:
    backends = ["mini:torch-2.13", "torch"]
    page = run_page(api.run(["ctx_keeps_output"], backends=backends, with_events=True, with_graphs=True))
    visit = open_story(visitor, page)
    put(visit, *backends)
    assert visit.page.locator("#side-1 svg .box").count() == visit.page.locator("#side-0 svg .box").count() > 4
    assert visit.page.locator("svg .box.odd, svg .edge.halo").count() == 0
    assert "Read of PyTorch's own objects" in visit.page.text_content("#side-1")
