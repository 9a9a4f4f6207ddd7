"""The questions asked of gradlife, each from a cold start."""

from __future__ import annotations

import gc
import os
import statistics
import sys
import tempfile
import time
from typing import Any

import torch

import gradlife
from benchmarks.heap.questions import Answer, Questions, Targets
from benchmarks.heap.synthetic import APART, HEAP, MODULE, Link, Node
from gradlife import _heap
from gradlife.heap import scan
from gradlife.heap.scan import OWN_FOLDER
from gradlife.heap.torch_layout.torch import ensure_calibrated
from gradlife.model.heap import TypeChange
from gradlife.model.trace import Lifetime, PathStep, Trace

GRADLIFE = Questions()
KEPT: list[Any] = []

#: What a target's path must show: its first variable, and a word of the target's holder.
WAYS = {
    "chain": ("CHAIN_HEAD", "tuple"),
    "bushy": ("BUSHY_HEAD", "tuple"),
    "saved": ("LOSSES", "SinBackward0"),
    "ctx": ("CUSTOM", "SquareBackward"),
}
CHAIN_STEPS = 12


def walk(*, sizes: bool = False) -> _heap.Graph:
    ensure_calibrated()
    return _heap.walk(sizes=sizes, hidden_sources=OWN_FOLDER)


def change_heap() -> None:
    KEPT.extend(Node(i) for i in range(100))
    KEPT.extend(torch.zeros(3) for _ in range(7))


@GRADLIFE.ask("graph", "gradlife")
def _(targets: Targets) -> Answer:
    graph = walk()
    text = f"{graph.node_count:,} nodes, {graph.edge_count:,} references"
    return Answer(text, numbers={"nodes": graph.node_count, "edges": graph.edge_count})


@GRADLIFE.ask("types", "gradlife")
def _(targets: Targets) -> Answer:
    count = next(row.count for row in gradlife.census().types() if row.type == f"{MODULE}.Node")
    return Answer(f"Node {count:,}", count == HEAP.NODE_COUNT)


@GRADLIFE.ask("types and bytes", "gradlife")
def _(targets: Targets) -> Answer:
    rows = gradlife.snapshot(labels=False).types()
    row = next(row for row in rows if row.type == f"{MODULE}.Node")
    is_right = row.count == HEAP.NODE_COUNT
    return Answer(f"Node {row.count:,}, {row.bytes:,} bytes; all {sum(each.bytes for each in rows):,}", is_right)


@GRADLIFE.ask("changes", "gradlife")
def _(targets: Targets) -> Answer:
    before = gradlife.census()
    change_heap()
    changes = before.changes()
    shown = {row.type.rpartition(".")[2]: row.new - row.gone for row in changes.types}
    return Answer(f"{shown}", shown == {"Node": 100, "Tensor": 7} and all(map(has_new_objects, changes.types)))


def has_new_objects(row: TypeChange) -> bool:
    return bool(row.examples) and {example.address for example in row.examples} <= set(map(id, KEPT))


def ask_why(kind: str) -> None:
    @GRADLIFE.ask(f"why, {kind}", "gradlife")
    def _(targets: Targets) -> Answer:
        trace = gradlife.why(targets[kind]())
        return Answer(way_text(trace), is_right_way(trace, kind))


def way_text(trace: Trace) -> str:
    return " → ".join(f"{step.object} {step.via}".strip() for step in (*trace.steps[:2], *trace.steps[-2:]))


def is_right_way(trace: Trace, kind: str) -> bool:
    first, last = WAYS[kind]
    steps = trace.steps
    is_whole = kind not in {"chain", "bushy"} or len(steps) == CHAIN_STEPS
    return trace.lifetime is Lifetime.HELD and first in steps[0].via and last in steps[-2].object and is_whole


for each in WAYS:
    ask_why(each)


@GRADLIFE.ask("why, further targets", "gradlife")
def _(targets: Targets) -> Answer:
    frozen = gradlife.snapshot()
    first = frozen.why(id(targets["chain"]()))
    others = [HEAP.REGIONS[i].nodes[-1 - i] for i in range(10)] + HEAP.HOOKED[:5] + HEAP.LOSSES[:5]
    seconds = []
    for other in (*others, targets["saved"](), targets["ctx"](), targets["bushy"]()):
        started = time.process_time()
        held = frozen.why(id(other)).lifetime is Lifetime.HELD
        seconds.append(time.process_time() - started)
        assert held
    worst = max(seconds) * 1000
    text = f"{len(seconds)} targets, {statistics.median(seconds) * 1000:.2f} ms each, {worst:.2f} at most"
    return Answer(text, is_right_way(first, "chain"), {"milliseconds": worst})


@GRADLIFE.ask("retained", "gradlife")
def _(targets: Targets) -> Answer:
    graph = walk(sizes=True)
    node = graph.find(id(HEAP.REGIONS[APART]))
    assert node is not None
    return Answer(f"{graph.retained(node):,} bytes", numbers={"nodes": graph.node_count})


@GRADLIFE.ask("components", "gradlife")
def _(targets: Targets) -> Answer:
    parts = walk().components(1)
    links = sum(count for count, _ in parts)
    return Answer(f"{len(parts):,} with {links:,} objects", len(parts) > 500)


@GRADLIFE.ask("cycles explained", "gradlife")
def _(targets: Targets) -> Answer:
    gc.disable()  # otherwise it frees them
    cycles = gradlife.snapshot(labels=False).cycles(1_000_000)
    garbage = [cycle for cycle in cycles if cycle.lifetime is Lifetime.GC and is_planted(cycle.steps)]
    return Answer(f"{len(cycles):,}, {len(garbage)} of the 500 planted", len(garbage) == 500)


def is_planted(steps: tuple[PathStep, ...]) -> bool:
    return any(step.object == Link.__name__ for step in steps)


def ask_file(name: str, *, labels: bool) -> None:
    @GRADLIFE.ask(name, "gradlife")
    def _(targets: Targets) -> Answer:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "heap.glheap")
            frozen = gradlife.snapshot(labels=labels)
            frozen.save(path)
            bytes_ = os.path.getsize(path)
        nodes = frozen.objects
        return Answer(
            f"{bytes_ / 1e6:,.1f} MB, {bytes_ / nodes:.1f} a node", numbers={"bytes_per_node": bytes_ / nodes}
        )


ask_file("file", labels=True)
ask_file("file without labels", labels=False)


@GRADLIFE.ask("native scan, pass", "gradlife")
def _(targets: Targets) -> Answer:
    addresses = [id(node) for node in HEAP.REGIONS[APART].nodes[:1000]]
    numbers: dict[str, float] = {}
    for count in (1, 30, 1000):
        numbers[f"ratio_{count}"] = pass_ratio(addresses[:count])
    megabytes, _, seconds = _heap._search_memory(None)
    text = ", ".join(f"{key.removeprefix('ratio_')}: {value:.2f}" for key, value in numbers.items())
    return Answer(f"{megabytes / 1e6:,.0f} MB read in {seconds * 1000:.0f} ms; {text}", None, numbers)


def pass_ratio(addresses: list[int], turns: int = 5) -> float:
    """Time the search over a bare read of the same bytes, in turns."""
    pairs = []
    for _ in range(turns):
        bare = _heap._search_memory(None)[2]
        pairs.append(_heap._search_memory(addresses)[2] / bare)
    return statistics.median(pairs)


@GRADLIFE.ask("native scan, whole", "gradlife")
def _(targets: Targets) -> Answer:
    holders = scan([targets["saved"](), *HEAP.REGIONS[APART].nodes[:999]])
    return Answer(f"{sum(map(len, holders))} words that may hold 1,000 objects")


assert sys.modules[MODULE] is HEAP
