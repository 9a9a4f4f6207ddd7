"""Whether a program computes a metric again and again, but never resets it: then its states have no end."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradlife.hunting.stores.constant_values import given_to_attribute, given_to_variable
from gradlife.hunting.stores.emptyings import is_reset, takes
from gradlife.hunting.stores.place import Place, place_at, places_outward
from gradlife.hunting.stores.place_statements import last_name
from gradlife.hunting.stores.program_sources import Source
from gradlife.hunting.stores.whole_reads import COMPUTE, MAX_DEPTH, runs_once, statements_about
from gradlife.model.trace import Trace

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
    return any(
        not is_super(receiver) and not is_of_another_class(receiver, source, place)
        for receiver in receivers_of_reset(source.tree)
    )


def receivers_of_reset(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield what `reset()` is called of."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "reset":
            yield node.func.value


def is_super(node: ast.expr) -> bool:
    """Whether it is `super()`."""
    return isinstance(node, ast.Call) and last_name(node.func) == "super"


def is_of_another_class(receiver: ast.expr, source: Source, place: Place) -> bool:
    """Whether the source makes all that it gives to a variable or an attribute by classes that make no such metric."""
    mine = set(classes_given(ast.Name(place.name), source) + classes_given(attribute(place.name), source))
    found = classes_given(receiver, source)
    return bool(found) and all(found) and mine.isdisjoint(found)


def attribute(name: str) -> ast.expr:
    """Return an attribute of this name of anything."""
    return ast.Attribute(ast.Name("self"), name)


def classes_given(node: ast.expr, source: Source) -> list[str]:
    """Return the names of the classes that make what a variable or an attribute is given; "": it may be anything."""
    match node:
        case ast.Name(id=name):
            given = given_to_variable(name, source.tree)
        case ast.Attribute(attr=name):
            given = given_to_attribute(name, source.tree)
        case _:
            return []
    return [class_made(one) for one in given]


def class_made(value: ast.expr) -> str:
    """Return the name of the class that a call makes an object of, by its capital or its `make`; "" if it is no such call."""
    name = last_name(value.func) if isinstance(value, ast.Call) else ""
    return name if name[:1].isupper() or name == "make" else ""
