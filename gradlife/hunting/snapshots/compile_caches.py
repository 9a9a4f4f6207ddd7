"""The caches of torch.compile: recompilations of known functions are bounded, new functions are not."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from gradlife.safe_access import loaded


@dataclass(frozen=True)
class Compiled:
    """The contents of the compile caches at one snapshot."""

    functions: int = 0
    versions: int = 0  # over all functions


def compiled_now() -> Compiled:
    """Read torch's own lists; empty if nothing is compiled or this release has other lists."""
    convert = loaded("torch._dynamo.convert_frame")
    codes = getattr(getattr(convert, "input_codes", None), "seen_ids", None)
    outputs = getattr(getattr(convert, "output_codes", None), "seen", None)
    return Compiled(len(codes), len(outputs)) if codes is not None and outputs is not None else Compiled()


def is_bounded(snapshots: Sequence[Compiled]) -> bool:
    """Whether every round compiled a new version, and none compiled a new function."""
    grows = all(before.versions < after.versions for before, after in itertools.pairwise(snapshots))
    return len(snapshots) > 1 and grows and snapshots[-1].functions <= snapshots[0].functions
