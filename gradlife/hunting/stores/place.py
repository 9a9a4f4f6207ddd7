"""The program's name for the object that a step of a trace refers to: an attribute, a variable, a key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gradlife.model.trace import Hop, PathStep

#: Relations from a container to its contents.
HOLDS = ("item", "dict_value", "dict_key", "member")

#: Types whose items are stored by statements that name the container. Other types have statements of their own.
CONTAINERS = frozenset(
    {"list", "dict", "set", "collections.deque", "collections.OrderedDict", "collections.defaultdict"}
)
#: The same types, and containers that are written out with their items.
DISPLAYS = CONTAINERS | {"tuple", "frozenset"}

#: Dicts of a module whose entries can be read as attributes.
MEMBERS = frozenset({"_modules", "_parameters", "_buffers"})

#: The part of a qualified name that marks an inner function.
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
    owners: tuple[str, ...] = ()  # of an attribute: the full names of its object's class and bases
    module: str = ""  # of a global
    function: str = ""  # of a local variable: the function's qualified name
    captured_at: str = ""  # of a captured variable: "train.py:15", where the function begins that captures it
    is_item: bool = False  # any item of what is at this place: a list in a dict


def place_at(step: PathStep) -> Place | None:
    """Return the name of a step's reference to the next; None if no statement would name it."""
    if not step.hops:
        return None
    first, last = step.hops[0], step.hops[-1]
    if first.label.startswith(("__closure__:", "__defaults__:", "__kwdefaults__")):
        return variable_of_function(step)
    if step.relation == "local":
        found = step.code
        return Place(first.label, PlaceKind.LOCAL, function=found.name if found else step.detail)
    if step.type in CONTAINERS:
        return Place(last.label[1:-1], PlaceKind.KEY) if is_text(first) and len(step.hops) == 1 else None
    labels = [hop.label.strip("'") for hop in step.hops]
    if labels[0] == "__dict__" and len(labels) == 2:
        return of_dict(step, labels[1])
    *table, member = without_numbers(labels)  # from Python 3.13 on, attributes of a module stand in it, without a dict
    if table and table[-1] in MEMBERS and table[:-1] in ([], ["__dict__"]) and member.isidentifier():
        return Place(member, PlaceKind.ATTRIBUTE, (step.type, *step.bases))
    if step.relation in {"attribute", "slot"} and len(labels) == 1:
        return Place(labels[0], PlaceKind.ATTRIBUTE, (step.type, *step.bases))
    return None


def without_numbers(labels: list[str]) -> list[str]:
    """Leave out the numbers under which a list of modules has its items: no statement names them."""
    while len(labels) > 2 and labels[-2] in MEMBERS and labels[-1].isdigit():
        owner = labels[: -3 if labels[-3] == "__dict__" else -2]
        if not owner:
            break
        labels = owner
    return labels


def is_text(hop: Hop) -> bool:
    """Whether the key is a text that a program may have written out."""
    return hop.relation == "dict_value" and hop.label[:1] in "'\"" and len(hop.label) > 2


def of_dict(step: PathStep, name: str) -> Place:
    """Return the place of a name in the dict of a module, a class or an object."""
    if step.type == "module":
        return Place(name, PlaceKind.GLOBAL, module=step.detail)
    is_class = step.type == "type" or step.is_a("type")
    return Place(name, PlaceKind.ATTRIBUTE, (step.detail,) if is_class else (step.type, *step.bases))


def variable_of_function(step: PathStep) -> Place | None:
    """Return the enclosing variable that a function captures, or its argument with a default value."""
    found = step.code
    what, _, names = step.hops[0].label.partition(":")
    parts = names.split(",")
    index = next((hop.index for hop in step.hops[1:] if hop.relation == "item" and hop.index >= 0), 0)
    if found is None or index >= len(parts) or not parts[index].isidentifier():
        return None
    if what != "__closure__":
        return Place(parts[index], PlaceKind.LOCAL, function=found.name)
    around = found.name.rpartition(f".{INSIDE}.")[0]
    return Place(parts[index], PlaceKind.LOCAL, function=around, captured_at=f"{found.file}:{found.line}")


def places_outward(steps: Sequence[PathStep], last: int) -> Iterator[tuple[int, Place]]:
    """Yield the places from a step towards the root, with the numbers of their steps."""
    for number in range(last, -1, -1):
        place = place_at(steps[number])
        if place is not None:
            yield number, place


def container_in(steps: Sequence[PathStep], anchor: int | None, least: int = 0) -> int | None:
    """Return the step of the container that grows; else of the longest container with at least ``least`` items."""
    if anchor is not None and 0 <= anchor < len(steps) and is_container(steps[anchor]):
        return anchor
    found = [number for number, step in enumerate(steps) if is_container(step) and (step.length or 0) >= least]
    return max(found, key=lambda number: steps[number].length or 0, default=None)


def is_container(step: PathStep) -> bool:
    """Whether the object holds the next step as one item of many."""
    return step.type in CONTAINERS and step.relation in HOLDS


def is_tensor(step: PathStep) -> bool:
    """Whether the step is a Python tensor."""
    return step.is_a("torch.Tensor", "torch._C.TensorBase")
