"""The lists of the application: holders as a tree, search results, types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType

from gradlife.heap.views.browsing import PROCESS, UNREACHED, Browser
from gradlife.interactive.tui.palette import NARROW, numbers, printable, row_text
from gradlife.interactive.tui.rows import RowList
from gradlife.model.heap import TypeCount
from gradlife.reports.values import size

#: Columns of indentation per level, and the deepest indented level.
INDENT, MAX_LEVELS = 2, 12


#: The node of all outermost objects, and the words of rows that stand for many.
OUTERMOST = -2
FOLDED = {OUTERMOST: "all holders, libraries and Python too", UNREACHED: "no root reaches these"}


class NodeList(RowList):
    """Objects in a list, each named as seen from a common object."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.browser: Browser | None = None
        self.nodes: Sequence[int] = ()
        self._holder: int | None = None
        self._is_turned = False

    def fill(
        self, nodes: Sequence[int], holder: int | None = None, *, is_turned: bool = False, cursor: int = 0
    ) -> None:
        """Show other objects: search results, a holder's referents, or an object's referrers."""
        self.nodes, self._holder, self._is_turned = nodes, holder, is_turned
        self.rows_changed(cursor)

    def count(self) -> int:
        """The number of objects."""
        return len(self.nodes)

    def node_at(self, index: int) -> int | None:
        """Return the object of a row."""
        return self.nodes[index] if 0 <= index < len(self.nodes) else None

    def row(self, index: int, width: int) -> Text:
        """Return the retained size of an object, its reference, and its type."""
        assert self.browser is not None
        node = self.nodes[index]
        if self._is_turned:
            assert self._holder is not None
            found = self.browser.referrer(node, self._holder)
        else:
            found = self.browser.row(node, self._holder)
        text = Text(numbers(found, self.browser.bytes, width) + "  ", no_wrap=True)
        return text.append_text(row_text(found, self.colour("quiet"), self.colour("accent"), width))


class HolderTree(RowList):
    """The dominator tree: below each object those that it immediately dominates, largest first. The program's variables
    come first.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,l", "open", "Open", show=False),
        Binding("left,h", "close", "Close", show=False),
        Binding("space", "choose", "Open or close", show=False),
    ]

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.browser: Browser | None = None
        self._rows_open: list[int] = []
        self._levels: list[int] = []
        self._holders: list[int] = []  # dominator of each row
        self._names: Mapping[int, str] = {}  # the program's variables

    def fill(self, browser: Browser, variables: Mapping[int, str]) -> None:
        """Show the program's variables, a row for all outermost objects, and one for all unreachable objects."""
        self.browser = browser
        self._names = variables
        self._rows_open = [*variables, OUTERMOST]
        if browser.kept_count(UNREACHED):
            self._rows_open.append(UNREACHED)
        self._levels = [0] * len(self._rows_open)
        self._holders = [PROCESS] * len(self._rows_open)
        self.rows_changed()

    def count(self) -> int:
        """The number of open rows."""
        return len(self._rows_open)

    def node_at(self, index: int) -> int | None:
        """Return the object of a row; None if it stands for many."""
        node = self._rows_open[index] if 0 <= index < len(self._rows_open) else UNREACHED
        return node if node not in FOLDED else None

    def is_unreached(self, index: int) -> bool:
        """Whether the row stands for all unreachable objects."""
        return self._rows_open[index] == UNREACHED

    # --- opening and closing ---

    def is_open(self, index: int) -> bool:
        """Whether the row's children are visible."""
        return index + 1 < len(self._levels) and self._levels[index + 1] > self._levels[index]

    def open_row(self, index: int) -> bool:
        """Show the row's children. Return False if it has none."""
        assert self.browser is not None
        if self.is_open(index):
            return True
        holder = PROCESS if self._rows_open[index] == OUTERMOST else self._rows_open[index]
        kept = self.browser.kept(holder)
        self._rows_open[index + 1 : index + 1] = kept
        self._levels[index + 1 : index + 1] = [self._levels[index] + 1] * len(kept)
        self._holders[index + 1 : index + 1] = [holder] * len(kept)
        return bool(kept)

    def close_row(self, index: int) -> None:
        """Hide the row's children."""
        end = index + 1
        while end < len(self._levels) and self._levels[end] > self._levels[index]:
            end += 1
        del self._rows_open[index + 1 : end], self._levels[index + 1 : end], self._holders[index + 1 : end]

    def reveal(self, node: int) -> bool:
        """Open all rows above a node and go to it. Return False if it is not in the tree."""
        assert self.browser is not None
        above = self.browser.above(node)
        first = max((number for number, one in enumerate(above) if one in self._names), default=None)
        chain = [OUTERMOST, *above] if first is None else above[first:]
        chain = chain if above else [UNREACHED, node]
        index, level = 0, 0
        for number, one in enumerate(chain):
            if number and not self.open_row(index):
                return False
            start = index + 1 if number else 0
            found = self._find(one, start, level)
            if found is None:
                return False
            index, level = found, level + 1
        self.rows_changed(index)
        return True

    def _find(self, node: int, start: int, level: int) -> int | None:
        """Return a node's row among the children of an open row."""
        index = start
        while True:
            try:
                index = self._rows_open.index(node, index)
            except ValueError:
                return None
            if self._levels[index] == level:
                return index
            index += 1

    def action_choose(self) -> None:
        """Open or close the row."""
        if not self.count():
            return
        if self.is_open(self.cursor):
            self.close_row(self.cursor)
        else:
            self.open_row(self.cursor)
        self.rows_changed(self.cursor)

    def action_open(self) -> None:
        """Open the row; if it is open, go to its first child."""
        if self.is_open(self.cursor):
            self.cursor += 1
        elif self.count() and self.open_row(self.cursor):
            self.rows_changed(self.cursor)

    def action_close(self) -> None:
        """Close the row; if it is closed, go to its parent."""
        if self.is_open(self.cursor):
            self.close_row(self.cursor)
            self.rows_changed(self.cursor)
            return
        level = self._levels[self.cursor] if self.count() else 0
        for index in range(self.cursor - 1, -1, -1):
            if self._levels[index] < level:
                self.cursor = index
                return

    # --- drawing ---

    def row(self, index: int, width: int) -> Text:
        """Return an object's retained size, a mark if it can be opened, its reference, and its type."""
        assert self.browser is not None
        node, level = self._rows_open[index], self._levels[index]
        if node in FOLDED:
            mark = "▾" if self.is_open(index) else "▸"
            blank = " " * len(numbers(self.browser.row(PROCESS), self.browser.bytes, width))
            count = f"{self.browser.kept_count(PROCESS if node == OUTERMOST else node):,}"
            return Text.assemble(f"{blank} {mark} ", (FOLDED[node], "italic"), f"  {count} objects")
        found = self.browser.row(node, self._holders[index])
        if level == 0:
            found = replace(found, via=self._names[node], is_shared=False)
        mark = "▾" if self.is_open(index) else "▸" if found.keeps else " "
        lead = f"{numbers(found, self.browser.bytes, width)} {self._indent(level, width)}{mark} "
        return Text(lead, no_wrap=True).append_text(row_text(found, self.colour("quiet"), self.colour("accent"), width))

    def _indent(self, level: int, width: int) -> str:
        """Indent a row; beyond the limit, print its depth instead."""
        most = MAX_LEVELS if width >= NARROW else MAX_LEVELS // 3
        return " " * (INDENT * level) if level <= most else " " * (INDENT * most) + f"{level}·"

    def clicked(self, index: int, x: int, *, was_there: bool) -> None:
        """Open or close a row when its mark is clicked."""
        lead = self.row(index, self.columns).plain[: x + 2]
        if was_there or lead.rstrip()[-1:] in ("▸", "▾"):
            self.action_choose()


#: Sort orders of types.
ORDERS = ("bytes", "objects", "name")


class TypeList(RowList):
    """Types with their counts and bytes."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("s", "sort", "Sort")]

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._types: Sequence[TypeCount] = ()
        self.order = ORDERS[0]

    def fill(self, types: Sequence[TypeCount]) -> None:
        """Show all types of a snapshot."""
        self._types = types
        self.rows_changed()

    def count(self) -> int:
        """The number of types."""
        return len(self._types)

    def type_at(self, index: int) -> TypeCount | None:
        """Return the type of a row."""
        return self._types[index] if 0 <= index < len(self._types) else None

    def row(self, index: int, width: int) -> Text:
        """Return objects, bytes and name."""
        one = self._types[index]
        text = Text(f"{one.count:>11,} {size(one.bytes):>8}  ", no_wrap=True)
        text.append(printable(one.type), "bold")
        if one.kind not in {"python", "root"}:
            text.append(f"  {one.kind}", self.colour("quiet"))
        return text

    def action_sort(self) -> None:
        """Use the next sort order."""
        self.order = ORDERS[(ORDERS.index(self.order) + 1) % len(ORDERS)]
        keys = {
            "bytes": lambda row: (-row.bytes, -row.count, row.type),
            "objects": lambda row: (-row.count, -row.bytes, row.type),
            "name": lambda row: (row.type.lower(), row.type, row.kind),
        }
        self.fill(sorted(self._types, key=keys[self.order]))
