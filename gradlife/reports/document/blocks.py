"""A report as blocks: what it says, once for every format.

A section of a report is a function that returns blocks, and a format is one renderer of them: `document.terminal`,
`formats.markdown.document`, `html.document`. Texts in blocks are plain; each renderer escapes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from gradlife.model.trace import Trace
from gradlife.reports.document.tables import Table

#: Widths of drawings for a wide page and for a narrow one, in pixels.
WIDE, NARROW = 640.0, 330.0
#: What a text is about. A format that has no colours leaves it out.
Tone = Literal["", "good", "bad", "note", "held", "quiet", "title"]


@dataclass(frozen=True)
class Span:
    """A part of a sentence that has a tone, is code, or links to an address."""

    text: str
    tone: Tone = ""
    is_code: bool = False
    link: str = ""


#: A sentence, whole or in parts.
Words = str | Span | tuple[str | Span, ...]


def spans(words: Words) -> list[Span]:
    """Return the parts of a sentence."""
    parts = words if isinstance(words, tuple) else (words,)
    return [Span(part) if isinstance(part, str) else part for part in parts]


def plain_words(words: Words) -> str:
    """Return a sentence without tones."""
    return "".join(span.text for span in spans(words))


@dataclass(frozen=True)
class Paragraph:
    """Sentences, after a word or two that say what they are about."""

    words: Words
    lead: str = ""
    tone: Tone = ""


@dataclass(frozen=True)
class Facts:
    """Names with their values, one below the other."""

    rows: tuple[tuple[str, Words], ...]
    tone: Tone = ""


@dataclass(frozen=True)
class Item:
    """An item of a list, after a sign or a word."""

    words: Words
    mark: str = ""
    lead: str = ""
    tone: Tone = ""  # of the mark, or of the words if there is no mark
    below: tuple[str, ...] = ()  # sentences with details


@dataclass(frozen=True)
class List:
    """Sentences that stand for themselves; without one, nothing is shown."""

    items: tuple[Item, ...]


@dataclass(frozen=True)
class TraceBlock:
    """The path from a root to what it keeps alive."""

    trace: Trace
    title: str = "Who holds it"
    is_leak: bool = True  # whether the trace is one of a leak: its last object should be gone


@dataclass(frozen=True)
class Code:
    """Lines of Python."""

    text: str


@dataclass(frozen=True)
class Diff:
    """A change of source: lines with their signs, or a unified diff."""

    text: str


@dataclass(frozen=True)
class Commands:
    """Commands to type, each with its purpose."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Series:
    """A chart of sums: the additions and steps of each round. `format_sum` formats a sum."""

    name: str
    steps: Sequence[int]
    added: Sequence[float]
    format_sum: Callable[[float], str]
    tone: str = "bad"

    @property
    def points(self) -> list[tuple[float, float]]:
        """Return steps so far and the sum of additions so far, starting at zero."""
        return [(0.0, 0.0), *zip(accumulate(self.steps), accumulate(self.added), strict=True)]


@dataclass(frozen=True)
class Charts:
    """Charts side by side. Only pages show them."""

    series: tuple[Series, ...]


@dataclass(frozen=True)
class Drawing:
    """A drawing for a width in pixels, and what to know about it. Only pages show it."""

    draw: Callable[[float], str]
    caption: str = ""
    wide: float = WIDE  # on a wide page; on a narrow one it is NARROW
    legend: tuple[tuple[str, str], ...] = ()  # the CSS class of a colour, and its meaning


@dataclass(frozen=True)
class Bar:
    """A named bar, drawn already."""

    key: str  # its address within a page
    colour: str  # CSS class
    name: str
    place: str
    amount: str
    bar: str


@dataclass(frozen=True)
class Bars:
    """Bars, made when a page shows them, and the meanings of their parts by CSS class."""

    make: Callable[[], tuple[Bar, ...]]
    caption: str
    legend: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Summary:
    """The first screen of a report, made when a page shows it. The terminal has its own."""

    make: Callable[[], tuple[Block, ...]]


@dataclass(frozen=True)
class Card:
    """One of several things of a kind: a finding, a saving."""

    number: int
    title: Words
    blocks: tuple[Block, ...]
    kind: str = ""  # "Problem 1 of 3"
    code: str = ""  # "GL402"
    facts: str = ""  # its figures in one line
    tone: Tone = "bad"
    key: str = ""  # its address within a page


@dataclass(frozen=True)
class Section:
    """Blocks under a title. A format that shows none of them leaves the section out."""

    title: str
    blocks: tuple[Block, ...]
    key: str = ""  # its address within a page
    is_folded: bool = False  # in Markdown, which has little room, it opens on a click


Block = (
    Paragraph
    | Facts
    | List
    | Table
    | TraceBlock
    | Code
    | Diff
    | Commands
    | Charts
    | Drawing
    | Bars
    | Summary
    | Card
    | Section
)


@dataclass(frozen=True)
class Document:
    """A whole report: the verdict on a target, if there is one, then sections."""

    title: str  # of a page
    tool: str  # "gradlife peak"
    verdict: str
    tone: Tone
    target: str
    headline: str
    head: tuple[Block, ...]
    sections: tuple[Section, ...]
    styles: str = ""  # the name of its own style sheet and script in a page
