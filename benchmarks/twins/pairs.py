"""All pairs, by area."""

from __future__ import annotations

from benchmarks.twins import caches, flows, graphs, histories, objects, replay, text, training
from benchmarks.twins.pair import Pair

AREAS: dict[str, tuple[Pair, ...]] = {
    "replay": replay.PAIRS,
    "caches": caches.PAIRS,
    "histories": histories.PAIRS,
    "graphs": graphs.PAIRS,
    "training": training.PAIRS,
    "text": text.PAIRS,
    "flows": flows.PAIRS,
    "objects": objects.PAIRS,
}
PAIRS: tuple[Pair, ...] = tuple(pair for pairs in AREAS.values() for pair in pairs)
