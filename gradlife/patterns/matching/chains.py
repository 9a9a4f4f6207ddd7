"""Recognize an autograd graph that each step makes longer, and why, by the grad nodes that repeat in it."""

from __future__ import annotations

import re

from gradlife.model.hunt import FindingKind
from gradlife.model.trace import is_scalar_detail
from gradlife.patterns.matching.pattern import Case

#: Grad nodes that only pass a gradient on. They say nothing about the reason, and are skipped.
PASSING = re.compile(r"(To(Copy)?|View|Squeeze|Unsqueeze|Reshape|Alias|Clone|Expand)Backward\d?")

#: Types of functions, and the least number of objects that make a chain.
FUNCTIONS, MIN_LINKS = frozenset({"function", "method", "functools.partial"}), 3


def is_chain(case: Case) -> bool:
    """Whether what grows is the graph of one tensor, not a container."""
    return case.kind is FindingKind.GROWTH and case.site is None and bool(backbone(case))


def backbone(case: Case) -> list[str]:
    """Return the grad nodes on the path from the tensor on, without `PASSING`; only its grad_fn if the path ends at it."""
    steps = case.steps
    start = next((token.step for token in case.path if str(token) == "tensor.grad_fn"), None)
    if start is None:
        own = case.trace.tensor.grad_fn if case.trace.tensor else ""
        return [own] if own else []
    nodes = [step.object for step in steps[start + 1 :] if is_node(step.object) or step.kind == "grad_node"]
    return [node for node in nodes if not PASSING.fullmatch(node)]


def is_plain_chain(case: Case) -> bool:
    """Whether it is a chain of at least three objects of one type, each held by the one before.

    Containers are a chain only where each holds the next at the same place.
    """
    steps = [step for step in case.steps if step.kind == "python"]
    kinds = [(step.type, step.reference if step.length is not None else ()) for step in steps]
    return case.site is None and any(kinds.count(kind) >= MIN_LINKS for kind in set(kinds))


def is_chain_of_functions(case: Case) -> bool:
    """Whether at least three of the objects of a plain chain are functions: each keeps the one that it replaced."""
    return is_plain_chain(case) and sum(step.type in FUNCTIONS for step in case.steps) >= MIN_LINKS


def is_node(name: str) -> bool:
    """Whether this is the type of a grad node."""
    return re.fullmatch(r"\w+Backwards?\d*", name) is not None


def is_running_total(case: Case) -> bool:
    """Whether each step adds to a total: the graph begins with two sums, or with one if the tensor is a scalar."""
    nodes = backbone(case)
    if not is_chain(case) or nodes[0] != "AddBackward0":
        return False
    return nodes[1:2] == ["AddBackward0"] or is_scalar(case)


def is_weight_chain(case: Case) -> bool:
    """Whether each step updates a weight: the graph begins with the difference of the weight and a scaled gradient."""
    return is_chain(case) and backbone(case)[0] in {"SubBackward0", "AddcdivBackward0", "AddcmulBackward0"}


def is_state_chain(case: Case) -> bool:
    """Whether the graph of one tensor grows at all. Its pattern stands after those of totals and weights."""
    return is_chain(case)


def is_scalar(case: Case) -> bool:
    """Whether the tensor whose graph grows is a scalar."""
    steps = case.steps
    head = next((token.step for token in case.path if str(token) == "tensor.grad_fn"), len(steps) - 1)
    return bool(steps) and is_scalar_detail(steps[head].detail)
