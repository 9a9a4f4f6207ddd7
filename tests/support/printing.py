"""Reports printed into a string, at a width, without colour."""

from __future__ import annotations

import io
from collections.abc import Callable

from rich.console import Console, RenderableType

from gradlife.reports.theme import make_console


class AsciiText(io.StringIO):
    """A stream that takes nothing but ASCII."""

    encoding = "ascii"


def printed(
    show: Callable[[Console], object], width: int = 80, ascii_only: bool = False, color: bool | None = None
) -> str:
    """Return what `show` prints to a console of this width."""
    file = AsciiText() if ascii_only else io.StringIO()
    show(make_console(file, width, color))
    return file.getvalue()


def rendered(renderable: RenderableType, width: int = 80, ascii_only: bool = False) -> list[str]:
    """The lines of one renderable."""
    return printed(lambda console: console.print(renderable, end=""), width, ascii_only).splitlines()


def widest(text: str) -> int:
    """The length of the longest line."""
    return max(map(len, text.splitlines()), default=0)
