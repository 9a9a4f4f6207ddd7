"""Describes a failed program: what its failed step still holds, and what held the memory when it ran out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import gradlife
from gradlife.heap.diff import path_text
from gradlife.heap.snapshot import Snapshot
from gradlife.hunting.findings.builder import object_to_show
from gradlife.hunting.findings.leak_trace import held_trace
from gradlife.hunting.process.forked import in_fork
from gradlife.hunting.snapshots.retained import Kept, dominators, is_of_a_step, storages_of
from gradlife.hunting.snapshots.step_snapshots import Collect, storage_content, take_snapshot
from gradlife.model.heap import Owner
from gradlife.model.hunt import ADVICE, DEVICE_MEMORY, DEVICE_OWNER, HELD, LIVE_OWNER, UNUSED, Explained

#: Most holders to show, the largest first.
MOST = 10

#: Holders to look up for each one shown, because many have the same name.
MAX_ALIKE = 8

NO_MEMORY = re.compile(r"out of memory|can't allocate memory|not enough memory|std::bad_alloc", re.IGNORECASE)


def describe_failure(error: BaseException) -> list[Explained]:
    """Describe what the failed step holds; call it while the exception is still alive."""
    # gradlife's own frames hold the exception, too; the trace shows where the program holds the objects.
    now = take_snapshot(0, with_labels=True, collect=Collect.NOTHING)
    held = in_fork(lambda: list(held_by_failure(now.graph)))
    if not is_out_of_memory(error):
        return held
    return [*device_memory(), *in_fork(lambda: list(owners(now.graph))), *held]


def owners_now() -> list[Explained]:
    """List the largest owners of live memory at this moment, on devices too."""
    now = take_snapshot(0, with_labels=True, collect=Collect.NOTHING)
    return [*device_memory(), *in_fork(lambda: list(owners(now.graph)))]


def held_by_failure(graph: Any) -> Iterator[Explained]:
    """Find storages kept only by frames that ended with the exception."""
    found = []
    for storage in storages_of(graph):
        frames = [node for node in dominators(graph, storage) if is_of_a_step(graph, node, frozenset())]
        if any(graph.kind(node) == "python" for node in frames):
            found.append(storage)
    found.sort(key=lambda node: -storage_content(graph, node))
    for storage in found[:MOST]:
        trace = held_trace(graph, object_to_show(graph, Kept(storage, [storage])))
        what = f"{path_text(trace.steps)}: {trace.object} {trace.detail}"
        yield Explained(HELD, what, storage_content(graph, storage))


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out, on a device or on the host."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & {"MemoryError", "OutOfMemoryError"}:
        return True
    return isinstance(error, RuntimeError) and NO_MEMORY.search(str(error)) is not None


def device_memory() -> Iterator[Explained]:
    """Report what each device's allocator has, the largest owners of its blocks, and what to do, most bytes first."""
    for memory in gradlife.device_memory().devices:
        in_pieces = memory.free_bytes - memory.idle_bytes - memory.private_free_bytes
        yield Explained(DEVICE_MEMORY, f"{memory.device}: reserved by the allocator", memory.reserved_bytes)
        yield Explained(DEVICE_MEMORY, f"{memory.device}: in use", memory.used_bytes + memory.waiting_bytes)
        largest = f"the largest piece has {memory.largest_free_bytes:,} bytes"
        yield Explained(DEVICE_MEMORY, f"{memory.device}: free between blocks in use; {largest}", in_pieces)
        for owner in memory.owners[:MOST]:
            yield Explained(DEVICE_OWNER, f"{memory.device}: {owner.text}", owner.bytes)
        for drag in memory.drag[:MOST]:
            yield Explained(UNUSED, f"{memory.device}: {drag.words}", drag.bytes)
        for advice in memory.advice[:MOST]:
            yield Explained(ADVICE, f"{memory.device}: {advice.text}", advice.saved_bytes)


def owners(graph: Any) -> Iterator[Explained]:
    """Yield the objects that retain most of what is alive."""
    yield from (Explained(LIVE_OWNER, one.name, one.bytes) for one in largest_owners(graph))


def largest_owners(graph: Any) -> list[Owner]:
    """Return the largest owner of each name: items of one list share a name."""
    found: dict[str, Owner] = {}
    for owner in Snapshot(graph, ()).largest(MAX_ALIKE * MOST):
        name = f"{path_text(owner.steps)}: {owner.type}"
        found.setdefault(name, Owner(name, owner.retained))
    return [*found.values()][:MOST]
