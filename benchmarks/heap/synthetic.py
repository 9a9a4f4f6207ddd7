"""A realistic heap of any size, with objects planted at known paths.

About `size` objects that the collector knows: instances, lists, dicts, tuples, closures, instances with slots, in ten
regions that refer to one another; some tensors in containers, in graphs of built-in operations and of custom Functions,
and with hooks. Planted:

* ``chain``: a tensor held by twelve references in a row, the first from a global variable;
* ``bushy``: the same, but one link is also referred to by 200 objects that lead nowhere;
* ``saved``: a tensor that only the C++ node of a ``sin`` keeps, below a loss in a list;
* ``ctx``: a tensor that only a custom Function's context keeps, some nodes below an output;
* 500 cycles that are garbage, 20 of them with a tensor.
"""

from __future__ import annotations

import ctypes
import gc
import random
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import torch

MODULE = "synthetic_heap"
HEAP = types.ModuleType(MODULE)
sys.modules[MODULE] = HEAP

OBJECTS_PER_RECORD = 8.75
REGIONS = 10
APART = 3  # the region that no other one refers to


class Node:
    """The middle of a record: attributes, some of them in a dict."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.name = f"node{index}"


class Slotted:
    """Two references, no dict."""

    __slots__ = ("__weakref__", "owner", "weight")


class Region:
    """Records that refer to one another."""

    def __init__(self, index: int) -> None:
        self.label = f"region{index}"
        self.nodes: list[Any] = []


class Link:
    """A step of a chain."""


class Square(torch.autograd.Function):  # type: ignore[misc]
    """Saves its input and its result, and keeps an attribute in its context."""

    @staticmethod
    def forward(ctx: Any, a: Any, extra: Any) -> Any:
        result = a * a
        ctx.save_for_backward(a, result)
        ctx.extra = extra
        return result

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        a, _ = ctx.saved_tensors
        return 2 * grad * a, None


for made in (Node, Slotted, Region, Link, Square):
    made.__module__ = MODULE
    setattr(HEAP, made.__name__, made)


def make_callback(node: Any, number: int) -> Callable[[], Any]:
    def callback() -> Any:
        return node, number

    return callback


def fill_region(region: Region, first: int, count: int) -> None:
    """Fill a region with records of about nine objects, each referring to others of the region."""
    nodes = region.nodes
    previous = None
    for i in range(first, first + count):
        node: Any = Node(i)
        a = nodes[(i * 7919) % len(nodes)] if nodes else node
        b = nodes[(i * 104729) % len(nodes)] if nodes else node
        node.items = [a, b, float(i), f"t{i % 50}"]
        node.meta = {"owner": a, "score": i * 0.5, "step": i}
        node.pair = (previous, i, b)
        node.callback = make_callback(node, i)
        if i % 4 == 0:
            node.__dict__  # noqa: B018  (makes the dict)
        if i % 2 == 0:
            slotted: Any = Slotted()
            slotted.owner, slotted.weight = node, i * 0.25
            node.slot = slotted
        nodes.append(node)
        previous = node


def make_chain(target: Any, dead_ends: int = 0) -> Link:
    """Make twelve references: global, instance, list, tuple, instance, dict, function, closure, cell, instance, list,
    dict.
    """
    first, second, third = Link(), Link(), Link()
    third.payload = [{"w": (target,), "n": 1}]  # type: ignore[attr-defined]
    if dead_ends:
        hold_natively([[link_to(third)] for _ in range(dead_ends)])
    second.hooks = {"cb": make_callback(third, 0)}  # type: ignore[attr-defined]
    first.cache = [(second, None)]  # type: ignore[attr-defined]
    return first


def link_to(shared: Link) -> Link:
    owner = Link()
    owner.config = shared  # type: ignore[attr-defined]
    return owner


def hold_natively(objects: list[Any]) -> None:
    """Hold objects by plain C references, as an extension does: the collector does not see the holder."""
    for held in objects:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))


def fragment(size: int) -> None:
    """Leave scattered holes in every pool, as in a long-running process."""
    scraps: list[Any] = []
    for i in range(size // 4):
        node = Node(i)
        scraps += [node, [i, node, "j", 2.0], {"a": node, "b": i}, (node, i, "x"), make_callback(node, i), f"s{i}"]
    random.Random(1).shuffle(scraps)
    kept = len(scraps) // 8
    HEAP.FRAGMENTS = scraps[:kept]  # type: ignore[attr-defined]
    while scraps:
        scraps.pop()


def make_tensors(count: int, nodes: list[Any]) -> None:
    HEAP.PARAMETERS = {f"p{i}": torch.zeros(4) for i in range(count * 2 // 5)}  # type: ignore[attr-defined]
    HEAP.WEIGHT = weight = torch.ones(4, requires_grad=True)  # type: ignore[attr-defined]
    HEAP.LOSSES = losses = []  # type: ignore[attr-defined]
    for _ in range(count // 40):
        y = weight * 1.0
        for _ in range(9):
            y = (y * weight).sin()
        losses.append(y.sum())
    HEAP.OUTPUTS = outputs = []  # type: ignore[attr-defined]
    for i in range(count // 100):
        z = weight
        for _ in range(5):
            z = Square.apply(z, nodes[i % len(nodes)])
        outputs.append(z.sum())
    HEAP.HOOKED = hooked = []  # type: ignore[attr-defined]
    for i in range(count // 20):
        leaf, node = torch.zeros(4, requires_grad=True), nodes[i % len(nodes)]
        leaf.register_hook(lambda grad, node=node: None)
        hooked.append(leaf)


def plant() -> dict[str, Any]:
    """Plant the targets, and return weak references to them."""
    chain, bushy = torch.full((5,), 1.0), torch.full((5,), 2.0)
    HEAP.CHAIN_HEAD = make_chain(chain)  # type: ignore[attr-defined]
    HEAP.BUSHY_HEAD = make_chain(bushy, dead_ends=200)  # type: ignore[attr-defined]
    HEAP.INPUT = x = torch.ones(6, requires_grad=True)  # type: ignore[attr-defined]
    saved = x * 2.0
    y = saved.sin()
    for _ in range(6):
        y = (y * 1.5).exp()
    HEAP.LOSSES.append(y.sum())
    in_context = x * 3.0
    HEAP.CUSTOM = [(Square.apply(in_context, None) * 2).sin().sum()]  # type: ignore[attr-defined]
    found = {"chain": chain, "bushy": bushy, "saved": saved, "ctx": in_context}
    return {name: weakref.ref(target) for name, target in found.items()}


def make_garbage() -> None:
    for i in range(500):
        a: Any = Link()
        b: Any = Link()
        a.other, b.other = b, [a]
        if i < 20:
            b.tensor = torch.zeros(4)


def build(size: int, tensors: int, *, is_fragmented: bool = False) -> dict[str, Any]:
    """Build the heap with the collector off, and return the targets."""
    gc.disable()
    torch.manual_seed(0)
    if is_fragmented:
        fragment(size)
    HEAP.REGIONS = regions = [Region(i) for i in range(REGIONS)]  # type: ignore[attr-defined]
    count = int(size / OBJECTS_PER_RECORD / REGIONS)
    for i, region in enumerate(regions):
        fill_region(region, i * count, count)
    linked = [region for i, region in enumerate(regions) if i != APART]
    for i, region in enumerate(linked):
        for j in range(0, count, 200):
            region.nodes[j].items.append(linked[(i + 1 + j % 8) % len(linked)].nodes[j])
    make_tensors(tensors, regions[0].nodes)
    targets = plant()
    gc.collect()  # as in a program that has run for a while: otherwise the next allocation would pay for all of these
    make_garbage()
    HEAP.NODE_COUNT = sum(type(one) is Node for one in gc.get_objects())  # type: ignore[attr-defined]  # with scraps
    return targets
