"""Where on a way the growth is: at the container that holds one more after each step."""

from __future__ import annotations

from collections.abc import Sequence

from gradlife.model.trace import Step
from gradlife.patterns.tokens import Token

CONTAINERS = frozenset({"list", "deque", "set", "dict", "queue", "cycle"})
#: One that is only made anew with more in it, and of which that is to be known: most are as long as they are.
REMADE = "tuple"
PLACES = frozenset({"item", "value", "key"})

#: A container that holds fewer is not taken for the one that grows, unless it is known to be.
FEWEST = 3


def site_of(way: Sequence[Token], steps: Sequence[Step], anchor: int | None) -> int | None:
    """The token at which the way passes through what grows; None where it is no container but a graph or a chain.

    Where nothing is known of the growth it is the fullest container in front of the first graph.
    """
    if anchor is not None:
        return next((i for i, token in enumerate(way) if token.step == anchor and may_grow(token)), None)
    graph = next((i for i, token in enumerate(way) if str(token) == "tensor.grad_fn"), len(way))
    places = [i for i, token in enumerate(way[:graph]) if is_place(token) and fullness(steps[token.step]) >= FEWEST]
    tables = [i for i in range(1, graph) if is_place(way[i]) and is_hook_table(way[i - 1])]
    return max(places, key=lambda i: fullness(steps[way[i].step]), default=next(iter(tables), None))


def is_hook_table(token: Token) -> bool:
    """Does this reference lead to a table of hooks, whose size no step tells?"""
    return "hooks" in token.word or "hooks" in token.name


def is_place(token: Token) -> bool:
    """Is this a reference from a container?"""
    return token.family in CONTAINERS and token.word in PLACES


def may_grow(token: Token) -> bool:
    """Is this a reference from a container, or from what takes the place of a shorter one?"""
    return is_place(token) or (token.family == REMADE and token.word in PLACES)


def fullness(step: Step) -> int:
    """How much a container holds; a dict of names is likely a record, which is full as it is."""
    last = step.hops[-1]
    is_record = last.relation == "dict_value" and last.label.startswith(("'", "<str>"))
    return (step.length or 0) // (4 if is_record else 1)
