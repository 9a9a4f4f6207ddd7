"""Words of a program as a page shows them: in full, unless they are too long to read."""

from __future__ import annotations

#: Most characters of one name or description on a page.
MAX_LETTERS = 300


def short(text: str, most: int = MAX_LETTERS) -> str:
    """Return the text, or its beginning; lone surrogates, which no file can contain, are replaced."""
    whole = text if len(text) <= most else text[:most] + "…"
    return whole.encode("utf-8", "replace").decode("utf-8")
