"""Savings of activation checkpointing per module: saved activations are recomputed at their first backward use."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from gradlife.model.peak.report import Checkpoint
from gradlife.peaks.analysis.looks import Gap
from gradlife.peaks.analysis.savings import Replay
from gradlife.peaks.recording.lifetimes import Recording, Storage, before, within

#: Most rows of the table, and the least saving of a row as a share of the peak.
MAX_ROWS = 8
MIN_SHARE = 0.01

NUMBER = re.compile(r"(?<![^.])\d+(?![^.])")


def checkpoint_table(
    recording: Recording, saved: Sequence[Storage], replay: Replay, seconds: Mapping[str, float]
) -> tuple[Checkpoint, ...]:
    """Return the modules whose checkpointing lowers the peak, best first. ``saved``: activations that graphs hold.

    ``seconds``: forward time of each module in a recorded step; under "" the time of the whole step.
    """
    rows = list(rows_of(recording, saved, replay, seconds))
    best = sorted(rows, key=lambda row: (-row.peak_lower, row.recompute_percent))
    found: dict[tuple[int, int], Checkpoint] = {}
    for row in best:  # of a module and its only child, keep the child, which takes less time to recompute
        found.setdefault((row.saved_bytes, row.peak_lower), row)
    return tuple(found.values())[:MAX_ROWS]


def rows_of(
    recording: Recording, saved: Sequence[Storage], replay: Replay, seconds: Mapping[str, float]
) -> Iterator[Checkpoint]:
    """Yield a row per module; modules whose paths differ only in numbers share one."""
    modules: dict[str, list[Storage]] = defaultdict(list)
    for storage in saved:
        path = recording.operations[storage.birth].context if storage.birth is not None else ""
        for part in prefixes(path):
            modules[part].append(storage)
    families: dict[str, list[str]] = defaultdict(list)
    for path in modules:
        families[NUMBER.sub("*", path)].append(path)
    for family, paths in families.items():
        freed = [gap for path in paths for gap in recomputed(recording, modules[path])]
        lower = replay.peak - replay.peak_if_freed(freed)
        if lower < MIN_SHARE * replay.peak:
            continue
        nbytes = sum(one.sizes[-1][1] for path in paths for one in modules[path])
        share = 100 * sum(seconds.get(path, 0.0) for path in paths) / seconds[""] if seconds.get("") else 0.0
        yield Checkpoint(family if len(paths) > 1 else paths[0], len(paths), nbytes, lower, round(share, 1))


def prefixes(path: str) -> Iterator[str]:
    """Return ``a``, ``a.b``, ``a.b.c`` for ``a.b.c``."""
    parts = path.split(".") if path else []
    return (".".join(parts[: number + 1]) for number in range(len(parts)))


def recomputed(recording: Recording, storages: Sequence[Storage]) -> Iterator[tuple[int, Gap]]:
    """Yield when a module's activations are absent: from their last forward use to the first read by a backward
    pass.
    """
    backward = [[at for at in one.reads if recording.operations[at].in_backward] for one in storages]
    back = min((reads[0] for reads in backward if reads), default=None)
    for storage in storages if back is not None else ():
        forward = [at for at in storage.reads if not recording.operations[at].in_backward]
        last = max([*forward, storage.birth or 0])
        assert back is not None
        if before(last + 1) < within(back):
            yield storage.number, (before(last + 1), before(back))
