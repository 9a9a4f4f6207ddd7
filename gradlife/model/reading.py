"""The readings of probes, and the events that the mini engine recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from gradlife.model.source_text import Lines

#: A JSON value: None, bool, int, float, str, or a list or dict of such.
Json = Any

INCONCLUSIVE = "inconclusive"


class ReadingKey(NamedTuple):
    """The identity of a reading, the same in every system."""

    scenario: str
    stage: str
    subject: str
    probe: str


@dataclass(frozen=True, slots=True)
class Reading:
    """The answer of one probe about one subject at one stage.

    `status` is its comparison with the same reading of the system compared against (a `Status`; empty if not compared),
    `reason` an explanation if there is one. If the runs of a recording disagreed, `seen` has every value.
    """

    scenario: str
    stage: str
    subject: str
    probe: str
    system: str
    value: Json
    status: str = ""
    reason: str = ""
    seen: tuple[Json, ...] = ()

    @property
    def is_stable(self) -> bool:
        """Whether every run gave this value."""
        return not self.seen

    @property
    def key(self) -> ReadingKey:
        """The identity of the reading."""
        return ReadingKey(self.scenario, self.stage, self.subject, self.probe)

    @property
    def is_conclusive(self) -> bool:
        """Whether the probe could answer."""
        return bool(self.value != INCONCLUSIVE)


@dataclass(frozen=True, slots=True)
class Event:
    """An entry of the mini engine's event log: what happened to which object, and its reference counts afterwards."""

    stage: str
    seq: int
    kind: str
    object: Json  # the object's number
    object_kind: str
    detail: str
    strong: int
    weak: int
    time: float
    name: str = ""  # the object's type: MulBackward0
    subject: str = ""  # the name under which the story watches it


@dataclass(frozen=True, slots=True)
class Ownership:
    """The owners of a subject at a stage: the mini engine's ownership tree, drawn."""

    stage: str
    subject: str
    text: Lines


@dataclass(frozen=True, slots=True)
class OwnerNode:
    """An object in a drawing of owners: an engine object with its Python wrapper if any, a plain object, or a name.

    `kind` is the engine's kind, or python, or name. `to_impl` and `to_wrapper` say how wrapper and C++ object hold each
    other: strong, weak, borrowed, coupled, or not at all.
    """

    id: int
    kind: str
    name: str
    subject: str = ""  # the name under which the story watches it
    strong: int = 0
    weak: int = 0
    wrapper: str = ""  # the wrapper's type
    refcount: int = 0
    to_impl: str = ""
    to_wrapper: str = ""


@dataclass(frozen=True, slots=True)
class OwnerEdge:
    """One reference, from a node or its wrapper to a node or its wrapper: its ownership, and whether the collector is blind
    to it.
    """

    source: int
    target: int
    label: str
    ownership: str
    is_from_wrapper: bool = False
    is_to_wrapper: bool = False
    is_unseen: bool = False


@dataclass(frozen=True, slots=True)
class OwnerGraph:
    """The owners of all objects at a stage, and the objects that the story's variables lead to.

    `source` is engine if the mini engine reported the graph, and heap if it was read from a real PyTorch. A heap graph
    has only strong references, and no counts.
    """

    stage: str
    nodes: tuple[OwnerNode, ...]
    edges: tuple[OwnerEdge, ...]
    left_out: int = 0  # objects left out of the drawing
    source: str = "engine"
