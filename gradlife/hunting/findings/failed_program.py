"""Describes a failed program: what its failed step still holds, and what held the memory when it ran out."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice

import gradlife
from gradlife import _heap
from gradlife.heap.object_lists import describe_object
from gradlife.hunting.findings.builder import object_to_show
from gradlife.hunting.findings.leak_trace import held_trace
from gradlife.hunting.findings.memory_places import (
    FRAMES,
    frame_at,
    has_globals_of_program,
    is_inside_last_error,
    owner_name,
    place_text,
)
from gradlife.hunting.process.forked import in_fork
from gradlife.hunting.snapshots.retained import Kept, dominators, is_of_a_step, storages_of
from gradlife.hunting.snapshots.step_snapshots import Collect, storage_content, take_snapshot
from gradlife.model.heap import Owner
from gradlife.model.hunt import ADVICE, DEVICE_MEMORY, DEVICE_OWNER, HELD, LIVE_OWNER, UNUSED, Explained
from gradlife.model.watching.out_of_memory import HeldByStep, LiveOwner
from gradlife.safe_access import base_names, error_text, is_a

#: Most holders to show, the largest first.
MOST = 10

#: Holders to look up for each one shown, because many have the same name.
MAX_ALIKE = 8

NO_MEMORY = re.compile(r"out of memory|can't allocate memory|not enough memory|std::bad_alloc", re.IGNORECASE)


def describe_failure(error: BaseException) -> list[Explained]:
    """Describe what the failed step holds; call it while the exception is still alive."""
    # gradlife's own frames hold the exception, too; the trace shows where the program holds the objects.
    now = take_snapshot(0, with_labels=True, collect=Collect.NOTHING)
    held = in_fork(lambda: [Explained(HELD, one.text, one.bytes) for one in held_by_failure(now.graph)])
    if not is_out_of_memory(error):
        return held
    return [*device_memory(), *in_fork(lambda: list(owners(now.graph))), *held]


def owners_now() -> list[Explained]:
    """List the largest owners of live memory at this moment, on devices too."""
    now = take_snapshot(0, with_labels=True, collect=Collect.NOTHING)
    return [*device_memory(), *in_fork(lambda: list(owners(now.graph)))]


def held_by_failure(graph: _heap.Graph) -> list[HeldByStep]:
    """Find what is kept only by frames that ended with the exception, together for each of their variables."""
    found: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for storage in storages_of(graph):
        frames = [node for node in dominators(graph, storage) if is_of_a_step(graph, node, frozenset())]
        if any(graph.kind(node) == "python" for node in frames):
            found[variable_of(graph, storage)].append(storage)
    contents = [(sum(storage_content(graph, one) for one in storages), storages) for storages in found.values()]
    contents.sort(key=lambda row: -row[0])
    rows = (held_storages(graph, storages, nbytes) for nbytes, storages in contents)
    return sorted(islice(filter(None, rows), MOST), key=lambda row: (-row.bytes, row.what))


def variable_of(graph: _heap.Graph, storage: int) -> tuple[int, ...]:
    """Return the last frame on the path to a storage and its variable's object; the storage itself without a frame."""
    path = graph.path(storage)
    for at in range(len(path) - 2, -1, -1):
        if graph.type(path[at]) in FRAMES:
            return path[at], path[at + 1]
    return (storage,)


def held_storages(graph: _heap.Graph, storages: list[int], nbytes: int) -> HeldByStep | None:
    """Describe the storages of one variable by the path to the largest; None for the global variables of the program."""
    trace = held_trace(graph, object_to_show(graph, Kept(storages[0], storages)))
    at = frame_at(trace.steps)
    steps = trace.steps if at is None else trace.steps[: at + 2]
    if has_globals_of_program(steps):
        return None
    last = steps[-1]
    words = last.object if last.length is not None else f"{last.object} {last.detail}".strip()
    return HeldByStep(HELD, f"{place_text(steps)}: {words}", nbytes, len(storages))


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out, on a device or on the host."""
    if base_names(error) & {"MemoryError", "OutOfMemoryError"}:
        return True
    return is_a(error, RuntimeError) and NO_MEMORY.search(error_text(error)) is not None


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


def owners(graph: _heap.Graph) -> Iterator[Explained]:
    """Yield the objects that retain most of what is alive."""
    yield from (Explained(LIVE_OWNER, one.name, one.bytes) for one in largest_owners(graph))


def largest_owners(graph: _heap.Graph) -> list[Owner]:
    """Return the largest owner of each name: items of one list share a name."""
    found = {name: graph.retained(nodes[0]) for name, nodes in named_owners(graph, MOST).items()}
    return [Owner(name, retained) for name, retained in found.items()][:MOST]


def live_owners(graph: _heap.Graph, most: int) -> list[LiveOwner]:
    """Return the owners of each name together, the largest first, and whether an owner before has all of them."""
    found = named_owners(graph, most)
    parts = {name for name, nodes in found.items() if len(nodes) > 1 and have_one_owner(graph, nodes, found)}
    together = [
        LiveOwner(name, sum(map(graph.retained, nodes)), len(nodes), name in parts) for name, nodes in found.items()
    ]
    return sorted(together, key=lambda one: (-one.bytes, one.is_part))[:most]


def have_one_owner(graph: _heap.Graph, nodes: list[int], found: dict[str, list[int]]) -> bool:
    """Whether one of the owners that were found retains all of these objects: they are items of it."""
    single = {others[0] for others in found.values() if len(others) == 1}
    return bool(single.intersection(*(set(dominators(graph, node)) for node in nodes)))


def named_owners(graph: _heap.Graph, most: int) -> dict[str, list[int]]:
    """Return the largest objects by name, enough for so many names; the largest first."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for node in graph.largest(MAX_ALIKE * most):
        owner = describe_object(graph, node)
        if not is_inside_last_error(owner.steps):
            found[owner_name(owner.steps, owner.type)].append(node)
    return found
