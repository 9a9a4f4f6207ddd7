"""Whether a program computes a metric again and again, but never resets it: then its states have no end."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set

from gradlife.hunting.stores.constant_values import given_to_attribute, given_to_variable
from gradlife.hunting.stores.emptyings import is_reset, takes
from gradlife.hunting.stores.place import Place, place_at, places_outward
from gradlife.hunting.stores.program_sources import Source
from gradlife.hunting.stores.whole_reads import COMPUTE, MAX_DEPTH, runs_once, statements_about
from gradlife.model.trace import Trace
from gradlife.source.syntax import last_name

METHODS = frozenset({COMPUTE})


def is_computed_but_never_reset(trace: Trace, metric: int, sources: Sequence[Source]) -> bool:
    """Whether the source calls `compute` of the metric at this step repeatedly, but neither resets nor replaces it.

    A library may reset a metric that it was given. So only a metric that the program itself computes counts.
    """
    place = place_at(trace.steps[metric - 1]) if metric > 0 else None
    if place is None or any(may_reset(source, place) for source in sources if ".reset(" in source.text):
        return False
    computing = [one for one in statements_about(place, sources) if takes(one.node, one.scope, place, METHODS)]
    if all(runs_once(one.scope, sources, MAX_DEPTH) for one in computing):
        return False
    around = (place for _, place in places_outward(trace.steps, metric - 1))
    return not any(is_reset(one, place) for place in around for one in statements_about(place, sources))


def may_reset(source: Source, place: Place) -> bool:
    """Whether a `reset()` in the source may be one of the metric at this place.

    `env.reset()` is none where `env = Environment()`: what the program makes by another class.
    """
    mine = classes_of(place.name, source.tree)
    return any(may_be_of(mine, classes_of(name, source.tree)) for name in names_reset(source.tree))


def names_reset(tree: ast.Module) -> Iterator[str]:
    """Yield the last name of what `reset()` is called of; "" for one without a name. `super()` is the metric's own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "reset":
            receiver = node.func.value
            if not (isinstance(receiver, ast.Call) and last_name(receiver.func) == "super"):
                yield last_name(receiver)


def may_be_of(mine: Set[str], found: Set[str]) -> bool:
    """Whether what is made by these classes may be the metric. Without a class it may be anything."""
    return not found or "" in found or not mine.isdisjoint(found)


def classes_of(name: str, tree: ast.Module) -> Set[str]:
    """Return the classes that make what the source gives to variables and attributes of a name; "": it may be anything."""
    return {class_made(one) for one in (*given_to_variable(name, tree), *given_to_attribute(name, tree))}


def class_made(value: ast.expr) -> str:
    """Return the name of the class that a call makes an object of, by its capital or its `make`; "" if it is no such call."""
    name = last_name(value.func) if isinstance(value, ast.Call) else ""
    return name if name[:1].isupper() or name == "make" else ""
