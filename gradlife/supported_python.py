"""Which interpreters gradlife refuses when it is imported, and why.

Older and newer ones than those that it is built for are let through: stories run in them, without the compiled part.
"""

from __future__ import annotations

import sys

#: The first and last version that the compiled part is built for.
OLDEST, NEWEST = (3, 11), (3, 15)

#: The first release of 3.14 whose collector keeps its objects as 3.13 and 3.15 do.
FIRST_OF_3_14 = (3, 14, 5)


def objection() -> tuple[str, str]:
    """Return why this interpreter is refused, and what to use instead; two empty texts if it is not."""
    version = sys.version_info[:3]
    name = ".".join(map(str, version))
    if "t" in getattr(sys, "abiflags", ""):
        ordinary = f"the ordinary build of Python {version[0]}.{version[1]}"
        return f"Python {name} is free-threaded, and gradlife reads objects under the interpreter lock", ordinary
    if (3, 14) <= version < FIRST_OF_3_14:
        return f"Python {name} has a collector that gradlife cannot read", "Python 3.14.5 or later, or 3.13"
    return "", ""
