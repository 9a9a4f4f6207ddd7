"""The look of the application: two palettes, and safe styling of names, which may contain anything."""

from __future__ import annotations

from rich.text import Text
from textual.theme import Theme

from gradlife.heap.ownership_links import short_type
from gradlife.heap.views.browsing import HeapNode
from gradlife.model.trace import Part
from gradlife.reports.values import size
from gradlife.visible_text import visible

#: Every colour has a contrast of at least 4.5 on the background, the panel and the cursor.
COLOURS = {
    "gradlife-dark": {
        "ground": "#16181d",
        "panel": "#20242c",
        "cursor": "#2f3b52",
        "text": "#e6e8ec",
        "quiet": "#a3abb8",
        "accent": "#7fb8ff",
        "held": "#5fd0dc",
        "gc": "#e59aef",
        "never": "#ff8f8f",
        "warning": "#f2c063",
    },
    "gradlife-light": {
        "ground": "#fbfbfa",
        "panel": "#eeeff1",
        "cursor": "#d5e3f7",
        "text": "#1d2026",
        "quiet": "#535b69",
        "accent": "#0b4fa0",
        "held": "#00606b",
        "gc": "#8a1f96",
        "never": "#b3141c",
        "warning": "#7a4a00",
    },
}
DARK, LIGHT = COLOURS

#: Below this many columns rows are shortened.
NARROW = 60

#: Most characters of a name.
MAX_LETTERS = 400


def themes() -> list[Theme]:
    """Return the two palettes as Textual themes."""
    return [
        Theme(
            name=name,
            dark=name == DARK,
            primary=colours["accent"],
            accent=colours["accent"],
            warning=colours["warning"],
            error=colours["never"],
            foreground=colours["text"],
            background=colours["ground"],
            surface=colours["panel"],
            panel=colours["panel"],
            variables={
                "quiet": colours["quiet"],
                "cursor-ground": colours["cursor"],
                "footer-background": colours["panel"],
                "footer-key-foreground": colours["accent"],
                "footer-description-foreground": colours["text"],
                "input-cursor-background": colours["text"],
                "scrollbar": colours["cursor"],
                "scrollbar-background": colours["panel"],
                "text-muted": colours["quiet"],
                "text-disabled": colours["quiet"],
            },
        )
        for name, colours in COLOURS.items()
    ]


def styles_of(theme: str) -> dict[Part, str]:
    """Return styles for the parts of a trace."""
    colours = COLOURS.get(theme, COLOURS[DARK])
    return {
        Part.PLAIN: "",
        Part.TITLE: "bold",
        Part.HELD: f"bold {colours['held']}",
        Part.GC: f"bold {colours['gc']}",
        Part.NEVER: f"bold {colours['never']}",
        Part.UNKNOWN: "bold",
        Part.SUSPECT: f"underline {colours['never']}",
        Part.NOTE: colours["quiet"],
        Part.WARNING: colours["warning"],
    }


def printable(text: str) -> str:
    """Escape characters that move the cursor, change text direction or start an escape sequence."""
    text = text if len(text) <= MAX_LETTERS else text[:MAX_LETTERS] + "..."
    return visible(text)


def title(row: HeapNode) -> str:
    """Format an object in a few words."""
    return printable(f"{short_type(row.type)} {row.detail}".strip())


def row_text(row: HeapNode, quiet: str, accent: str, width: int) -> Text:
    """Return the reference and the type of an object; the type first if the object above does not refer to it directly."""
    via = row.via if width >= NARROW else row.via.rpartition(" variable ")[2]
    what = Text.assemble((printable(short_type(row.type)), "bold"), f" {printable(row.detail)}".rstrip())
    if row.kind not in {"python", "root"}:
        what.append(f"  {row.kind}", quiet)
    if not via:
        return what
    if row.is_shared:
        return Text.assemble(what, "  ", (printable(via), f"italic {quiet}"))
    return Text.assemble((printable(via), accent), "  ", what)


def numbers(row: HeapNode, total: int, width: int) -> str:
    """Return the retained size and, if there is room, its share of all bytes."""
    retained = f"{size(row.retained or row.bytes):>8}"
    share = f"{100 * row.retained / total:4.0f}%" if total and row.retained >= total / 200 else ""
    return f"{retained} {share:5}" if width >= NARROW else retained
