"""The engine's ownership balance: each live object has exactly the owners that other live objects and its wrapper
report.
"""

from __future__ import annotations

import gc
import importlib
from collections import Counter
from typing import Any

KINDS = ("tensor", "storage", "node")  # kinds that the live graph lists individually
UNLISTED = ("rewrap",)  # identities with any number of wrappers, which the object does not know


def settle(engine: Any) -> None:
    """Collect, and release what a failed backward left in the queue; the next backward does that."""
    with engine.profile("torch-2.13"):
        engine.tensor(1.0, requires_grad=True).backward()
    gc.collect()


def imbalances(engine: Any) -> list[str]:
    """Check the owner counts: too many owners, too few, or a live count that is not the number of objects.

    An owner that is counted but does not exist keeps an object alive for ever; one that is not counted lets it be
    freed too soon. Cost: one pass over all live engine objects.
    """
    rows = importlib.import_module("gradlife._engine")._live_graph()
    admitted = Counter(
        number for row in rows for _, ownership, number, *_ in row[7] if ownership == "strong" and number is not None
    )
    live, listed = engine.live_counts(), Counter(row[1] for row in rows)
    found = []
    for number, kind, name, strong, _, identity, wrapper, _ in rows:
        if kind == "node" and live["block"]:
            continue  # up to 1.1 control blocks stand between a node and its owners; each counts separately
        known = admitted[number] + (1 if wrapper is not None and wrapper[3] == "strong" else 0)
        if known > strong or (known < strong and identity not in UNLISTED):
            found.append(f"{kind} {name}: {strong} owners counted, {known} known")
    return found + [
        f"{live[kind]} {kind}s counted, {listed[kind]} alive" for kind in KINDS if live[kind] != listed[kind]
    ]
