"""The name under which the program stores a survivor, from its trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gradlife.model.growth import UNKNOWN_GROWTH, Growth
from gradlife.model.trace import Step, Trace

#: References from a container to what it holds.
HOLDS = ("item", "dict_value", "dict_key", "member")

#: Types whose statements of storing are searched for. An object of another type stores in a way of its own.
CONTAINERS = ("list", "dict", "set", "collections.deque", "collections.OrderedDict", "collections.defaultdict")


@dataclass(frozen=True, slots=True)
class Place:
    """A variable or attribute of the program."""

    name: str
    owners: tuple[str, ...]  # the class of the object that has the attribute and its bases, in full; none: a global
    module: str = ""  # of a global
    is_container: bool = False  # whether what it holds stays in it, or it is the name of the survivor itself


def place_of(trace: Trace, growth: Growth = UNKNOWN_GROWTH) -> Place | None:
    """The place; None where it has no name that a statement could use. ``growth``: how it grows."""
    held = container_in(trace.steps, growth)
    if held is not None:
        return named(trace.steps[held - 1], is_container=True) if held else None
    tensors = (number for number, step in enumerate(trace.steps) if is_tensor(step) or step.kind != "python")
    first = next((number for number in tensors if number), 0)
    return named(trace.steps[first - 1], is_container=False) if first else None


def container_in(steps: Sequence[Step], growth: Growth) -> int | None:
    """The step that is the container which grows, else the longest one."""
    if growth.step is not None and is_container(steps[growth.step]):
        return growth.step
    found = [number for number, step in enumerate(steps) if is_container(step)]
    return max(found, key=lambda number: steps[number].length or 0, default=None)


def is_container(step: Step) -> bool:
    """Does it hold the next step as one of many?"""
    return step.type in CONTAINERS and step.relation in HOLDS


def is_tensor(step: Step) -> bool:
    """Is it a tensor of Python's?"""
    return step.is_a("torch.Tensor", "torch._C.TensorBase")


def named(step: Step, is_container: bool) -> Place | None:
    """The place that a step's reference to the next is."""
    if not step.hops:
        return None
    if step.type == "module":
        return Place(step.hops[-1].label.strip("'"), (), step.detail, is_container)
    if step.relation == "attribute" and len(step.hops) == 1:
        return Place(step.hops[0].label, (step.type, *step.bases), "", is_container)
    return None
