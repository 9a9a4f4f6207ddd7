"""The help screen: the meaning of the keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from rich.console import Group, RenderableType
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from gradlife.reports.layout import Hanging

KEYS = (
    ("Lists", (
        ("↑ ↓, Page, Home, End", "move; the pane tells why the object under the cursor is alive"),
        ("→ ←, Space", "open and close what an object alone keeps; ← on a closed row goes to what keeps it"),
        ("Enter", "opens a row of the holders; of a type shows its objects; elsewhere goes to the object"),
        ("mouse", "click a row, a mark or a tab; a second click is Enter; the wheel scrolls"),
        ("Tab", "to the next list or pane"),
    )),
    ("Going about", (
        ("1 2 3 4", "holders, types, found objects, what refers to what"),
        ("r", "who refers to the object"),
        ("e", "what it refers to"),
        ("g", "the object among the holders"),
        ("Backspace", "back to where you were"),
    )),
    ("Searching", (
        ("/", "a type, a name of an attribute, key or variable, or an address: 0x7f.."),
        ("n  N", "the next, the one before"),
        ("s", "types by bytes, by objects, by name"),
    )),
    ("Else", (("d", "dark or light"), ("?", "these keys; Escape closes them"), ("q", "the end"))),
)  # fmt: skip

WORDS = (
    "The number before an object is what it retains: what would be freed with it. Below it stand the objects that only it "
    "keeps. Where several of them together keep one, that stands beside them, and one path to it is named in italics."
)


class Help(ModalScreen[None]):
    """The help screen on top of the others."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,q,enter", "dismiss", "Close")]

    def compose(self) -> ComposeResult:
        """Compose one scrolling text."""
        with VerticalScroll(id="help"):
            yield Static(Group(*help_lines()))


def help_lines() -> Iterator[RenderableType]:
    """Return all keys, grouped by purpose."""
    for heading, keys in KEYS:
        yield Text(heading, "bold")
        for key, meaning in keys:
            yield Text(f"  {key}", "bold")
            yield Hanging(Text("    "), Text(meaning))
        yield Text("")
    yield Text(WORDS)
