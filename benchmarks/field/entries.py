"""All entries, by area."""

from __future__ import annotations

from benchmarks.field import evaluation, finetuning, internals, notebooks, pipelines, rl, serving
from benchmarks.field.entry import Entry

AREAS: dict[str, tuple[Entry, ...]] = {
    "serving": serving.ENTRIES,
    "pipelines": pipelines.ENTRIES,
    "notebooks": notebooks.ENTRIES,
    "evaluation": evaluation.ENTRIES,
    "rl": rl.ENTRIES,
    "finetuning": finetuning.ENTRIES,
    "internals": internals.ENTRIES,
}
ENTRIES: tuple[Entry, ...] = tuple(entry for entries in AREAS.values() for entry in entries)
