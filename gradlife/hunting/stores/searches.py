"""Searches through the program's statements for the one that stores, derived from a trace, the likeliest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from gradlife.hunting.snapshots.cast_cache import HOLDER as CASTS
from gradlife.hunting.stores import mechanisms
from gradlife.hunting.stores.place import DISPLAYS, Place, PlaceKind, container_in, is_tensor, place_at, places_outward
from gradlife.hunting.stores.place_statements import ADDERS, PUTTERS, assigns, fills, may_mention, writes_to
from gradlife.hunting.stores.statements import Fits
from gradlife.model.ranks import SHARED_MEMORY
from gradlife.model.trace import PROFILED, UNHELD, PathStep, Trace

#: Fewest items of a container that may be the growing one without other evidence.
MANY = 8

#: General types whose attributes the program itself sets.
PLAIN_OWNERS = ("types.SimpleNamespace", "module", "type", "argparse.Namespace")

#: Types that exist only in C++, where no Python object leads to them.
NAMELESS = frozenset({"StorageImpl", "TensorImpl", "grad node"})

#: Files in memory.
MEMORY_FILES = ("_io.BytesIO", "_io.StringIO")

#: Functions that make a profiler.
PROFILERS = ("profile", "_KinetoProfile")

#: Methods of torch.jit that keep a graph in C++.
SCRIPTING = ("freeze", "script", "trace", "optimize_for_inference", "trace_module")

IsProgram = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Search:
    """A test for statements, and how to choose between those that pass."""

    fits: Fits
    has_first_values: bool = False  # whether a statement that fits may only set a first value
    may_be_first: bool = True  # whether such a statement is the answer if there is no other
    place: Place | None = None  # the place that the statement must be about

    def may_be_in(self, text: str) -> bool:
        """Whether a file with this source may have such a statement."""
        return self.place is None or may_mention(text, self.place)


def searches(trace: Trace, anchor: int | None, is_program: IsProgram) -> Iterator[Search]:
    """Yield the searches in order; the first that finds a statement gives the answer."""
    if trace.steps:
        yield from held(trace.steps, anchor, is_program)
    elif trace.cycle:
        yield from ring(trace.cycle, trace.tail, is_program)
    elif CASTS in trace.ledger.native:
        yield Search(partial(mechanisms.is_call, names=("autocast",)))
    elif trace.object == SHARED_MEMORY:
        yield Search(partial(mechanisms.is_call, names=("SharedMemory",)))
    elif trace.object == UNHELD:
        if trace.detail == PROFILED:
            yield Search(partial(mechanisms.is_call, names=PROFILERS))
    elif trace.object in NAMELESS or is_of_torchscript(trace):
        yield Search(partial(mechanisms.is_call, names=SCRIPTING))


def is_of_torchscript(trace: Trace) -> bool:
    """Whether it belongs to an object that TorchScript made and keeps."""
    return any(step.detail.startswith("torch.jit.") for step in trace.lead[:1])


def held(steps: Sequence[PathStep], anchor: int | None, is_program: IsProgram) -> Iterator[Search]:
    """Return searches for statements that store an object held by a root."""
    at = anchor if anchor is not None and 0 <= anchor < len(steps) - 1 else None
    file = place_of_file(steps)
    if file is not None:
        yield Search(partial(writes_to, place=file), place=file)
    if at is not None:
        yield from map(Search, mechanisms.at_step(steps, at))
    container = container_in(steps, at, 0 if at is not None else MANY)
    if container:
        yield from contained(steps, container, is_program)
    if at is None:
        for number in range(len(steps) - 1):
            yield from map(Search, mechanisms.at_step(steps, number))
    yield from repeated(steps)
    yield from map(Search, mechanisms.kept_by_library(steps))
    for one in assigned(steps, at, is_program):
        yield replace(one, may_be_first=one.may_be_first and container is None)
    if at is not None and not container:  # what grows is replaced by a longer one
        yield from map(Search, mechanisms.at_step(steps, at - 1)) if at else ()


def place_of_file(steps: Sequence[PathStep]) -> Place | None:
    """Return the place of a file in memory at the end of a path."""
    return place_at(steps[-2]) if len(steps) > 1 and steps[-1].is_a(*MEMORY_FILES) else None


def contained(steps: Sequence[PathStep], container: int, is_program: IsProgram) -> Iterator[Search]:
    """Return searches for statements that add to a container, by its name or the name of the object around it."""
    yield from map(Search, mechanisms.at_step(steps, container - 1))
    is_own = True
    for number, place in places_outward(steps, container - 1):
        owner = steps[number]
        is_own = owner.type in DISPLAYS or is_program(owner.type) or is_plain(owner)
        if is_own:
            between = steps[number + 1 : container]
            is_inside = any(one.type not in DISPLAYS for one in between)
            adders = PUTTERS if is_inside else ADDERS
            yield Search(partial(fills, place=place, adders=adders), has_first_values=True, place=place)
            return
        yield from map(Search, mechanisms.kept_by_library(steps[container:]))


def is_plain(step: PathStep) -> bool:
    """Whether the program names the reference: a variable, or an attribute of a namespace, a module or a class."""
    return (
        step.kind == "root"
        or step.relation == "local"
        or step.type in PLAIN_OWNERS
        or step.type in {"function", "cell"}
    )


def repeated(steps: Sequence[PathStep]) -> Iterator[Search]:
    """Return the search for assignments to the attribute that links the objects of a chain."""
    for one, other in pairwise(steps):
        if (one.type, one.detail) == ("function", other.detail) and other.type == "function":
            yield from map(Search, mechanisms.makes_function(one))
            return
        place = place_at(one)
        if (
            place is not None
            and place.kind is PlaceKind.ATTRIBUTE
            and one.type == other.type
            and place == place_at(other)
        ):
            yield Search(partial(assigns, place=place), has_first_values=True, place=place)
            return


def assigned(steps: Sequence[PathStep], at: int | None, is_program: IsProgram) -> Iterator[Search]:
    """Return searches for assignments to the survivor's place or to one around it, nearest first.

    What an item of the growing object `at` has inside is no such place. A first value is none of what a library's object
    gets later.
    """
    tensors = (
        number
        for number, step in enumerate(steps)
        if number and (is_tensor(step) or step.kind not in {"python", "root"})
    )
    first = next(tensors, len(steps) - 1)
    for number, place in places_outward(steps, first - 1 if at is None else min(first - 1, at)):
        between = steps[number + 1 : at or 0]
        is_own = all(one.type in DISPLAYS or is_program(one.type) or is_plain(one) for one in between)
        yield Search(partial(assigns, place=place), has_first_values=True, may_be_first=is_own, place=place)
        yield Search(partial(fills, place=place), has_first_values=True, may_be_first=is_own, place=place)


def ring(cycle: Sequence[PathStep], tail: Sequence[PathStep], is_program: IsProgram) -> Iterator[Search]:
    """Return searches for statements that close a cycle."""
    closed = (*cycle, cycle[0])
    for number in range(len(cycle)):
        yield from map(Search, mechanisms.at_step(closed, number))
    inside = sorted(pairwise(closed), key=lambda one: one[1].type in DISPLAYS)  # an empty list closes no cycle
    places = [(step, place) for step, _ in inside if (place := place_at(step)) is not None]
    own = [place for step, place in places if is_program(step.type)]
    rest = [place for step, place in places if not is_program(step.type)]
    for place in [*own, *(one for one in rest if one.kind is not PlaceKind.LOCAL)]:
        yield Search(partial(assigns, place=place), place=place)
    if any(hop.label == "grad" for step in cycle for hop in step.hops):
        yield Search(mechanisms.is_backward_with_graph)
    for step in cycle:
        yield from map(Search, mechanisms.makes_class(step))
    yield from captured(rest, cycle, tail)


def captured(places: Sequence[Place], cycle: Sequence[PathStep], tail: Sequence[PathStep]) -> Iterator[Search]:
    """Return searches for statements that close a cycle of frames and functions: assignments of a variable, else the
    function's definition.
    """
    for place in places:
        if place.kind is PlaceKind.LOCAL and not any(step.type == "function" for step in cycle):
            yield Search(partial(assigns, place=place), has_first_values=True, place=place)
    for step in (*cycle, *tail):
        yield from map(Search, mechanisms.makes_function(step))
    for place in places:
        yield Search(partial(assigns, place=place), place=place)
