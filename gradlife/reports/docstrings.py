"""Story texts from docstrings, rewrapped for the width of a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from gradlife.reports.layout import Hanging

BULLET = re.compile(r"(?:[-*•]|\d+[.)]?) +")
NUMBER = re.compile(r"\d")

#: A paragraph with this indentation is code and is not rewrapped.
CODE_INDENT = 4


def folded_prose(text: str, margin: int = 2) -> Iterator[RenderableType]:
    """Rewrap paragraphs and list items, each with a hanging indent; leave code as it is."""
    paragraphs = re.split(r"\n\s*\n", text.strip("\n")) if text.strip() else []
    for number, paragraph in enumerate(paragraphs):
        if number:
            yield Text("")
        for indent, line in meant_lines(paragraph):
            bullet = BULLET.match(line)
            lead = " " * (margin + indent) + (bullet.group() if bullet else "")
            yield Hanging(Text(lead), Text(line[bullet.end() :] if bullet else line))


def meant_lines(paragraph: str) -> Iterator[tuple[int, str]]:
    """Yield the indentation and text of each logical line: code as it is, an item or a paragraph as one line."""
    physical = [(len(line) - len(line.lstrip()), line.strip()) for line in paragraph.splitlines()]
    if all(depth >= CODE_INDENT for depth, _ in physical) and not BULLET.match(physical[0][1]):
        yield from physical
        return
    indent, text = physical[0]
    for depth, line in physical[1:]:
        if starts_item(line, depth, text, indent):
            yield indent, text
            indent, text = depth, line
        else:
            text += " " + line
    yield indent, text


def starts_item(line: str, depth: int, before: str, indent: int) -> bool:
    """Whether a line begins a list item. A number that happens to begin a wrapped line does not."""
    if not BULLET.match(line):
        return False
    return not NUMBER.match(line) or (BULLET.match(before) is not None and depth <= indent)
