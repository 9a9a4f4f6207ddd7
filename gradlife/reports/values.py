"""Values of readings as text, short for a cell or in full for a note."""

from __future__ import annotations

import json
from itertools import takewhile
from typing import Any

from gradlife.model.comparison import MISSING

#: Most characters of a value in a comparison, and how many of them precede the first difference.
CONTRAST_LIMIT = 100
CONTRAST_LEAD = 40
#: Stands for what is left out.
GAP = "..."
#: Most characters of one name or description on a page.
MAX_LETTERS = 300


def plain(value: Any) -> str:
    """Format a value as text on one line."""
    if value is MISSING:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if value is None or isinstance(value, (int, str)):
        return " ".join(str(value).split()) or '""'
    return json.dumps(value, ensure_ascii=False)


def contrast(one: Any, other: Any) -> tuple[str, str]:
    """Return two values as text; of long ones the part where they begin to differ."""
    texts = plain(one), plain(other)
    if max(map(len, texts)) <= CONTRAST_LIMIT:
        return texts
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))
    start = max(0, alike - CONTRAST_LEAD)
    return excerpt(texts[0], start), excerpt(texts[1], start)


def excerpt(text: str, start: int) -> str:
    """Return an excerpt of a text from a position on."""
    part = text[start : start + CONTRAST_LIMIT]
    return ("..." if start and part else "") + part + ("..." if start + CONTRAST_LIMIT < len(text) else "")


class Notes:
    """Values too long for a cell: each gets a letter, and is shown below."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._letters: dict[str, str] = {}

    def short(self, value: Any) -> str:
        """Return the value itself, or the letter under which it is shown."""
        text = plain(value)
        if len(text) <= self._limit:
            return text
        letter = self._letters.setdefault(text, letters(len(self._letters)))
        return f"({letter})"

    @property
    def lettered(self) -> list[tuple[str, str]]:
        """Yield every letter with its value."""
        return [(f"({letter})", text) for text, letter in self._letters.items()]


def letters(number: int) -> str:
    """Return a, b, ... z, aa, ab, ..."""
    text = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        text = chr(ord("a") + digit) + text
    return text


def short(text: str, most: int = MAX_LETTERS) -> str:
    """Return the text, or its beginning; lone surrogates, which no file can contain, are replaced."""
    whole = text if len(text) <= most else text[:most] + "…"
    return whole.encode("utf-8", "replace").decode("utf-8")


def short_name(name: str) -> str:
    """Return a type without its module or namespace; a storage's with its device."""
    _, is_local, tail = name.rpartition("<locals>.")
    first, blank, device = name.partition(" ")
    if is_local:
        return tail
    return first.rpartition("::")[2] + blank + device if "::" in first else name.rpartition(".")[2]


def counted(count: int, noun: str, many: str = "") -> str:
    """Format a count: 1 story, 2 stories."""
    return f"{count:,} {noun if count == 1 else many or plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural: ranks, processes."""
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def size(nbytes: int) -> str:
    """Format bytes with three figures: 912 B, 1.23 MB."""
    value, units = float(nbytes), ["B", "kB", "MB", "GB", "TB", "PB", "EB"]
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{nbytes} B" if units[0] == "B" else f"{value:.3g} {units[0]}"
