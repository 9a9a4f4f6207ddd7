"""`gradlife open FILE --tui`: keys and mouse in, what stands on the screen out."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from textual.binding import Binding
from textual.events import MouseScrollDown
from textual.widgets import Static
from textual.worker import Worker

from explorers import explored, screen, settled, type_in
from gradlife.errors import GradlifeError
from gradlife.heap.views.browsing import Browser, HeapNode
from gradlife.interactive.tui.app import Explorer
from gradlife.interactive.tui.lists import HolderTree, NodeList, TypeList
from gradlife.interactive.tui.palette import COLOURS, DARK, LIGHT, printable

TO_ORDERS = ["down", "right"]  # the program's second variable


def test_it_begins_with_the_programs_variables(heap_file: str) -> None:
    async def look(app: Explorer, pilot: Any) -> None:
        lines = screen(app)
        assert lines[0].startswith(" shop.glheap: ")
        assert " objects, " in lines[0]
        assert lines[1].split()[:8] == ["1", "Holders", "2", "Types", "3", "Found", "4", "Neighbours"]
        assert "5 MB" in lines[3]
        assert "shop.biggest  bytearray" in lines[3]
        assert "▸ shop.orders  list len 5000" in lines[4]
        assert "q Quit ? Help / Search n Next r Referrers e Referents g Holder" in lines[-1]

    explored(heap_file, look)


def test_keys_open_the_path_to_an_object_and_the_pane_shows_why_it_is_alive(heap_file: str) -> None:
    async def look(app: Explorer, pilot: Any) -> None:
        await pilot.press(*TO_ORDERS, "down")
        await settled(app, pilot)
        text = "\n".join(screen(app))
        assert "▾ shop.orders  list len 5000" in text
        assert "]  Order" in text
        assert "Order is held: a root reaches it" in text
        assert "╰→ Order   this object" in text
        await pilot.press("left", "left")
        assert "▸ shop.orders  list len 5000" in "\n".join(screen(app))

    explored(heap_file, look)


def test_all_holders_are_folded_into_one_row(heap_file: str) -> None:
    async def look(app: Explorer, pilot: Any) -> None:
        tree = app.query_one(HolderTree)
        rows = [tree.row(index, 100).plain.strip() for index in range(tree.count())]
        assert rows[-2].startswith("▸ all holders, libraries and Python too  ")
        assert rows[-1].startswith("▸ no root reaches these  ")
        await pilot.press("end", "up", "right")
        await settled(app, pilot)
        text = "\n".join(screen(app))
        assert "All outermost objects" in text
        assert "interpreter sys.modules" in text

    explored(heap_file, look)


def test_of_a_long_list_only_the_rows_in_sight_are_looked_at(heap_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: set[int] = set()
    row = Browser.row

    def counted_row(self: Browser, node: int, holder: int | None = None) -> HeapNode:
        looked.add(node)
        return row(self, node, holder)

    monkeypatch.setattr(Browser, "row", counted_row)

    async def look(app: Explorer, pilot: Any) -> None:
        await pilot.press(*TO_ORDERS, "end", "pageup")
        await settled(app, pilot)
        assert app.query_one(HolderTree).count() > 5000
        assert len(looked) < 400

    explored(heap_file, look)


@pytest.mark.parametrize(
    ("wanted", "caption", "first"),
    [
        ("orders", "1 object called 'orders'", "list len 5000  Shop .orders"),
        (
            "__main__.Order",
            "5,001 objects called '__main__.Order'",
            "type __main__.Order  module __main__ global variable",
        ),
        ("nothing.is.so", "0 objects called 'nothing.is.so'", ""),
    ],
)
@pytest.mark.whole
def test_a_search_shows_what_is_called_so(heap_file: str, wanted: str, caption: str, first: str) -> None:
    async def look(app: Explorer, pilot: Any) -> None:
        await type_in(pilot, wanted)
        await settled(app, pilot)
        lines = screen(app)
        assert lines[3].split("│")[0].strip() == caption
        assert first in lines[4]

    explored(heap_file, look)


@pytest.mark.whole
def test_matches_are_gone_through_round_the_end_and_shown_among_the_holders(heap_file: str) -> None:
    async def look(app: Explorer, pilot: Any) -> None:
        await type_in(pilot, "__main__.Order")
        await settled(app, pilot)
        await pilot.press("n", "n")
        assert "3 of 5,001" in screen(app)[-2]
        await pilot.press("N", "N", "N")
        assert "5,001 of 5,001" in screen(app)[-2]
        await pilot.press("1", "n", "n")
        await settled(app, pilot)
        tree = app.query_one(HolderTree)
        assert tree.row(tree.cursor, 100).plain.endswith("Order")
        assert tree.node_at(tree.cursor) == app.query_one("#found-list", NodeList).node_at(1)

    explored(heap_file, look)


def test_an_address_finds_its_object_and_enter_shows_it_among_the_holders(heap_file: str) -> None:
    async def look(app: Explorer, pilot: Any) -> None:
        browser = app.browser
        assert browser is not None
        (orders,) = browser.find("orders")
        await type_in(pilot, hex(browser.row(orders).address))
        await settled(app, pilot)
        await pilot.press("enter")
        await settled(app, pilot)
        assert (app.tab, app.node) == ("holders", orders)
        assert any("▸ shop.orders  list len 5000" in line for line in screen(app))
        await pilot.press("backspace")
        assert app.tab == "found"

    explored(heap_file, look)


@pytest.mark.whole
def test_enter_follows_references_and_backspace_comes_back(heap_file: str) -> None:
    async def look(app: Explorer, pilot: Any) -> None:
        await type_in(pilot, "orders")
        await settled(app, pilot)
        await pilot.press("r")
        await settled(app, pilot)
        lines = screen(app)
        assert lines[3].startswith(" list len 5000  ")
        assert lines[4].startswith(" 1 referrer")
        assert ".orders  Shop" in lines[5]
        assert any(line.startswith(" 5,000 referents") for line in lines)
        await pilot.press("enter")
        assert screen(app)[3].startswith(" Shop  ")
        assert "['shop']  dict len " in screen(app)[5]
        await pilot.press("e", "backspace", "backspace")
        await settled(app, pilot)
        assert screen(app)[3].startswith(" list len 5000  ")
        await pilot.press("backspace")
        assert app.tab == "found"
        await pilot.press("backspace", "backspace", "backspace")
        assert app.tab == "holders"

    explored(heap_file, look)


def test_types_are_sorted_in_three_paths_and_enter_shows_the_objects(heap_file: str) -> None:
    async def look(app: Explorer, pilot: Any) -> None:
        types = app.query_one(TypeList)
        await pilot.press("2")
        assert types.row(0, 100).plain.split() == ["1", "5", "MB", "bytearray"]
        assert "1 object of bytearray, 5 MB. Enter shows" in "\n".join(screen(app))
        await pilot.press("s")
        counts = [int(types.row(index, 100).plain.split()[0].replace(",", "")) for index in range(20)]
        assert counts == sorted(counts, reverse=True)
        await pilot.press("s")
        names = [types.row(index, 100).plain.split()[3].lower() for index in range(types.count())]
        assert names == sorted(names)
        await pilot.press("s", "enter")
        await settled(app, pilot)
        assert screen(app)[3].split("│")[0].strip() == "1 object of bytearray"
        assert "bytearray  Shop .biggest" in screen(app)[4]

    explored(heap_file, look)


@pytest.mark.whole
def test_the_mouse_puts_the_cursor_opens_marks_changes_tabs_and_scrolls(heap_file: str) -> None:
    async def look(app: Explorer, pilot: Any) -> None:
        tree = app.query_one(HolderTree)
        await pilot.click(tree, offset=(40, 2))
        assert tree.cursor == 2
        mark = tree.row(1, 80).plain.index("▸")
        await pilot.click(tree, offset=(mark, 1))
        assert tree.is_open(1)
        await pilot.click(tree, offset=(40, 1))
        assert not tree.is_open(1)
        await pilot.click("#--content-tab-types")
        await settled(app, pilot)
        assert app.tab == "types"
        types = app.query_one(TypeList)
        await pilot._post_mouse_events([MouseScrollDown], types)
        await pilot.wait_for_scheduled_animations()
        assert types.scroll_offset.y > 0
        await pilot.click(types, offset=(10, 3))
        await pilot.click(types, offset=(10, 3))
        await settled(app, pilot)
        assert app.tab == "found"

    explored(heap_file, look)


@pytest.mark.whole
@pytest.mark.parametrize(("width", "height"), [(120, 40), (80, 24), (40, 20), (20, 8), (8, 4)])
def test_it_is_usable_at_every_size_and_through_every_screen(heap_file: str, width: int, height: int) -> None:
    async def look(app: Explorer, pilot: Any) -> None:
        await pilot.press(*TO_ORDERS, "r", "2", "enter", "4", "question_mark")
        await settled(app, pilot)
        await pilot.press("down", "escape", "d", "1")
        await pilot.resize_terminal(width // 2 or 1, height // 2)
        await pilot.resize_terminal(width, height)
        await settled(app, pilot)
        assert max(map(len, screen(app))) <= width
        body = app.query_one("#body").styles.layout
        assert body is not None
        assert body.name == ("horizontal" if width >= 100 else "vertical")

    explored(heap_file, look, (width, height))


def test_help_shows_every_key_that_is_bound(heap_file: str) -> None:
    async def look(app: Explorer, pilot: Any) -> None:
        await pilot.press("question_mark")
        await settled(app, pilot)
        text = "\n".join(screen(app))
        assert "who refers to the object" in text
        await pilot.press("escape")
        assert "who refers to the object" not in "\n".join(screen(app))

    explored(heap_file, look, (120, 60))
    from gradlife.interactive.tui.help import KEYS

    message = " ".join(key for _, keys in KEYS for key, _ in keys)
    bound = {"slash": "/", "question_mark": "?", "backspace": "Backspace", "escape": ""}
    keys = [bound.get(one.key, one.key) for one in Explorer.BINDINGS if isinstance(one, Binding)]
    assert [key for key in keys if key not in message] == []


@pytest.mark.whole
def test_names_are_shown_as_data_whatever_stands_in_them(heap_file: str) -> None:
    async def look(app: Explorer, pilot: Any) -> None:
        await type_in(pilot, "Evil")
        await settled(app, pilot)
        await pilot.press("down")
        await settled(app, pilot)
        text = "\n".join(screen(app))
        assert "[bold]Evil[/bold]" in text
        await type_in(pilot, "desrever")
        await settled(app, pilot)
        text += "\n".join(screen(app))
        assert "Shop .[red]?[31m?desrever" in text
        await pilot.press("r", "e")
        await settled(app, pilot)
        text += "\n".join(screen(app))
        assert not any(letter in text for letter in "\x1b\u202e")

    explored(heap_file, look)


def test_what_cannot_be_printed_is_spelt_out() -> None:
    assert printable("plain [red] é 漢") == "plain [red] é 漢"
    assert printable("\x1b[2J\u202ea\nb\x7f") == "\\x1b[2J\\u202ea\\nb\\x7f"
    assert printable("x" * 1000) == "x" * 400 + "..."


def test_the_palettes_turn_and_can_be_read(heap_file: str) -> None:
    async def look(app: Explorer, pilot: Any) -> None:
        assert app.theme == DARK
        await pilot.press("d")
        assert app.theme == LIGHT
        await settled(app, pilot)
        await pilot.press("d")
        assert app.theme == DARK

    explored(heap_file, look)
    for colours in COLOURS.values():
        for name in ("text", "quiet", "accent", "held", "gc", "never", "warning"):
            for ground in ("ground", "panel", "cursor"):
                assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)


def contrast(one: str, other: str) -> float:
    """As WCAG 2 counts it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_a_file_that_is_no_snapshot_ends_it_with_the_reason(tmp_path: Any) -> None:
    path = tmp_path / "no.glheap"
    path.write_text("no snapshot")

    async def look(app: Explorer, pilot: Any) -> None:
        await pilot.pause()

    app = explored(str(path), look)
    assert isinstance(app.return_value, GradlifeError)
    assert str(app.return_value).startswith(f"{path} is no snapshot")


def test_an_application_that_ends_while_somebody_waits_for_its_thread_has_ended(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "no.glheap"
    path.write_text("no snapshot")
    waited_for, ended = threading.Event(), threading.Event()
    wait, call = Worker.wait, Explorer.call_from_thread

    async def wait_and_say(self: Worker[Any]) -> Any:
        waited_for.set()
        return await wait(self)

    def call_late_and_stay(self: Explorer, function: Any, *arguments: Any) -> None:
        if function == self.exit:
            waited_for.wait(10)
        call(self, function, *arguments)
        if function == self.exit:
            ended.wait(10)

    async def look(app: Explorer, pilot: Any) -> None:
        ended.set()

    monkeypatch.setattr(Worker, "wait", wait_and_say)
    monkeypatch.setattr(Explorer, "call_from_thread", call_late_and_stay)
    app = explored(str(path), look)
    assert isinstance(app.return_value, GradlifeError)
    assert str(app.return_value).startswith(f"{path} is no snapshot")


def test_keys_that_come_before_the_file_is_read_do_no_harm(heap_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Explorer, "_load", lambda self: None)

    async def look(app: Explorer, pilot: Any) -> None:
        for key in (
            "down",
            "enter",
            "right",
            "left",
            "slash",
            "r",
            "e",
            "g",
            "n",
            "2",
            "s",
            "enter",
            "backspace",
            "end",
        ):
            await pilot.press(key)
        assert app.query_one("#facts", Static).display

    explored(heap_file, look)
