"""The references to cut to prove a finding: the paths of its traces, as data for another process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from gradlife.heap.torch_layout.labels import HOOK_TABLE, RUNNING_FRAME
from gradlife.hunting.stores.place import is_container
from gradlife.model.hunt import Finding, FindingKind
from gradlife.model.trace import Hop, Lifetime, PathStep
from gradlife.patterns.matching.pattern import Case
from gradlife.patterns.wording import expression, step_family

#: The kinds of cuts.
ITEMS, DETACH, CLEAR, RESTORE, HOOKS, CACHE = "items", "detach", "clear", "restore", "hooks", "cache"

#: The type of a function with a cache in C.
CACHED_FUNCTION = "functools._lru_cache_wrapper"

#: The code of what a step stores on one of many objects, and the label of a reference to each item of a container.
ON_EACH, EVERY = "GL527", "*"

#: Codes of graphs that grow as a chain: the cut detaches the tensor that is carried to the next step.
CHAINS = frozenset({"GL403", "GL404", "GL408"})

#: References from a Python object to a table of its hooks.
HOOK_TABLES = frozenset({"_backward_hooks", "_post_accumulate_grad_hooks", HOOK_TABLE})


@dataclass(frozen=True)
class Cut:
    """A reference that the proving run cuts after each step."""

    how: str
    root: str  # "module train", "frame loop"; for a cycle "each torch.Tensor": every new object of the type
    hops: tuple[tuple[str, str, int], ...]  # relation, label and index of each reference from the root on
    text: str  # "items of state.history dropped after each step"


def dump_cuts(cuts: Sequence[Cut]) -> str:
    """Return cuts as text."""
    return json.dumps([asdict(one) for one in cuts])


def load_cuts(text: str) -> list[Cut]:
    """Read cuts from text."""
    rows: list[dict[str, Any]] = json.loads(text)
    return [Cut(row["how"], row["root"], tuple(tuple(hop) for hop in row["hops"]), row["text"]) for row in rows]


def cuts_of(finding: Finding) -> tuple[Cut, ...]:
    """Return the reference to cut, then those of the other places that the same line fills; empty if no variable of the program
    leads to the survivor.
    """
    first = cut_of(finding)
    if first is None:
        return ()
    others = (cut_of(replace(finding, trace=trace)) for trace in finding.also_grows)
    return tuple(dict.fromkeys([first, *filter(None, others)]))


def text_of(cuts: Sequence[Cut]) -> str:
    """Describe cuts in a phrase."""
    more = len(cuts) - 1
    places = f", like those of {more} other place{'s' if more > 1 else ''} that the same line fills" if more else ""
    return f"{cuts[0].text}{places}"


def cut_of(finding: Finding) -> Cut | None:
    """Return the reference to cut; None if no variable of the program leads to the survivor."""
    steps = finding.trace.steps
    root = root_of(steps[0]) if steps else ""
    if not root:
        return ring_cut(finding.trace.cycle) if not steps else None
    cached = next((at for at, step in enumerate(steps) if step.type == CACHED_FUNCTION), None)
    if cached is not None:
        return cut_at(CACHE, root, steps, cached, "cache of {} emptied after each step")
    case = Case(finding.trace, FindingKind.GROWTH, Lifetime.HELD)
    graph = next((token.step for token in case.path if str(token) == "tensor.grad_fn"), None)
    head = graph if graph is not None else len(steps) - 1
    if finding.code in CHAINS:
        return cut_at(DETACH, root, steps, head, "{} detached after each step")
    if finding.code == ON_EACH and (cut := cut_on_each(root, steps)) is not None:
        return cut
    if case.site is not None:
        step = case.path[case.site].step
        hops = hops_before(steps, step, container_hop(steps[step]))
        return Cut(ITEMS, root, hops, f"new items of {expression(steps, step) or 'it'} dropped after each step")
    last = last_attribute(steps, head)
    if last is None:
        return None
    if finding.kind is FindingKind.GROWTH:  # the program may need what is there
        return cut_at(RESTORE, root, steps, last, "{} set back to what it was after each step")
    return cut_at(CLEAR, root, steps, last, "{} set to None after each step")


def cut_on_each(root: str, steps: tuple[PathStep, ...]) -> Cut | None:
    """Describe a cut of an attribute of each item of a container; None if the path has no such place."""
    container = next((at for at, step in enumerate(steps) if is_container(step)), None)
    last = last_attribute(steps, len(steps) - 1)
    if container is None or last is None or last <= container + 1:
        return None
    before = hops_before(steps, container, container_hop(steps[container]))
    after = hops_before(steps, last, 0)[len(before) + 1 :]
    text = f"{steps[last - 1].via} of each item of {expression(steps, container) or 'it'} cleared after each step"
    return Cut(CLEAR, root, (*before, ("item", EVERY, -1), *after), text)


def ring_cut(cycle: tuple[PathStep, ...]) -> Cut | None:
    """Describe a cut of a cycle. No variable leads to it, but its objects are new in each step and known by type."""
    for step in cycle:
        table = next((number for number, hop in enumerate(step.hops) if hop.label in HOOK_TABLES), None)
        if step.kind != "python" or not (is_settable(step.hops) or table is not None):
            continue
        hops = tuple((hop.relation, hop.label, hop.index) for hop in step.hops)
        if table is not None:
            return Cut(
                HOOKS,
                f"each {step.type}",
                hops[: table + 1],
                f"hooks of each new {step.object} removed after each step",
            )
        place = step.via.removeprefix(".") or "what it holds"
        return Cut(CLEAR, f"each {step.type}", hops, f"{place} of each new {step.object} set to None after each step")
    return None


def is_settable(hops: tuple[Hop, ...]) -> bool:
    """Whether the last of these references can be assigned another value."""
    if not hops:
        return False
    last = hops[-1]
    return last.relation in {"attribute", "slot", "cell", "dict_value"} or (
        last.relation == "item" and last.type == "list"
    )


def cut_at(how: str, root: str, steps: tuple[PathStep, ...], step: int, text: str) -> Cut:
    """Return the cut of the reference that leads to this step's object."""
    return Cut(how, root, hops_before(steps, step, 0), text.format(expression(steps, step) or "it"))


def root_of(step: PathStep) -> str:
    """Return the root of the path, if another process can find it again."""
    if step.kind == "root" and step.object == RUNNING_FRAME:
        return "frame " + step.detail.partition(" (")[0]
    return f"module {step.detail}" if step.object == "module" else ""


def hops_before(steps: tuple[PathStep, ...], step: int, more: int) -> tuple[tuple[str, str, int], ...]:
    """Return all references before a step, and the first ``more`` of its own."""
    hops: list[Hop] = [hop for one in steps[:step] for hop in one.hops]
    return tuple((hop.relation, hop.label, hop.index) for hop in [*hops, *steps[step].hops[:more]])


def container_hop(step: PathStep) -> int:
    """Count the references of a step that lead to its inner container, such as a module's dict of hooks."""
    return max(0, len(step.hops) - 1)


def last_attribute(steps: tuple[PathStep, ...], head: int) -> int | None:
    """Return the step that the program's last attribute or variable before ``head`` leads to."""
    found = (
        number + 1
        for number in range(head - 1, -1, -1)
        if step_family(steps[number]) in {"object", "nn", "module"} and steps[number].hops
    )
    return next(found, None)
