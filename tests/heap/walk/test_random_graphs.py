"""Next edges and saved slots of random autograd graphs, beside what their nodes say by their public names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from gradlife.heap import snapshot

SYSTEMS = [pytest.param("torch", marks=pytest.mark.torch), "gradlife.engine"]
UNARY: dict[str, Callable[[Any], Any]] = {
    "sin": lambda a: a.sin(),
    "exp": lambda a: a.exp(),
    "tanh": lambda a: a.tanh(),
    "sigmoid": lambda a: a.sigmoid(),
    "relu": lambda a: a.relu(),
    "scaled": lambda a: a * 2.0,
    "turned": lambda a: a.t(),
    "view": lambda a: a.reshape(9).view(3, 3),
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "mul": lambda a, b: a * b,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "div": lambda a, b: a / b,
    "matmul": lambda a, b: a @ b,
}
#: What to do, to which of the tensors made before, counted from the last.
STEPS = st.lists(
    st.tuples(st.sampled_from([*UNARY, *BINARY, "custom"]), st.integers(0, 5), st.integers(0, 5)),
    min_size=1,
    max_size=9,
)

Slot = tuple[int, str, int]  # a node, the name, the storage of what is saved


def custom_function(torch: Any) -> Any:
    class Product(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            a, b = ctx.saved_tensors
            return grad * b, grad * a

    return Product


def build(torch: Any, steps: list[tuple[str, int, int]]) -> Any:
    made = [torch.ones(3, 3, requires_grad=True), torch.full((3, 3), 0.5).requires_grad_(True)]
    for name, first, second in steps:
        a, b = made[-1 - first % len(made)], made[-1 - second % len(made)]
        if name == "custom":
            made.append(custom_function(torch).apply(a, b))
        else:
            made.append(UNARY[name](a) if name in UNARY else BINARY[name](a, b))
    return made[-1]


def nodes_below(node: Any) -> Iterator[Any]:
    """Each once, by the edges that it shows."""
    waiting, known = [node], set()
    while waiting:
        at = waiting.pop()
        if at is None or at in known:
            continue
        known.add(at)
        yield at
        waiting.extend(following for following, _ in at.next_functions)


def saved_of(node: Any) -> Iterator[tuple[str, Any]]:
    """By the names that the node's type has; a ctx has a list of them."""
    for name in dir(type(node)):
        if name.startswith("_saved_"):
            value = getattr(node, name)
            if hasattr(value, "untyped_storage"):
                yield name.removeprefix("_saved_"), value
    if hasattr(node, "save_for_backward"):
        yield from ((f"saved_tensors[{i}]", value) for i, value in enumerate(node.saved_tensors))
    if hasattr(node, "variable"):
        yield "variable", node.variable


class Reading:
    """The graph's data on nodes: each stands for its wrapper and the C++ objects behind it."""

    def __init__(self, nodes: list[Any], saved: list[Any]) -> None:
        self.graph = snapshot()._graph
        self.wrappers = [self.node_at(node) for node in nodes]
        self.natives = {self.behind(wrapper, "grad_node"): wrapper for wrapper in self.wrappers}
        self.saved = {id(tensor): self.storage_of(self.behind(self.node_at(tensor), "tensor")) for tensor in saved}

    def node_at(self, thing: Any) -> int:
        node = self.graph.find(id(thing))
        assert node is not None
        return node

    def behind(self, node: int, kind: str) -> int:
        return next(target for target in self.graph.referents(node) if self.graph.describe(target)[0] == kind)

    def storage_of(self, tensor: int) -> int:
        return self.behind(tensor, "storage")

    def references(self) -> Iterator[tuple[int, str, int]]:
        """From a node, with a name, to what is no wrapper."""
        halves = {**self.natives, **{wrapper: wrapper for wrapper in self.wrappers}}
        targets = {target for half in halves for target in self.graph.referents(half)}
        for target in targets:
            for referrer in self.graph.explain(target)["referrers"]:
                if referrer.node in halves:
                    yield halves[referrer.node], referrer.label, target

    def edges(self) -> Counter[tuple[int, int]]:
        found = ((source, target) for source, label, target in self.references() if label == "next edge")
        return Counter((source, self.natives[target]) for source, target in found)

    def slots(self) -> Counter[Slot]:
        return Counter(
            (source, re.sub(r"^tensors\[", "saved_tensors[", label), self.storage_of(target))  # the engine's own word
            for source, label, target in self.references()
            if self.graph.describe(target)[0] == "tensor"
        )


@pytest.mark.parametrize("system", SYSTEMS)
@given(steps=STEPS)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.whole
def test_edges_and_slots_are_those_that_the_nodes_show(system: str, steps: list[tuple[str, int, int]]) -> None:
    result = build(pytest.importorskip(system), steps)
    if result.grad_fn is None:  # a node of the first two
        return
    nodes = list(nodes_below(result.grad_fn))
    slots = [(node, name, value) for node in nodes for name, value in saved_of(node)]
    reading = Reading(nodes, [value for *_, value in slots])
    place = dict(zip(map(id, nodes), reading.wrappers, strict=True))
    edges = Counter(
        (place[id(node)], place[id(to)]) for node in nodes for to, _ in node.next_functions if to is not None
    )
    assert reading.edges() == edges
    assert reading.slots() == Counter((place[id(node)], name, reading.saved[id(value)]) for node, name, value in slots)
