"""The questions asked of other tools, each as in its manual."""

from __future__ import annotations

import gc
import importlib
import os
import sys
import tempfile
from collections import Counter
from typing import Any

import torch

from benchmarks.heap.ask_gradlife import change_heap
from benchmarks.heap.questions import Answer, Questions, Targets
from benchmarks.heap.synthetic import APART, HEAP, Node

PEERS = Questions()


def installed(name: str) -> Any:
    return importlib.import_module(name)


def heap_of_guppy() -> Any:
    return installed("guppy").hpy()


def is_whole(chain: list[Any], target: Any) -> bool:
    return any(chain[i] is target for i in (0, -1)) and any(link is HEAP or link is vars(HEAP) for link in chain[:3])


@PEERS.ask("standard library: types", "python")
def _(targets: Targets) -> Answer:
    return Answer(f"Node {Counter(map(type, gc.get_objects()))[Node]:,}")


@PEERS.ask("objgraph: types", "objgraph")
def _(targets: Targets) -> Answer:
    return Answer(f"Node {installed('objgraph').typestats()['Node']:,}")


@PEERS.ask("guppy3: types and bytes", "guppy", is_slow=True)
def _(targets: Targets) -> Answer:
    found = heap_of_guppy().heap()
    first = str(found.bytype[0]).splitlines()[2].strip()
    return Answer(f"{found.count:,} objects, {found.size:,} bytes, first {first}")


@PEERS.ask("objgraph: changes", "objgraph")
def _(targets: Targets) -> Answer:
    objgraph = installed("objgraph")
    peak: dict[str, int] = {}
    objgraph.growth(peak_stats=peak, limit=None)
    change_heap()
    rows = objgraph.growth(peak_stats=peak, limit=None)
    shown = {name: new for name, _, new in rows}
    return Answer(f"{shown}", shown == {"Node": 100, "Tensor": 7})


def ask_paths(kind: str) -> None:
    @PEERS.ask(f"objgraph: why, {kind}", "objgraph", is_slow=kind == "bushy")
    def _(targets: Targets) -> Answer:
        objgraph, target = installed("objgraph"), targets[kind]()
        chain = objgraph.find_backref_chain(target, objgraph.is_proper_module, max_depth=30)
        return Answer(f"{len(chain)} objects", is_whole(chain, target))

    @PEERS.ask(f"guppy3: why, {kind}", "guppy", is_slow=True)
    def _(targets: Targets) -> Answer:
        text = str(heap_of_guppy().iso(targets[kind]()).shpaths)  # a local variable would be its answer
        return Answer(text.splitlines()[0] if text else "nothing", "HEAD" in text)


for each in ("chain", "bushy", "saved", "ctx"):
    ask_paths(each)


@PEERS.ask("guppy3: retained", "guppy", is_slow=True)
def _(targets: Targets) -> Answer:
    return Answer(f"{heap_of_guppy().iso(HEAP.REGIONS[APART]).domisize:,} bytes of one object")


@PEERS.ask("refcycle: components", "refcycle", is_slow=True)
def _(targets: Targets) -> Answer:
    parts = installed("refcycle").snapshot().strongly_connected_components()
    return Answer(f"{sum(len(part) > 1 for part in parts):,}")


@PEERS.ask("refcycle: file", "refcycle", is_slow=True)
def _(targets: Targets) -> Answer:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "heap.json")
        found = installed("refcycle").snapshot()
        found.export_json(path)
        return Answer(f"{os.path.getsize(path) / 1e6:,.0f} MB, {os.path.getsize(path) / len(found):.0f} an object")


assert sys.modules["torch"] is torch
