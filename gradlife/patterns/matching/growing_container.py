"""The container on a path that grows: it holds one more item after each step."""

from __future__ import annotations

from collections.abc import Sequence

from gradlife.model.growth import Growth
from gradlife.model.trace import PathStep
from gradlife.patterns.matching.path_tokens import Token

CONTAINERS = frozenset({"list", "deque", "set", "dict", "queue", "cycle", "array"})
#: Containers that can only be replaced by a longer one. They count only if known to grow.
REMADE = "tuple"
PLACES = frozenset({"item", "value", "key"})
#: References from an object or a module that may get more attributes or variables.
NAMED = frozenset({"attr", "global"})

#: A container with fewer items is ignored, unless it is known to grow.
FEWEST = 3


def site_of(path: Sequence[Token], steps: Sequence[PathStep], growth: Growth) -> int | None:
    """Return the token of the container that grows; None if a graph or a chain grows instead.

    If nothing is known about the growth, it is the fullest container before the first graph.
    """
    if growth.is_located:
        there = [i for i, token in enumerate(path) if token.step == growth.step]
        found = [i for i in there if may_grow(path[i])] or [i for i in there if path[i].word in NAMED]
        inside = [i for i in found if growth.hop is not None and path[i].hop <= growth.hop]
        return max(inside, default=min(found, default=None))
    graph = next((i for i, token in enumerate(path) if str(token) == "tensor.grad_fn"), len(path))
    places = [i for i, token in enumerate(path[:graph]) if is_place(token) and fullness(steps[token.step]) >= FEWEST]
    tables = [i for i in range(1, graph) if is_place(path[i]) and is_hook_table(path[i - 1])]
    return max(places, key=lambda i: fullness(steps[path[i].step]), default=next(iter(tables), None))


def is_hook_table(token: Token) -> bool:
    """Whether this reference leads to a hook table, whose size no step has."""
    return "hooks" in token.word or "hooks" in token.name


def is_place(token: Token) -> bool:
    """Whether this is a reference from a container."""
    return token.family in CONTAINERS and token.word in PLACES


def may_grow(token: Token) -> bool:
    """Whether this is a reference from a container, or from one that replaces a shorter one."""
    return is_place(token) or (token.family == REMADE and token.word in PLACES)


def fullness(step: PathStep) -> int:
    """Return the length of a container; a quarter for a dict of names, which is likely a record and does not grow."""
    last = step.hops[-1]
    is_record = last.relation == "dict_value" and last.label.startswith(("'", "<str>"))
    return (step.length or 0) // (4 if is_record else 1)
