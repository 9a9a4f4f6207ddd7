"""Durations as people write them: ``10 min``."""

from __future__ import annotations

import re

from gradlife.errors import UsageError

UNITS = {
    "": 1,
    **dict.fromkeys(("s", "sec", "second"), 1),
    **dict.fromkeys(("m", "min", "minute"), 60),
    **dict.fromkeys(("h", "hour"), 3600),
    **dict.fromkeys(("d", "day"), 86_400),
}


def seconds_of(words: str | float) -> float:
    """Return a duration such as ``90``, ``90s``, ``10 min`` or ``2 hours`` in seconds; UsageError for anything else."""
    if not isinstance(words, str):
        if not words > 0:
            raise UsageError(f"{words!r} is no time", "every='10 min'")
        return float(words)
    found = re.fullmatch(r"([0-9]{1,6}) ?([a-z]*)", words.strip())
    unit = (
        found[2]
        if found is not None and found[2] in UNITS
        else found[2].removesuffix("s")
        if found is not None
        else "?"
    )
    if found is None or int(found[1]) == 0 or unit not in UNITS:
        raise UsageError(f"{words!r} is no time", "90s, 10min, 2h")
    return float(int(found[1]) * UNITS[unit])
