"""Leaks that the hunt plants itself, and a clean twin: a hunt that judges them wrongly is not to be believed."""

from __future__ import annotations

import sys
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gradlife import _heap
from gradlife.hunting.growth import Grown

#: The controls make a step for so many of the program's, all at its boundaries, so that its own steps cost nothing more.
SHARE = 4
LEAST_STEPS = 3

CYCLE_NAME = "PlantedCycle"

#: References between a planted context and the furthest object of its cycle.
NEAR = 5

#: Controls of hunts under way: what keeps the held leak, as a variable of a program would.
planted: list[Controls] = []


@contextmanager
def quiet(torch: Any) -> Iterator[None]:
    """No mode or hook of the program sees what is planted, and the program's own modes do not change it."""
    with (
        torch._C._DisableTorchDispatch(),
        torch._C.DisableTorchFunction(),
        torch.inference_mode(False),
        torch.enable_grad(),
        torch.autograd.graph.saved_tensors_hooks(same, same),
    ):
        yield


def same(tensor: Any) -> Any:
    """Packs nothing."""
    return tensor.detach()


class Controls:
    """One held leak, one cycle that the collector cannot free, and one clean twin."""

    def __init__(self) -> None:
        self.held: list[Any] = []
        self.ring: deque[Any] = deque(maxlen=2)
        self._contexts: list[weakref.ref[Any]] = []
        self._function: Any = None
        self._early = 0  # steps of the round under way

    @property
    def are_planted(self) -> bool:
        """Without torch there is nothing to plant."""
        return self._function is not None

    def plant(self, steps: int = 0, *, is_early: bool = False) -> None:
        """The steps of each control that go with so many of the program's, those since the last look.

        What is planted early, in the midst of a round, is not planted again at its end.
        """
        torch = sys.modules.get("torch")
        if torch is None or not hasattr(torch, "autograd"):
            return
        if self._function is None:
            self._function = planted_function(torch)
            planted.append(self)
        wanted = max(LEAST_STEPS, steps // SHARE)
        with quiet(torch):
            for _ in range(wanted - self._early):
                self.held.append(torch.ones(4))
                self.ring.append(torch.ones(4))
                self._plant_cycle(torch)
        self._early = max(wanted, self._early) if is_early else 0

    def _plant_cycle(self, torch: Any) -> None:
        result = self._function.apply(torch.ones(2, requires_grad=True))
        result.grad_fn.kept = result.sin()
        self._contexts.append(weakref.ref(result.grad_fn))

    def uproot(self) -> None:
        """Takes everything out again."""
        self.held.clear()
        self.ring.clear()
        for reference in self._contexts:
            context = reference()
            if context is not None:
                del context.kept
        self._contexts.clear()
        if self in planted:
            planted.remove(self)


def planted_function(torch: Any) -> Any:
    """The Function whose contexts the cycle goes through."""

    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2

    names = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(CYCLE_NAME, (torch.autograd.Function,), names)


def planted_name(graph: _heap.Graph, grown: Grown, controls: Controls) -> str:
    """Which control a group is, if any."""
    if grown.group.anchor is not None:
        address = graph.describe(grown.group.anchor)[2]
        return {id(controls.held): "held", id(controls.ring): "clean"}.get(address, "")
    members = grown.group.members
    return "cycle" if 2 * len(members.keys() & around_planted(graph)) > len(members) else ""


def around_planted(graph: _heap.Graph) -> set[int]:
    """The contexts that were planted, and what no root reaches and stands near one.

    Where new objects stand at the addresses of old ones, a group is only a part of what was planted, and may lack them.
    """
    names = [name for name, kind, *_ in graph.census() if kind == "python" and name.endswith(f"{CYCLE_NAME}Backward")]
    found = {node for name in names for node in graph.nodes("python", name)}
    front = set(found)
    for _ in range(NEAR):
        around = {one for node in front for one in (*graph.referents(node), *graph.referrers(node))}
        front = {one for one in around - found if graph.dominator(one) is None}
        found |= front
    return found
