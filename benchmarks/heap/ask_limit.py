"""The questions asked of the bare walk."""

from __future__ import annotations

import os
import tempfile

from benchmarks.heap.limit import load_limit
from benchmarks.heap.questions import Answer, Questions, Targets
from benchmarks.heap.synthetic import APART, HEAP, Node

LIMIT = Questions()
limit = load_limit()


@LIMIT.ask("limit: traverse", "limit")
def _(targets: Targets) -> Answer:
    return Answer(f"{limit.visit_heap():,} references")


@LIMIT.ask("limit: graph", "limit")
def _(targets: Targets) -> Answer:
    nodes, edges = limit.build_graph()
    return Answer(f"{nodes:,} nodes, {edges:,} references", numbers={"nodes": nodes})


@LIMIT.ask("limit: types", "limit")
def _(targets: Targets) -> Answer:
    count = limit.count_types()[Node]
    return Answer(f"Node {count:,}", count == HEAP.NODE_COUNT)


@LIMIT.ask("limit: path", "limit")
def _(targets: Targets) -> Answer:
    return Answer(f"{limit.path_length(targets['chain']())} references")


@LIMIT.ask("limit: retained", "limit")
def _(targets: Targets) -> Answer:
    return Answer(f"{limit.retained_bytes(HEAP.REGIONS[APART]):,} bytes")


@LIMIT.ask("limit: components", "limit")
def _(targets: Targets) -> Answer:
    parts, objects = limit.cyclic_components()
    return Answer(f"{parts:,} with {objects:,} objects")


@LIMIT.ask("limit: file", "limit")
def _(targets: Targets) -> Answer:
    with tempfile.TemporaryDirectory() as folder:
        limit.dump(os.path.join(folder, "heap"))
        return Answer(f"{os.path.getsize(os.path.join(folder, 'heap')):,} bytes")
