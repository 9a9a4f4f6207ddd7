"""The application: holders, types, search results and neighbours, with the trace of the object under the cursor."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from rich.text import Text
from textual import on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.widgets import Footer, Input, Static, TabbedContent, TabPane
from textual.worker import get_current_worker

from gradlife.errors import GradlifeError
from gradlife.heap import open_snapshot
from gradlife.heap.views.browsing import Browser
from gradlife.heap.views.program_objects import ProgramObjects
from gradlife.interactive.tui.help import Help
from gradlife.interactive.tui.lists import HolderTree, NodeList, TypeList
from gradlife.interactive.tui.palette import DARK, LIGHT, printable, themes, title
from gradlife.interactive.tui.rows import RowList
from gradlife.interactive.tui.trace_pane import TracePane
from gradlife.reports.values import counted, size

HOLDERS, TYPES, FOUND, NEIGHBOURS = "holders", "types", "found", "neighbours"

#: Seconds the cursor must rest before the trace is computed, so that passed rows cost nothing.
REST = 0.06

UNREACHED_WORDS = (
    "No root reaches these: what waits for the collector, what nobody will free, and objects that only C code refers to, such as "
    "static types. Enter shows them, the largest first; each says what will become of it."
)
OUTERMOST_WORDS = (
    "All outermost objects, those of libraries and the interpreter too. Enter shows them, the largest first."
)

#: Program variables listed at the top.
VARIABLES = 20


@dataclass(frozen=True)
class Place:
    """A place to go back to: a tab, its list, the row, and the object whose neighbours it shows."""

    tab: str
    list_id: str
    cursor: int
    node: int | None
    centre: int | None


class Explorer(App[GradlifeError | None]):
    """The application for a snapshot file. Exits with the file's error if it cannot be read."""

    CSS_PATH = "style.tcss"
    TITLE = "gradlife"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit"),
        Binding("question_mark", "help", "Help"),
        Binding("slash", "search", "Search"),
        Binding("n", "match(1)", "Next"),
        Binding("N", "match(-1)", "Before", show=False),
        Binding("r", "neighbours('referrers')", "Referrers"),
        Binding("e", "neighbours('referents')", "Referents"),
        Binding("g", "show_holder", "Holder"),
        Binding("backspace", "go_back", "Back"),
        Binding("d", "turn_light", "Theme"),
        Binding("1", "tab('holders')", show=False),
        Binding("2", "tab('types')", show=False),
        Binding("3", "tab('found')", show=False),
        Binding("4", "tab('neighbours')", show=False),
        Binding("escape", "leave_search", show=False),
    ]

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self.browser: Browser | None = None
        self.node: int | None = None  # under the cursor
        self._centre: int | None = None  # its neighbours are shown
        self._before: list[Place] = []
        for one in themes():
            self.register_theme(one)
        self.theme = DARK

    def compose(self) -> ComposeResult:
        """Compose a line of facts, the lists next to the trace, the search, the progress, the keys."""
        yield Static(id="facts")
        with Container(id="body"):
            with TabbedContent(id="lists", initial=HOLDERS):
                with TabPane("1 Holders", id=HOLDERS):
                    yield HolderTree(id="holder-tree")
                with TabPane("2 Types", id=TYPES):
                    yield Static("    objects    bytes  type", classes="caption")
                    yield TypeList(id="type-list")
                with TabPane("3 Found", id=FOUND):
                    yield Static("/ looks for a type, a name or an address", id="found-caption", classes="caption")
                    yield NodeList(id="found-list")
                with TabPane("4 Neighbours", id=NEIGHBOURS), Vertical():
                    yield Static("r and e show the neighbours of an object", id="centre", classes="caption")
                    yield Static("Who refers to it", id="referrers-caption", classes="caption")
                    yield NodeList(id="referrers")
                    yield Static("What it refers to", id="referents-caption", classes="caption")
                    yield NodeList(id="referents")
            yield TracePane(id="why")
        yield Input(placeholder="type, name or 0x address", id="search")
        yield Static(id="progress")
        yield Footer(compact=True)

    def on_mount(self) -> None:
        """Start reading the file; the screen is already visible."""
        self.query_one("#search").display = False
        self.query_one("#facts", Static).update(Text(printable(self._path)))
        self._load()

    # --- reading the file ---

    @work(thread=True, group="load", exit_on_error=True)
    def _load(self) -> None:
        """Read the file and compute what every list needs."""
        try:
            self._tell(f"reading {self._path}")
            browser = Browser(open_snapshot(self._path))
            for words, prepare in browser.preparations():
                self._tell(words)
                prepare()
            self._tell("finding the program's variables")
            variables = ProgramObjects(browser.snapshot).chosen(VARIABLES)
        except GradlifeError as error:
            self.call_from_thread(self.exit, error)
            return
        self.call_from_thread(self._begin, browser, {one.node: one.name for one in variables})

    def _tell(self, words: str) -> None:
        """Show progress, from a thread."""
        self.call_from_thread(self.progress, f"{words} ...")

    def progress(self, words: str = "") -> None:
        """Show the current work, or nothing."""
        self.query_one("#progress", Static).update(Text(printable(words)))

    def _begin(self, browser: Browser, variables: dict[int, str]) -> None:
        self.browser = browser
        snapshot = browser.snapshot
        taken = dict(snapshot.notes).get("taken", "at an unknown time")
        facts = f"{os.path.basename(self._path)}: {counted(snapshot.objects, 'object')}, {size(snapshot.bytes)}, taken {taken}"
        self.query_one("#facts", Static).update(Text(printable(facts)))
        for one in self.query(NodeList):
            one.browser = browser
        self.query_one(TypeList).fill(snapshot.types())
        self.query_one(HolderTree).fill(browser, variables)
        self.query_one(HolderTree).focus()
        self.progress()

    # --- the object under the cursor ---

    @on(RowList.Moved)
    def _moved(self, event: RowList.Moved) -> None:
        """Show the trace after a short rest."""
        if self._is_shown(event.rows):
            self._look_at(self._node_of(event.rows))
            self._look_at_many(event.rows)

    def _is_shown(self, rows: RowList) -> bool:
        """Whether the cursor keys move in this list, or it is the first of its tab."""
        if self.focused is not None and isinstance(self.focused, RowList):
            return rows is self.focused
        return rows is self._list_of(self.tab)

    def _node_of(self, rows: RowList) -> int | None:
        return rows.node_at(rows.cursor) if isinstance(rows, (HolderTree, NodeList)) else None

    def _look_at(self, node: int | None) -> None:
        if node is None or self.browser is None:
            return
        self.node = node
        self.set_timer(REST, partial(self._ask_why, node))

    def _look_at_many(self, rows: RowList) -> None:
        """Describe a row that stands for many objects, and how to reach them."""
        words = ""
        one = rows.type_at(rows.cursor) if isinstance(rows, TypeList) else None
        if one is not None:
            words = f"{counted(one.count, 'object')} of {one.type}, {size(one.bytes)}. Enter shows them."
        elif isinstance(rows, HolderTree) and rows.count() and rows.node_at(rows.cursor) is None:
            words = UNREACHED_WORDS if rows.is_unreached(rows.cursor) else OUTERMOST_WORDS
        if words:
            self.node = None
            self.query_one(TracePane).show_words(words)

    def _ask_why(self, node: int) -> None:
        if node == self.node:
            self._trace(node)

    @work(thread=True, group="trace", exclusive=True)
    def _trace(self, node: int) -> None:
        """Compute why an object is alive."""
        assert self.browser is not None
        row, trace = self.browser.row(node), self.browser.trace(node)
        if not get_current_worker().is_cancelled:
            self.call_from_thread(self.query_one(TracePane).show, row, trace)

    # --- tabs ---

    @property
    def tab(self) -> str:
        """The visible tab."""
        return self.query_one(TabbedContent).active

    def _list_of(self, tab: str) -> RowList:
        ids = {HOLDERS: "#holder-tree", TYPES: "#type-list", FOUND: "#found-list", NEIGHBOURS: "#referrers"}
        return self.query_one(ids[tab], RowList)

    def show_tab(self, tab: str, list_id: str = "") -> RowList:
        """Show a tab and focus its list."""
        self.query_one(TabbedContent).active = tab
        rows = self.query_one(f"#{list_id}", RowList) if list_id else self._list_of(tab)
        rows.focus()
        return rows

    def action_tab(self, tab: str) -> None:
        """Show one of the four tabs."""
        rows = self.show_tab(tab)
        self._look_at(self._node_of(rows))
        self._look_at_many(rows)

    @on(TabbedContent.TabActivated)
    def _tab_clicked(self) -> None:
        """Focus the list of a clicked tab."""
        if self.focused is None or not isinstance(self.focused, RowList):
            self.action_tab(self.tab)

    # --- going to an object, and back ---

    def _here(self) -> Place:
        rows = self.focused if isinstance(self.focused, RowList) else self._list_of(self.tab)
        return Place(self.tab, rows.id or "", rows.cursor, self._node_of(rows), self._centre)

    def _leave(self) -> None:
        """Remember the place to come back to."""
        here = self._here()
        if not self._before or self._before[-1] != here:
            self._before.append(here)

    def action_go_back(self) -> None:
        """Return to the previous place."""
        if not self._before:
            self.notify("this is the first place")
            return
        place = self._before.pop()
        if place.tab == NEIGHBOURS and place.centre is not None:
            self._fill_neighbours(place.centre)
        rows = self.show_tab(place.tab, place.list_id)
        if isinstance(rows, HolderTree) and place.node is not None:
            rows.reveal(place.node)
        else:
            rows.cursor = place.cursor
        self._look_at(self._node_of(rows))

    def action_show_holder(self) -> None:
        """Show the object among the holders."""
        if self.node is None:
            return
        node = self.node
        self._leave()
        rows = self.show_tab(HOLDERS)
        assert isinstance(rows, HolderTree)
        if not rows.reveal(node):
            self.notify("it is not among the holders")
        self._look_at(node)

    def action_neighbours(self, list_id: str) -> None:
        """Show the referrers and referents of the object under the cursor."""
        if self.node is not None:
            self._leave()
            self._go_to(self.node, list_id)

    def _go_to(self, node: int, list_id: str) -> None:
        self._fill_neighbours(node)
        self._look_at(self._node_of(self.show_tab(NEIGHBOURS, list_id)) or node)

    def _fill_neighbours(self, node: int) -> None:
        assert self.browser is not None
        self._centre = node
        row = self.browser.row(node)
        self.query_one("#centre", Static).update(Text(f"{title(row)}  {size(row.retained)}  {row.address:#x}", "bold"))
        lists = (
            ("referrers", self.browser.referrers(node), "referrer"),
            ("referents", self.browser.referents(node), "referent"),
        )
        for list_id, nodes, noun in lists:
            self.query_one(f"#{list_id}-caption", Static).update(Text(counted(len(nodes), noun)))
            self.query_one(f"#{list_id}", NodeList).fill(nodes, node, is_turned=list_id == "referrers")

    @on(RowList.Chosen)
    def _chosen(self, event: RowList.Chosen) -> None:
        """Open a chosen type, search result or neighbour."""
        rows = event.rows
        if isinstance(rows, TypeList):
            one = rows.type_at(rows.cursor)
            if one is not None and self.browser is not None:
                self._leave()
                self._find(
                    f"{counted(one.count, 'object')} of {one.type}", partial(self.browser.of_type, one.kind, one.type)
                )
            return
        node = self._node_of(rows)
        if node is None:
            return
        if rows.id == "found-list":
            self.node = node
            self.action_show_holder()
        else:
            self._leave()
            self._go_to(node, rows.id or "referrers")

    # --- searching ---

    def action_search(self) -> None:
        """Ask for the search text."""
        if self.browser is not None:
            search = self.query_one("#search", Input)
            search.display = True
            search.focus()

    def action_leave_search(self) -> None:
        """Return to the list."""
        search = self.query_one("#search", Input)
        if search.display:
            search.display = False
            self._list_of(self.tab).focus()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        self.action_leave_search()
        wanted = event.value.strip()
        if wanted and self.browser is not None:
            self._leave()
            self._find(f"called {wanted!r}", partial(self.browser.find, wanted))

    @work(thread=True, group="search", exclusive=True)
    def _find(self, words: str, search: Callable[[], list[int]]) -> None:
        """Search for objects."""
        self._tell("looking")
        found = search()
        if not get_current_worker().is_cancelled:
            self.call_from_thread(self._show_found, words, found)

    def _show_found(self, words: str, found: list[int]) -> None:
        self.progress()
        caption = words if words[:1].isdigit() else f"{counted(len(found), 'object')} {words}"
        self.query_one("#found-caption", Static).update(Text(printable(caption)))
        rows = self.show_tab(FOUND)
        assert isinstance(rows, NodeList)
        rows.fill(found)
        self._look_at(self._node_of(rows))

    def action_match(self, step: int) -> None:
        """Go to the next or previous match in any tab, wrapping around."""
        rows = self.query_one("#found-list", NodeList)
        if not rows.count():
            self.notify("nothing was searched yet: press /")
            return
        rows.cursor = (rows.cursor + step) % rows.count()
        self.progress(f"{rows.cursor + 1:,} of {rows.count():,}")
        node = rows.node_at(rows.cursor)
        if self.tab == HOLDERS and node is not None:
            self.query_one(HolderTree).reveal(node)
        elif self.tab != FOUND:
            self.show_tab(FOUND)
        self._look_at(node)

    # --- other actions ---

    def action_turn_light(self) -> None:
        """Switch to the other palette."""
        self.theme = LIGHT if self.theme == DARK else DARK
        self.call_after_refresh(self._repaint)

    def _repaint(self) -> None:
        for rows in self.query(RowList):
            rows.refresh()
        self.query_one(TracePane).repaint()

    def action_help(self) -> None:
        """Show the keys."""
        self.push_screen(Help())


def explore(path: str) -> None:
    """Run the application until the user quits. Raises the error of an unreadable file."""
    app: Explorer = Explorer(path)
    result: Any = app.run()
    if isinstance(result, GradlifeError):
        raise result
