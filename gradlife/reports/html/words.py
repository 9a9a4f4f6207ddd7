"""Words of a program as a page shows them: whole, unless they are longer than anybody reads."""

from __future__ import annotations

#: Characters of one name or description that a page shows.
MOST_LETTERS = 300


def short(text: str, most: int = MOST_LETTERS) -> str:
    """The text, or its beginning; halves of characters, which no file can have, are replaced."""
    whole = text if len(text) <= most else text[:most] + "…"
    return whole.encode("utf-8", "replace").decode("utf-8")
