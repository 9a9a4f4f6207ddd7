"""Recognize graphs that lead from each step into the previous one, by their repeated nodes."""

from __future__ import annotations

import re

from gradlife.model.hunt import FindingKind
from gradlife.patterns.matching.pattern import Case

#: Nodes that only pass a gradient on, between the sums of a running total.
PASSING = re.compile(r"(To(Copy)?|View|Squeeze|Unsqueeze|Reshape|Alias|Clone|Expand)Backward\d?")


def is_chain(case: Case) -> bool:
    """Whether one tensor's graph grows, not a container."""
    return case.kind is FindingKind.GROWTH and case.site is None and bool(backbone(case))


def backbone(case: Case) -> list[str]:
    """Return the grad nodes on the path from the held tensor, or its own node if the path ends there."""
    steps = case.steps
    start = next((token.step for token in case.path if str(token) == "tensor.grad_fn"), None)
    if start is None:
        own = case.trace.tensor.grad_fn if case.trace.tensor else ""
        return [own] if own else []
    nodes = [step.object for step in steps[start + 1 :] if is_node(step.object) or step.kind == "grad_node"]
    return [node for node in nodes if not PASSING.fullmatch(node)]


def is_node(name: str) -> bool:
    """Whether this is the type of a grad node."""
    return re.fullmatch(r"\w+Backwards?\d*", name) is not None


def is_running_total(case: Case) -> bool:
    """Whether it is a chain of sums, one per step. A scalar that starts with one sum counts too."""
    nodes = backbone(case)
    if not is_chain(case) or nodes[0] != "AddBackward0":
        return False
    return nodes[1:2] == ["AddBackward0"] or is_scalar(case)


def is_weight_chain(case: Case) -> bool:
    """Whether it is a chain of differences: a weight minus a step along its gradient."""
    return is_chain(case) and backbone(case)[0] in {"SubBackward0", "AddcdivBackward0", "AddcmulBackward0"}


def is_state_chain(case: Case) -> bool:
    """Whether it is any other chain."""
    return is_chain(case)


def is_scalar(case: Case) -> bool:
    """Whether the tensor at the head of the chain is a scalar."""
    steps = case.steps
    head = next((token.step for token in case.path if str(token) == "tensor.grad_fn"), len(steps) - 1)
    return bool(steps) and "[]" in steps[head].detail
