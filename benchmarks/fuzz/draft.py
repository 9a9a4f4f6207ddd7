"""A program under construction: what names are probably bound to, so that most steps make sense."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

TENSORS = tuple(f"t{n}" for n in range(6))
NODES = tuple(f"n{n}" for n in range(3))
HANDLES = tuple(f"r{n}" for n in range(3))
ODD = 0.04  # share of steps with an unsuitable operand
ENOUGH = 4  # tensor names bound before names are reused


@dataclass(frozen=True)
class Kind:
    """The expected state of a tensor: its dimensions, and its operation ("leaf" if it has none)."""

    dims: int = 1
    needs_grad: bool = True
    op: str = "leaf"


class Draft:
    """The state of the generator; every choice comes from one seeded source."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.tensors: dict[str, Kind] = {}
        self.nodes: dict[str, str] = {}  # name -> the op of the node
        self.handles: list[str] = []
        self.count = 0

    def pick(self, options: Sequence[str]) -> str:
        return options[int(self.chance.random() * len(options))]

    def often(self, share: float) -> bool:
        return self.chance.random() < share

    def label(self, word: str) -> str:
        """Return a new label for a step's result."""
        self.count += 1
        return f"'{word}{self.count}'"

    def tensor(self, *ops: str, grad: bool | None = None, dims: int | None = None) -> str | None:
        """Return a suitable bound tensor, sometimes any; None if there is none."""
        names = list(self.tensors)
        if not self.often(ODD):
            names = [name for name in names if self.fits(self.tensors[name], ops, grad, dims)]
        return self.pick(names) if names else None

    def fits(self, kind: Kind, ops: tuple[str, ...], grad: bool | None, dims: int | None) -> bool:
        return (
            (not ops or kind.op in ops)
            and (grad is None or kind.needs_grad == grad)
            and (dims is None or kind.dims == dims)
        )

    def made(self) -> str | None:
        """Return a bound tensor that an operation made and that has a node."""
        names = [name for name, kind in self.tensors.items() if kind.needs_grad and kind.op != "leaf"]
        return self.pick(names) if names and not self.often(ODD) else self.tensor()

    def bind(self, expression: str, kind: Kind) -> str:
        """Bind a tensor to a free name, or reuse one."""
        free = [name for name in TENSORS if name not in self.tensors]
        again = not free or (len(self.tensors) >= ENOUGH and self.often(0.4))
        name = self.pick(list(self.tensors)) if again else free[0]
        self.tensors[name] = kind
        return f"{name} = {expression}"

    def bind_node(self, expression: str, op: str) -> str:
        name = self.pick(NODES)
        self.nodes[name] = op
        return f"{name} = {expression}"

    def bind_handle(self, expression: str) -> str:
        """Bind a hook's handle to a name, or drop it."""
        if self.often(0.4):
            return expression
        name = self.pick(HANDLES)
        if name not in self.handles:
            self.handles.append(name)
        return f"{name} = {expression}"

    def held(self) -> str:
        """Return something for a closure to hold: a tensor, a node, a list with one, or nothing."""
        bound = [*self.tensors, *self.nodes]
        if not bound or self.often(0.3):
            return "None"
        name = self.pick(bound)
        return f"[{name}]" if self.often(0.3) else name

    def forget(self, name: str) -> None:
        self.tensors.pop(name, None)
        self.nodes.pop(name, None)
        if name in self.handles:
            self.handles.remove(name)
