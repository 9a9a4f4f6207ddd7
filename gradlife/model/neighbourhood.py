"""An object and its surroundings as a small graph: paths from roots, its cycle, its referents."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gradlife.model.trace import Lifetime


class Role(StrEnum):
    """The role of an object in another's neighbourhood."""

    TARGET = "target"  # the object asked about
    ROOT = "root"  # the start of a path to it
    RING = "ring"  # on the cycle that keeps it alive
    PATH = "path"  # between a root and the target
    KEPT = "kept"  # a referent of the target
    UNSEEN = "unseen"  # stands for references that nothing in the heap explains


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One object. `id` is unique within this neighbourhood."""

    id: int
    object: str  # the type, "Tensor"
    detail: str
    kind: str  # python, tensor, storage, grad_node, native, root
    role: Role
    bytes: int = 0
    retained: int = 0  # retained size


@dataclass(frozen=True, slots=True)
class Tie:
    """One reference, or several that a user reads as one."""

    source: int
    target: int
    via: str  # ".losses", "[3]", "grad_fn"
    is_suspect: bool = False
    is_native: bool = False  # invisible to the collector


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The graph. `more_referrers` and `more_referents` count what was left out."""

    title: str
    lifetime: Lifetime
    neighbours: tuple[Neighbour, ...]
    ties: tuple[Tie, ...]
    more_referrers: int = 0
    more_referents: int = 0
