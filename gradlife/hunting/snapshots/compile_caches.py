"""What torch.compile adds to its caches while a program runs: new versions of old functions have an end, new functions none."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Compiled:
    """What there was at a look."""

    functions: int = 0
    versions: int = 0  # of all functions


def compiled_now() -> Compiled:
    """By torch's own lists; nothing where it compiles nothing, or this release has other lists."""
    convert = sys.modules.get("torch._dynamo.convert_frame")
    codes = getattr(getattr(convert, "input_codes", None), "seen_ids", None)
    outputs = getattr(getattr(convert, "output_codes", None), "seen", None)
    return Compiled(len(codes), len(outputs)) if codes is not None and outputs is not None else Compiled()


def is_bounded(looks: Sequence[Compiled]) -> bool:
    """Was there, in every round between these looks, a new version, and in all of them no new function?"""
    grows = all(before.versions < after.versions for before, after in itertools.pairwise(looks))
    return len(looks) > 1 and grows and looks[-1].functions <= looks[0].functions
