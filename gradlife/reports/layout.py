"""Small renderables that rich lacks."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from gradlife.reports.values import GAP

#: Fewest columns of a text.
MIN_TEXT = 16


@dataclass(frozen=True)
class Hanging:
    """A lead-in, and a text that stays to the right of it when it wraps. No line ends with blanks.

    `below` replaces the lead-in on further lines, padded to its width; by default blanks.
    """

    lead: Text
    text: Text
    below: Text | None = None

    @property
    def plain(self) -> str:
        """The whole as one line without styles."""
        return self.lead.plain + self.text.plain

    def after(self, indent: Text) -> Hanging:
        """The same, further to the right."""
        return Hanging(Text.assemble(indent, self.lead), self.text, self.below)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        indent = self.lead.cell_len
        width = max(MIN_TEXT, options.max_width - indent)
        lead = self.lead
        for line in self.text.wrap(console, width, overflow="fold"):
            whole = Text.assemble(lead, line, no_wrap=True)
            whole.rstrip()
            yield whole
            lead = Text(" " * indent) if self.below is None else self.below


def middle_out(text: str, width: int) -> str:
    """Return a text on one line, its middle replaced by dots where it has no room."""
    if cell_len(text) <= width:
        return text
    end = set_cell_size(text[::-1], width // 2)[::-1]
    return f"{set_cell_size(text, max(0, width // 2 - len(GAP)))}{GAP}{end}"
