"""How much larger a figure may be: a share of it, or a size."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: The prefixes of units, each a thousand times the one before.
PREFIXES = ("", "k", "m", "g", "t")

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


def bytes_of(text: str, thousand: int = 1000) -> int:
    """Parse ``1.2 GB`` or ``0 B``; ``1 GiB`` is always binary. ``thousand`` is 1024 where limits of memory are meant, which
    systems count so. Raises ValueError.
    """
    found = SIZE.fullmatch(text.lower())
    if found is None:
        raise ValueError(f"{text!r} is no size")
    base = 1024 if found[2].endswith("i") else thousand
    return int(float(found[1]) * base ** PREFIXES.index(found[2].removesuffix("i")))


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
