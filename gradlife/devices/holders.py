"""Find the holder of each storage on a device with the heap graph."""

from __future__ import annotations

import re
from collections import defaultdict

from gradlife import _heap
from gradlife.heap.scan import OWN_FOLDER
from gradlife.heap.torch_layout.torch import ensure_calibrated
from gradlife.hunting.process.forked import in_fork
from gradlife.model.heap import device_of
from gradlife.model.peak.report import Owner
from gradlife.peaks.recording.holders import Held, holders_of

#: Holders by device (``cuda:0``) and address of the storage's memory.
HoldersOfDevices = dict[str, dict[int, str]]

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
    for node in range(graph.node_count):
        if graph.kind(node) == "storage":
            shown = graph.describe(node)
            device, memory = device_of(shown.type), _heap._torch_memory(shown.address)
            if device != "cpu" and memory:
                storages[node] = device, memory
    found: HoldersOfDevices = defaultdict(dict)
    for node, held in holders_of(graph, storages).items():
        device, memory = storages[node]
        found[device][memory] = words(held)
    return dict(found)


def words(held: Held) -> str:
    """Name an owner: the role of its storages, or the variable that holds them with others of their kind."""
    others = [one for one in held.holders if "of AccumulateGrad" not in one.text]  # a graph keeps every leaf
    held = Held(others or held.holders)
    if held.owner is not Owner.NAMED:
        return held.owner.value
    first = held.first
    return f"{first.name} of {first.function}" if first.name and first.function else PLACE.sub("[...]", first.text)
