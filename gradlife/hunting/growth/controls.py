"""Leaks that the hunt plants itself, and a clean twin: a hunt that misjudges them is unreliable.

Planted objects are identified by addresses noted at planting, and are judged apart from the program.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from gradlife.heap.torch_layout.torch import undisturbed
from gradlife.safe_access import LibraryObject, is_initializing, loaded

#: One control step for this many program steps, all at snapshot boundaries: the program's own steps cost nothing more.
SHARE = 4
MIN_STEPS = 3

#: Most control steps in a round: a service may take millions of steps while a copy of it is judged. Each takes 0.1 ms.
MAX_STEPS = 1000
MAX_STEPS_OF_SERVICE = 100

CYCLE_NAME = "PlantedCycle"

#: Controls of running hunts. Keeps the held leak alive, as a variable of a program would.
planted: list[Controls] = []


@contextmanager
def quiet(torch: ModuleType) -> Iterator[None]:
    """Hide the planted objects from the modes and hooks of the program."""
    with (
        torch._C._DisableTorchDispatch(),
        torch._C.DisableTorchFunction(),
        torch.inference_mode(False),
        torch.enable_grad(),
        torch.autograd.graph.saved_tensors_hooks(same, same),
    ):
        yield


def is_transforming(torch: ModuleType) -> bool:
    """Whether this thread is inside a function that torch.func transforms, which takes no hooks and no Functions."""
    is_active = getattr(torch._C, "_are_functorch_transforms_active", None)
    return is_active is not None and bool(is_active())


def same(tensor: LibraryObject) -> Any:
    """Pack hook that returns the detached tensor."""
    return tensor.detach()


#: Tensors of the clean twin that are alive at the same time.
RING_LENGTH = 2


@dataclass(frozen=True)
class Planting:
    """Addresses of the objects planted up to a number of counted steps."""

    steps: int
    tensors: tuple[int, ...]  # items of the growing list
    cycles: tuple[tuple[int, int], ...]  # a context, and the tensor it keeps
    ring: tuple[int, ...]
    leaves: tuple[int, ...] = ()  # leaves of the cycles' graphs, kept only by these cycles


class Controls:
    """One held leak, one cycle that the collector cannot free, and one clean twin."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most or MAX_STEPS  # control steps in a round
        self.held: list[Any] = []
        self.ring: deque[Any] = deque(maxlen=RING_LENGTH)
        self._contexts: list[weakref.ref[Any]] = []
        self._function: Any = None
        self.plantings: list[Planting] = []
        self._early = 0  # steps planted early in the current round

    @property
    def are_planted(self) -> bool:
        """Whether controls were planted. Without torch there are none."""
        return self._function is not None

    def plant(self, steps: int = 0, now: int = 0, *, is_early: bool = False) -> None:
        """Plant the controls for `steps` program steps since the last snapshot; ``now``: all counted steps.

        Steps planted early, in the middle of a round, are not planted again at its end.
        """
        torch = loaded("torch")
        if torch is None or "autograd" not in vars(torch) or is_initializing(torch):
            return
        if self._function is None:
            self._function = planted_function(torch)
            planted.append(self)
        wanted = min(self._most, max(MIN_STEPS, steps // SHARE))
        count = wanted - self._early
        if is_transforming(torch):  # a transform belongs to its thread
            rows = undisturbed(lambda: {"rows": self._rows(torch, count)})["rows"]
        else:
            rows = self._rows(torch, count)
        if rows:
            tensors, rings, cycles, leaves = zip(*rows, strict=True)
            self.plantings.append(Planting(now, tensors, cycles, rings, leaves))
        self._early = max(wanted, self._early) if is_early else 0

    def _rows(self, torch: ModuleType, count: int) -> list[tuple[int, int, tuple[int, int], int]]:
        with quiet(torch):
            return [self._plant_one(torch) for _ in range(count)]

    def _plant_one(self, torch: ModuleType) -> tuple[int, int, tuple[int, int], int]:
        self.held.append(torch.ones(4))
        self.ring.append(torch.ones(4))
        return id(self.held[-1]), id(self.ring[-1]), *self._plant_cycle(torch)

    def _plant_cycle(self, torch: ModuleType) -> tuple[tuple[int, int], int]:
        leaf = torch.ones(2, requires_grad=True)
        result = self._function.apply(leaf)
        context = result.grad_fn
        context.kept = result.sin()
        self._contexts.append(weakref.ref(context))
        return (id(context), id(context.kept)), id(leaf)

    def uproot(self) -> None:
        """Remove everything that was planted."""
        self.held.clear()
        self.ring.clear()
        for reference in self._contexts:
            context = reference()
            if context is not None:
                del context.kept
        self._contexts.clear()
        self.plantings.clear()
        if self in planted:
            planted.remove(self)


def planted_function(torch: ModuleType) -> Any:
    """Create the Function whose contexts form the cycle."""

    def forward(ctx: LibraryObject, x: LibraryObject) -> Any:
        return x * 2

    def backward(ctx: LibraryObject, grad: LibraryObject) -> Any:
        return grad * 2

    names = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(CYCLE_NAME, (torch.autograd.Function,), names)
