"""The width of text, estimated without a font. Estimates are too wide, so text that fits here fits on the page."""

from __future__ import annotations

import unicodedata

#: Widths of letters as a fraction of the font size.
SLIM = dict.fromkeys("ijlft.,:;'|!()[]{} `Ir-", 0.38)
BROAD = dict.fromkeys("mwMWGOQ@%_ABCDEHKNRUXVY&", 0.8)
WIDTHS = {**SLIM, **BROAD, "W": 0.98, "@": 1.05, "m": 0.9, "M": 0.92, "%": 0.95, "w": 0.82}
COMMON, DOUBLE, NONE = 0.62, 1.1, 0.0
ELLIPSIS = "…"


def letter_width(letter: str) -> float:
    """Return the width of one letter as a fraction of the font size."""
    known = WIDTHS.get(letter)
    if known is not None:
        return known
    if letter.isascii():
        return COMMON
    if unicodedata.combining(letter):
        return NONE
    return DOUBLE if unicodedata.east_asian_width(letter) in "WFA" or ord(letter) > 0xFFFF else 0.8


def width_of(text: str, size: float) -> float:
    """Return the width of a text in pixels."""
    return size * sum(map(letter_width, text))


def fitted(text: str, room: float, size: float) -> str:
    """Return the text, or its beginning and an ellipsis; empty if there is room for fewer than three letters."""
    if width_of(text, size) <= room:
        return text
    left, kept = room - width_of(ELLIPSIS, size), ""
    for letter in text:
        left -= size * letter_width(letter)
        if left < 0:
            break
        kept += letter
    return kept.rstrip() + ELLIPSIS if len(kept) >= 3 else ""
