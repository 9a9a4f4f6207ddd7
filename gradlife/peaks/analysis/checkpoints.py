"""Estimate for each module how much lower the peak would be with activation checkpointing.

A checkpointed module frees its activations after the forward pass and computes them again when the backward pass first
reads one of them. What other code reads in the forward pass stays, such as the module's output: the next module saves it,
or keeps it as its input if it is checkpointed, too.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from gradlife.model.peak.report import Checkpoint
from gradlife.peaks.analysis.holder_snapshots import Gap
from gradlife.peaks.analysis.savings import Replay
from gradlife.peaks.recording.lifetimes import OPTIMIZER, Recording, Storage, tick_before

#: The table has at most so many rows, and only rows that save at least this share of the peak.
MAX_ROWS = 8
MIN_SHARE = 0.01

#: A number between the dots of a module path: `layers.3.mlp`.
NUMBER = re.compile(r"(?<![^.])\d+(?![^.])")


def checkpoint_table(
    recording: Recording, saved: Sequence[Storage], replay: Replay, seconds: Mapping[str, float]
) -> tuple[Checkpoint, ...]:
    """Return the modules whose checkpointing lowers the peak, the largest saving first.

    ``saved``: the activations that autograd graphs hold. ``seconds``: the forward time of each module in a recorded
    step, and under "" the time of the whole step. ``replay`` computes the peak without some storages.
    """
    rows = list(rows_of(recording, saved, replay, seconds))
    # `peak_lower` is the number of bytes by which the peak falls
    best = sorted(rows, key=lambda row: (-row.peak_lower, row.recompute_percent, -len(row.module)))
    found: list[Checkpoint] = []
    for row in best:  # a module and its only child save the same; the child is recomputed faster, so it comes first
        if not any(has_child_that_saves_the_same(row, other) for other in found):
            found.append(row)
    return tuple(found[:MAX_ROWS])


def has_child_that_saves_the_same(row: Checkpoint, child: Checkpoint) -> bool:
    """Whether a module has the other one in it, and all its activations are those of the other."""
    is_inside = not row.module or child.module.startswith(f"{row.module}.")
    return is_inside and (row.saved_bytes, row.peak_lower) == (child.saved_bytes, child.peak_lower)


def rows_of(
    recording: Recording, saved: Sequence[Storage], replay: Replay, seconds: Mapping[str, float]
) -> Iterator[Checkpoint]:
    """Yield a row for each module, and only one for modules whose paths differ in numbers alone: `layers.*.mlp`."""
    modules: dict[str, list[Storage]] = defaultdict(list)
    for storage in saved:
        module_path = recording.operations[storage.birth].context if storage.birth is not None else ""
        for part in prefixes(module_path):
            if not is_read_outside(recording, storage, part):
                modules[part].append(storage)
    families: dict[str, list[str]] = defaultdict(list)
    for path in modules:
        families[NUMBER.sub("*", path)].append(path)
    for family, paths in families.items():
        freed = [gap for path in paths for gap in checkpoint_gaps(recording, modules[path])]
        lower = replay.peak - replay.peak_if_freed(freed)
        if lower < MIN_SHARE * replay.peak:
            continue
        nbytes = sum(one.final_bytes for path in paths for one in modules[path])
        share = 100 * sum(seconds.get(path, 0.0) for path in paths) / seconds[""] if seconds.get("") else 0.0
        yield Checkpoint(family if len(paths) > 1 else paths[0], len(paths), nbytes, lower, round(share, 1))


def is_read_outside(recording: Recording, storage: Storage, path: str) -> bool:
    """Whether a forward pass reads a storage outside of a module."""
    readers = (recording.operations[at] for at in storage.reads)
    return any(not one.in_backward and not f"{one.context}.".startswith(f"{path}.") for one in readers)


def prefixes(path: str) -> Iterator[str]:
    """Return ``a``, ``a.b``, ``a.b.c`` for ``a.b.c``; nothing for what no module runs."""
    parts = path.split(".") if path and path != OPTIMIZER else []
    return (".".join(parts[: number + 1]) for number in range(len(parts)))


def checkpoint_gaps(recording: Recording, storages: Sequence[Storage]) -> Iterator[tuple[int, Gap]]:
    """Yield each activation of a module, by its storage number, and when checkpointing would free it and need it again.

    An activation would be freed after its last use in the forward pass, until the backward pass first reads any of the
    activations. Times are ticks: an activation that operation 5 uses last would be freed at the tick before operation 6.
    """
    backward = [at for one in storages for at in one.reads if recording.operations[at].in_backward]
    if not backward:
        return
    first_read = min(backward)
    for storage in storages:
        forward = [at for at in storage.reads if not recording.operations[at].in_backward]
        last_use = max([*forward, storage.birth or 0])
        if last_use < first_read:
            yield storage.number, (tick_before(last_use + 1), tick_before(first_read))
