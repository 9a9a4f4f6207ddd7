"""The page of device memory in a real browser: each width and scheme, a click on the map, the keyboard."""

from __future__ import annotations

import pytest

from browsing import Visitor
from fabricated_devices import memory, report
from gradlife.reports.html.devices import device_page

PAGES = {
    "one device": device_page(report(memory())),
    "two devices": device_page(report(memory(), memory("cuda:1", "SomeVeryLongNameWithoutAnyBreak" * 9))),
    "no memory": device_page(report()),
}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.whole
def test_it_is_clean_at_each_width_in_both_schemes(visitor: Visitor, name: str) -> None:
    assert visitor.look(PAGES[name]) == []


def test_a_click_on_a_block_leads_to_the_trace_of_its_owner(visitor: Visitor) -> None:
    page = visitor.open(PAGES["one device"]).page
    page.click(".wide .run >> nth=0", force=True)
    assert page.text_content("tr.chosen th") == "losses of __main__"
    assert page.locator(".wide .run.chosen").count() == 2
    assert page.locator(".owner-trace:visible h3").all_text_contents() == ["losses of __main__"]
    path = page.locator(".owner-trace:visible .trace .object").all_text_contents()
    assert path == ["module", "list", "Tensor"]
    assert page.locator(".owner-trace .suspect").count() == 0


def test_the_blocks_of_the_map_are_reached_by_keyboard(visitor: Visitor) -> None:
    page = visitor.open(PAGES["one device"]).page
    page.focus(".wide .run >> nth=0")
    page.keyboard.press("ArrowLeft")  # there is none before the first
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.textContent") == "cuBLAS workspace: 4 MB, 1 block"
    assert page.locator(".wide .run[tabindex='0']").count() == 1
    page.keyboard.press("Enter")
    assert page.locator(".owner-trace:visible h3").all_text_contents() == ["cuBLAS workspace"]
    page.keyboard.press("ArrowLeft")
    page.keyboard.press(" ")
    assert page.locator(".owner-trace:visible h3").all_text_contents() == ["losses of __main__"]


def test_a_free_block_has_no_owner_to_show(visitor: Visitor) -> None:
    page = visitor.open(PAGES["one device"]).page
    page.click(".wide .run >> nth=1", force=True)
    assert page.locator(".run.chosen, .owner-trace:visible").count() == 0


def test_an_owner_is_chosen_and_left_by_keyboard(visitor: Visitor) -> None:
    page = visitor.open(PAGES["one device"]).page
    page.focus("tbody tr:nth-child(3) button")
    page.keyboard.press("Enter")
    assert page.locator(".wide .run.chosen title").all_text_contents() == ["cuBLAS workspace: 4 MB, 1 block"]
    page.keyboard.press("Enter")
    assert page.locator(".run.chosen, tr.chosen").count() == 0


@pytest.mark.whole
def test_each_device_is_chosen_by_itself(visitor: Visitor) -> None:
    page = visitor.open(PAGES["two devices"]).page
    page.click("#device-1 tbody tr:nth-child(1) button")
    assert page.locator("#device-0 tr.chosen").count() == 0
    assert page.locator("#device-1 tr.chosen").count() == 1
