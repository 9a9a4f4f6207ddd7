"""A list that draws only visible rows: a million rows are as fast as ten."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip


class RowList(ScrollView, can_focus=True):
    """Rows with a cursor. Subclasses define `count` and `row`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "edge(0)", "First", show=False),
        Binding("end", "edge(1)", "Last", show=False),
        Binding("enter", "choose", "Choose", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--cursor", "rows--plain", "rows--quiet", "rows--accent"}
    DEFAULT_CSS = """
    RowList {
        overflow-x: hidden;
        & > .rows--cursor { background: $panel; }
        &:focus > .rows--cursor { background: $cursor-ground; }
        & > .rows--quiet { color: $quiet; }
        & > .rows--accent { color: $accent; }
    }
    """

    cursor: reactive[int] = reactive(0, repaint=False)

    class Moved(Message):
        """The cursor moved, or the rows changed."""

        def __init__(self, rows: RowList) -> None:
            super().__init__()
            self.rows = rows

        @property
        def control(self) -> RowList:
            """Return the list that the rows belong to."""
            return self.rows

    class Chosen(Moved):
        """A row was chosen by Enter or a second click."""

    # --- content ---

    def count(self) -> int:
        """The number of rows."""
        raise NotImplementedError

    def row(self, index: int, width: int) -> Text:
        """Return the row at a position."""
        raise NotImplementedError

    @property
    def columns(self) -> int:
        """Return the width of the rows without the scroll bar."""
        return self.scrollable_content_region.width

    def rows_changed(self, cursor: int = 0) -> None:
        """Show changed rows with the cursor on one of them."""
        self.virtual_size = Size(self.columns, self.count())
        self.set_reactive(RowList.cursor, self._clamped(cursor))
        self.bring_into_sight()
        self.refresh()
        self.post_message(self.Moved(self))

    # --- drawing ---

    def render_line(self, y: int) -> Strip:
        """Draw one visible line."""
        index, width = y + self.scroll_offset.y, self.columns
        if index >= self.count():
            return Strip.blank(width, self.rich_style)
        text = self.row(index, width)
        text.truncate(width, overflow="ellipsis", pad=True)
        base = self.rich_style
        if index == self.cursor:
            base += Style(bgcolor=self.get_component_rich_style("rows--cursor").bgcolor)
        segments = [Segment(part.text, base + (part.style or Style())) for part in text.render(self.app.console)]
        return Strip([part for part in segments if part.text]).adjust_cell_length(width, base)

    def colour(self, name: str) -> str:
        """Return a palette colour for a part of a row."""
        colour = self.get_component_rich_style(f"rows--{name}").color
        return colour.name if colour is not None else ""

    def on_resize(self, event: events.Resize) -> None:
        """Make the rows as wide as the visible part."""
        self.virtual_size = Size(self.columns, self.count())
        self.bring_into_sight()

    # --- the cursor ---

    def watch_cursor(self, before: int, now: int) -> None:
        """Redraw the old and the new row."""
        self.refresh_line(before)
        self.refresh_line(now)
        self.bring_into_sight()
        self.post_message(self.Moved(self))

    def validate_cursor(self, value: int) -> int:
        """Limit the cursor to existing rows."""
        return self._clamped(value)

    def _clamped(self, value: int) -> int:
        return max(0, min(value, self.count() - 1))

    def bring_into_sight(self) -> None:
        """Scroll to the cursor."""
        self.scroll_to_region(Region(0, self.cursor, 1, 1), animate=False, force=True)

    def action_move(self, step: int) -> None:
        """Move by one row."""
        self.cursor += step

    def action_page(self, step: int) -> None:
        """Move by one screen."""
        self.cursor += step * max(1, self.size.height - 1)

    def action_edge(self, is_last: int) -> None:
        """Move to the first or last row."""
        self.cursor = (self.count() - 1) * is_last

    def action_choose(self) -> None:
        """Choose the row under the cursor: the action of Enter."""
        if self.count():
            self.post_message(self.Chosen(self))

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked row; choose the row on a second click."""
        index = event.y + self.scroll_offset.y
        if index >= self.count():
            return
        was_there = index == self.cursor
        self.cursor = index
        self.clicked(index, event.x, was_there=was_there)

    def clicked(self, index: int, x: int, *, was_there: bool) -> None:
        """Handle a click on a row."""
        if was_there:
            self.action_choose()
