"""The program's name for the object that a step of a trace refers to: an attribute, a variable, a key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gradlife.model.trace import Hop, Step

#: References from a container to what it holds.
HOLDS = ("item", "dict_value", "dict_key", "member")

#: Types whose items are stored by statements about the name of the container. Others store in a way of their own.
CONTAINERS = frozenset(
    {"list", "dict", "set", "collections.deque", "collections.OrderedDict", "collections.defaultdict"}
)
#: Containers that are written out with what they hold, and those above.
DISPLAYS = CONTAINERS | {"tuple", "frozenset"}

#: Tables of a module that its attributes show.
MEMBERS = frozenset({"_modules", "_parameters", "_buffers"})

#: ``handle (train.py:12)``, as a frame or a function is described.
IN_FILE = re.compile(r"(?P<name>.+) \((?P<file>[^()]+):(?P<line>[0-9]+)\)")

#: The part that the qualified name of an inner function contains.
INSIDE = "<locals>"


class PlaceKind(StrEnum):
    """The kind of a place, as the program writes it."""

    ATTRIBUTE = "attribute"
    GLOBAL = "global"
    KEY = "key"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Place:
    """A variable, an attribute or a constant key of the program."""

    name: str
    kind: PlaceKind
    owners: tuple[str, ...] = ()  # of an attribute: the class of the object that has it and its bases, in full
    module: str = ""  # of a global
    function: str = ""  # of a local variable: the function's qualified name


def place_at(step: Step) -> Place | None:
    """Return the name of a step's reference to the next; None if no statement would name it."""
    if not step.hops:
        return None
    first, last = step.hops[0], step.hops[-1]
    if first.label.startswith(("__closure__:", "__defaults__:", "__kwdefaults__")):
        return variable_of_function(step)
    if step.relation == "local":
        found = IN_FILE.match(step.detail)
        return Place(first.label, PlaceKind.LOCAL, function=found["name"] if found else step.detail)
    if step.type in CONTAINERS:
        return Place(last.label[1:-1], PlaceKind.KEY) if is_text(first) and len(step.hops) == 1 else None
    labels = [hop.label.strip("'") for hop in step.hops]
    if labels[0] == "__dict__" and len(labels) == 2:
        return of_dict(step, labels[1])
    if labels[0] == "__dict__" and len(labels) == 3 and labels[1] in MEMBERS and labels[2].isidentifier():
        return Place(labels[2], PlaceKind.ATTRIBUTE, (step.type, *step.bases))
    if step.relation in {"attribute", "slot"} and len(labels) == 1:
        return Place(labels[0], PlaceKind.ATTRIBUTE, (step.type, *step.bases))
    return None


def is_text(hop: Hop) -> bool:
    """Is the key a text that a program may have written out?"""
    return hop.relation == "dict_value" and hop.label[:1] in "'\"" and len(hop.label) > 2


def of_dict(step: Step, name: str) -> Place:
    """The place in the dict of a module, a class or an object."""
    if step.type == "module":
        return Place(name, PlaceKind.GLOBAL, module=step.detail)
    is_class = step.type == "type" or step.is_a("type")
    return Place(name, PlaceKind.ATTRIBUTE, (step.detail,) if is_class else (step.type, *step.bases))


def variable_of_function(step: Step) -> Place | None:
    """The variable that a function has from around it, or the argument that has a default value."""
    found = IN_FILE.match(step.detail)
    what, _, names = step.hops[0].label.partition(":")
    parts = names.split(",")
    index = next((hop.index for hop in step.hops[1:] if hop.relation == "item" and hop.index >= 0), 0)
    if found is None or index >= len(parts) or not parts[index].isidentifier():
        return None
    around = found["name"].rpartition(f".{INSIDE}.")[0] if what == "__closure__" else found["name"]
    return Place(parts[index], PlaceKind.LOCAL, function=around)


def places_outward(steps: Sequence[Step], last: int) -> Iterator[tuple[int, Place]]:
    """The places from a step on towards the root, with their steps."""
    for number in range(last, -1, -1):
        place = place_at(steps[number])
        if place is not None:
            yield number, place


def container_in(steps: Sequence[Step], anchor: int | None, least: int = 0) -> int | None:
    """The step that is the container which grows, else the longest one of so many items at least."""
    if anchor is not None and 0 <= anchor < len(steps) and is_container(steps[anchor]):
        return anchor
    found = [number for number, step in enumerate(steps) if is_container(step) and (step.length or 0) >= least]
    return max(found, key=lambda number: steps[number].length or 0, default=None)


def is_container(step: Step) -> bool:
    """Whether the object holds the next step as one item of many."""
    return step.type in CONTAINERS and step.relation in HOLDS


def is_tensor(step: Step) -> bool:
    """Whether it is a Python tensor."""
    return step.is_a("torch.Tensor", "torch._C.TensorBase")
