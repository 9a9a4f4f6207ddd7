"""Python code in a report, in terminal colours that are readable on black and on white."""

from __future__ import annotations

import keyword
import re

from rich.text import Text

from gradlife.reports.theme import GOOD, NOTE, QUIET

STYLES = {"string": GOOD, "comment": QUIET, "keyword": NOTE, "number": "cyan"}
PARTS = re.compile(
    r"""(?P<string>[rbfRBF]{0,2}(?:'''.*?'''|\"\"\".*?\"\"\"|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"))"""
    r"|(?P<comment>\#[^\n]*)"
    rf"|(?P<keyword>\b(?:{'|'.join(keyword.kwlist)})\b)"
    r"|(?P<number>\b\d[\d_.]*(?:e-?\d+)?\b)",
    re.DOTALL,
)


def coloured(code: str) -> list[Text]:
    """Return the coloured lines of Python code."""
    text = Text(code.strip("\n").expandtabs(4))
    for found in PARTS.finditer(text.plain):
        text.stylize(STYLES[found.lastgroup or "string"], *found.span())
    return [*text.split("\n", allow_blank=True)]
