"""Round numbers on an axis."""

from __future__ import annotations

import math
import sys


def ticks(least: float, most: float, wanted: int = 4) -> list[float]:
    """Return round numbers, steps of 1, 2 or 5 apart, from at or below `least` to at or above `most`."""
    if not (math.isfinite(least) and math.isfinite(most)) or most <= least:
        return [0.0, 1.0]
    step = round_step(max((most - least) / wanted, sys.float_info.min))
    first, last = math.floor(least / step + 1e-9), math.ceil(most / step - 1e-9)
    return [number * step for number in range(first, max(last, first + 1) + 1)]


def round_step(least: float) -> float:
    """Return the first of 1, 2, 5, 10, 20 and so on that is not less."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(part * power for part in (1.0, 2.0, 5.0, 10.0) if part * power >= least * (1 - 1e-9))
