"""How much larger a figure may be: a share of it, or a size."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Decimal units, as reports print sizes, and binary ones.
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}

SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*((?:[kmgt]i?)?)b?")
PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,15})?)\s*%")


@dataclass(frozen=True)
class Threshold:
    """A share in per cent, or a size in bytes."""

    percent: float | None = None
    nbytes: int = 0

    def allowed_bytes(self, figure: int) -> int:
        """Return by how many bytes a figure may be exceeded."""
        return self.nbytes if self.percent is None else int(figure * self.percent / 100)


def bytes_of(text: str) -> int:
    """Parse ``1.2 GB`` or ``0 B``. Raises ValueError."""
    found = SIZE.fullmatch(text.lower())
    if found is None:
        raise ValueError(f"{text!r} is no size")
    return int(float(found[1]) * UNITS[found[2]])


def percent_of(text: str) -> float:
    """Parse ``5 %``. Raises ValueError."""
    found = PERCENT.fullmatch(text)
    if found is None or float(found[1]) > 100:
        raise ValueError(f"{text!r} is no percentage")
    return float(found[1])


def threshold_of(text: str) -> Threshold:
    """Parse ``5%``, ``5`` (per cent) or ``200MB``. Raises ValueError."""
    if re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", text):
        text += "%"
    return Threshold(percent_of(text)) if text.endswith("%") else Threshold(nbytes=bytes_of(text))
