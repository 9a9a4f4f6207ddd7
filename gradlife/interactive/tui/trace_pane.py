"""The trace of the object under the cursor: sizes, sentence, path."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text
from textual.containers import VerticalScroll
from textual.widgets import Static

from gradlife.heap.views.browsing import HeapNode
from gradlife.interactive.tui.palette import printable, styles_of
from gradlife.model.trace import Line, Part, Trace, trace_lines
from gradlife.reports.layout import Hanging
from gradlife.reports.values import counted, size

#: What precedes the words of a line and does not wrap.
LEADS = ("┌─ ", "├─ ", "╰→ ", "│    ", "┌→ ", "│  ", "╰─── ", "  ")
#: What continues it on wrapped lines.
BELOW = {"┌─ ": "│  ", "├─ ": "│  ", "│    ": "│      ", "┌→ ": "│  ", "│  ": "│  "}


class TracePane(VerticalScroll, can_focus=True):
    """The pane, which scrolls if the trace is longer."""

    BORDER_TITLE = "Why it is alive"

    def __init__(self, id: str) -> None:
        super().__init__(Static(id="trace"), id=id)
        self._shown: tuple[HeapNode, Trace] | None = None

    def show(self, row: HeapNode, trace: Trace) -> None:
        """Show an object's facts and trace."""
        is_another = self._shown is None or self._shown[0].node != row.node
        self._shown = (row, trace)
        self.query_one(Static).update(Group(*rendered(row, trace, styles_of(self.app.theme))))
        if is_another:
            self.scroll_home(animate=False)

    def show_words(self, words: str) -> None:
        """Show a text instead of an object."""
        self._shown = None
        self.query_one(Static).update(Text(printable(words)))

    def repaint(self) -> None:
        """The same in the colours of the palette that holds now."""
        if self._shown is not None:
            self.show(*self._shown)


def rendered(row: HeapNode, trace: Trace, styles: dict[Part, str]) -> Iterator[RenderableType]:
    """The lines of the pane."""
    yield Text(printable(row.type) + f" at {row.address:#x}", styles[Part.TITLE])
    facts = [f"retains {size(row.retained)}", f"{size(row.bytes)} itself", f"keeps {counted(row.keeps, 'object')}"]
    yield Text(", ".join(facts), styles[Part.NOTE])
    yield Text("")
    for line in trace_lines(trace):
        yield hanging(line, styles)


def hanging(line: Line, styles: dict[Part, str]) -> RenderableType:
    """Return a line whose wrapped parts stay to the right of the path's stem."""
    text = Text.assemble(*((printable(words), styles[part]) for words, part in line))
    lead = next((lead for lead in LEADS if text.plain.startswith(lead)), "")
    below = BELOW.get(lead, " " * len(lead))
    return Hanging(Text(lead), text[len(lead) :], Text(below)) if lead else text
