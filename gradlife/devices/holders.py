"""Find the holder of each storage on a device with the heap graph."""

from __future__ import annotations

import gc
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gradlife import _heap
from gradlife.devices.drag import Unread
from gradlife.devices.unread import UnreadHolders
from gradlife.heap.diff import path_text
from gradlife.heap.scan import OWN_FOLDER
from gradlife.heap.snapshot import Snapshot
from gradlife.heap.torch_layout.torch import ensure_calibrated
from gradlife.hunting.process.forked import in_fork
from gradlife.model.heap import device_of
from gradlife.model.peak.report import Owner
from gradlife.model.trace import PathStep
from gradlife.peaks.recording.holders import Held, holders_of
from gradlife.peaks.recording.variables import variables_now
from gradlife.safe_access import attributes, member

#: Owners of a device with most memory whose trace is kept.
MAX_TRACES = 40


#: The key of what belongs to no one device.
ANY = ""

#: The module of torch.compile that captures CUDA graphs.
TREES_MODULE = "torch._inductor.cudagraph_trees"

#: Types of streams. Their number is the first field behind the object's head.
STREAMS = frozenset(
    {"torch.Stream", "torch.cuda.streams.Stream", "torch.cuda.streams.ExternalStream", "torch.xpu.streams.Stream"}
)


@dataclass
class StorageHolders:
    """The holders of the storages on one device."""

    by_address: dict[int, str] = field(default_factory=dict)  # of the storage's memory
    unread: dict[int, Unread] = field(default_factory=dict)  # by address: storages that nothing reads again
    traces: dict[str, tuple[PathStep, ...]] = field(default_factory=dict)  # by holder: the path to its largest storage
    streams: dict[int, str] = field(default_factory=dict)  # streams of the program by number: the path to each
    compiled_pools: frozenset[tuple[int, int]] = frozenset()  # of the CUDA graphs of torch.compile


#: Holders by device, ``cuda:0``; streams and pools under `ANY`.
HoldersOfDevices = dict[str, StorageHolders]

#: An index in a container, which does not identify the container.
PLACE = re.compile(r"\[\d+\]")


def holders_of_devices() -> HoldersOfDevices:
    """Return who holds each storage on a device.

    Freezes the heap in a forked copy of the process: some 0.5 s and 100 MB per million objects, and some 0.1 ms per
    storage. The copy does not use the device.
    """
    ensure_calibrated()
    return in_fork(read_holders)


def read_holders() -> HoldersOfDevices:
    """Read the holders in this process. Changes its frames, so call it only in a forked copy."""
    graph = _heap.freeze(True, True, OWN_FOLDER)
    storages: dict[int, tuple[str, int]] = {}
    for node in graph.nodes("storage", ""):
        shown = graph.describe(node)
        device, memory = device_of(shown.type), _heap._torch_memory(shown.address)
        if device != "cpu" and memory:
            storages[node] = device, memory
    variables = variables_now()
    found: HoldersOfDevices = defaultdict(StorageHolders)
    largest: dict[tuple[str, str], int] = {}
    for node, held in holders_of(graph, storages, variables).items():
        device, memory = storages[node]
        name = found[device].by_address[memory] = words(held)
        known = largest.setdefault((device, name), node)
        largest[device, name] = max(known, node, key=lambda one: graph.describe(one).bytes or 0)
    add_unread(UnreadHolders(graph, variables), storages, found)
    add_traces(graph, largest, found)
    found[ANY].streams.update(streams_of(graph))
    found[ANY].compiled_pools = compiled_pools()
    return dict(found)


def compiled_pools() -> frozenset[tuple[int, int]]:
    """Return the pools of torch.compile's CUDA graphs. Each manager of such graphs has one, which no stack shows."""
    manager = member(TREES_MODULE, "CUDAGraphTreeManager")
    managers = [one for one in gc.get_objects() if type(one) is manager] if manager is not None else []
    pools = (attributes(one).get("cuda_graphs_thread_pool") for one in managers)
    return frozenset(pool for pool in pools if pool is not None)


def add_unread(holders: UnreadHolders, storages: Mapping[int, tuple[str, int]], found: HoldersOfDevices) -> None:
    """Add the storages that only variables hold which nothing reads again."""
    for node, (device, memory) in storages.items():
        unread = holders.find(node)
        if unread is not None:
            found[device].unread[memory] = unread


def streams_of(graph: _heap.Graph) -> Iterator[tuple[int, str]]:
    """Yield the streams that the program has, each with its number and the path to it."""
    snapshot = Snapshot(graph, ())
    for node in [node for name in STREAMS for node in graph.nodes("python", name)]:
        address = graph.describe(node).address
        yield _heap._read_word(address + object.__basicsize__) or 0, path_text(snapshot.why(address).steps)


def add_traces(graph: _heap.Graph, largest: Mapping[tuple[str, str], int], found: HoldersOfDevices) -> None:
    """Add the trace of the largest storage of each holder, for the holders with the largest ones."""
    snapshot = Snapshot(graph, ())
    for (device, name), node in sorted(largest.items(), key=lambda one: -(graph.describe(one[1]).bytes or 0))[
        :MAX_TRACES
    ]:
        found[device].traces[name] = snapshot.why(graph.describe(node).address).steps


def words(held: Held) -> str:
    """Name an owner: the role of its storages, or the variable that holds them with others of their kind."""
    others = [one for one in held.holders if "of AccumulateGrad" not in one.text]  # a graph keeps every leaf
    held = Held(others or held.holders)
    if held.owner is not Owner.NAMED:
        return held.owner.value
    first = held.first
    return f"{first.name} of {first.function}" if first.name and first.function else PLACE.sub("[...]", first.text)
