"""An object and what stands around it, as a small graph: paths from roots, its cycle, what it refers to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gradlife.model.trace import Lifetime


class Role(StrEnum):
    """The role of an object in the picture of another's neighbourhood."""

    TARGET = "target"  # the one that was asked about
    ROOT = "root"  # where a path to it begins
    RING = "ring"  # on the cycle that keeps it
    PATH = "path"  # between a root and it
    KEPT = "kept"  # what it refers to
    UNSEEN = "unseen"  # stands for references that nothing in the heap explains


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One object. `id` is its own in this picture only."""

    id: int
    object: str  # the type, "Tensor"
    detail: str
    kind: str  # python, tensor, storage, grad_node, native, root
    role: Role
    bytes: int = 0
    retained: int = 0  # its own bytes and those of all that only it keeps


@dataclass(frozen=True, slots=True)
class Tie:
    """One reference, or several that a person reads as one."""

    source: int
    target: int
    via: str  # ".losses", "[3]", "grad_fn"
    is_suspect: bool = False
    is_native: bool = False  # the collector does not see it


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The picture. `more_referrers` and `more_referents` were left out of it."""

    title: str
    lifetime: Lifetime
    neighbours: tuple[Neighbour, ...]
    ties: tuple[Tie, ...]
    more_referrers: int = 0
    more_referents: int = 0
