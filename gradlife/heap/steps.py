"""From the references as they stand in memory to steps that a person reads.

Memory has more links than people think in: a module's dict, an instance's dict, a closure's tuple and cell, a wrapper and
its C++ object. Each such row of links becomes one step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gradlife.model.trace import Step

#: (node, kind, type, address, description, relation, label, index), as the extension gives them.
RawStep = tuple[int, str, str, int, str, str, str, int]


@dataclass(frozen=True, slots=True)
class Link:
    """One object of a raw path, and its reference to the next."""

    node: int
    kind: str
    type: str
    address: int
    detail: str
    relation: str
    label: str
    index: int


Links = Sequence[Link]
#: How a fold reads: the links that it takes, and what stands between the first and what comes after the last.
Fold = tuple[int, str]

ITS_IMPL = "its C++ object"
ITS_WRAPPER = "its wrapper"
#: What a node holds that is no saved tensor.
NODE_FIELDS = {
    "next edge",
    "hooks",
    "metadata",
    "variable",
    "context",
    "pack hook",
    "unpack hook",
    "packed",
    "saved grad_fn",
    "saved accumulator",
    "replayed operation",
}


def merged_steps(raw: Sequence[RawStep], is_cycle: bool = False) -> tuple[Step, ...]:
    """The steps of a path or of a cycle, with internal links folded into the references that they stand for."""
    links = [Link(*step) for step in raw]
    steps: list[Step] = []
    at = 0 if is_cycle else skip_to_module(links)
    while at < len(links):
        taken, via = fold(links, at)
        is_last = at + 1 == len(links) and not is_cycle
        if not is_half(links[at]):
            steps.append(step_of(links[at], "" if is_last else via))
        elif steps and not is_cycle and at + 1 == len(links):  # the object itself is an impl
            steps.append(step_of(links[at], ""))
        at += taken
    return tuple(steps)


def step_of(link: Link, via: str) -> Step:
    """The step of one object."""
    return Step(short_type(link.type), link.detail, link.kind, via, link.relation)


def skip_to_module(links: Links) -> int:
    """Where a path begins for a reader: everything hangs on sys.modules, so a module is a beginning."""
    found = len(links) > 2 and links[0].label == "sys.modules" and links[2].type == "module"
    return 2 if found else 0


def is_half(link: Link) -> bool:
    """Is this a C++ object that only stands for its wrapper, the next link?"""
    return link.kind not in {"python", "root"} and link.label == ITS_WRAPPER


def short_type(name: str) -> str:
    """``collections.OrderedDict`` is OrderedDict, ``engine::MulBackward0`` is MulBackward0."""
    head, mark, tail = name.rpartition("<locals>.")
    return (head and mark and tail) or name.rpartition("::")[2].rpartition(".")[2]


# --- folds -------------------------------------------------------------------------------------------------------------


def fold(links: Links, at: int) -> Fold:
    """How many links make one reference for a reader, and what that is called."""
    for attempt in FOLDS:
        found = attempt(links, at)
        if found is not None:
            return found
    return 1, words(links[at])


def follows(links: Links, at: int, *relations: str) -> bool:
    """Do links of these relations come next?"""
    rest = links[at : at + len(relations)]
    return len(rest) == len(relations) and all(
        link.relation == relation for link, relation in zip(rest, relations, strict=True)
    )


def fold_dict_of_names(links: Links, at: int) -> Fold | None:
    """A module's globals, a function's, an instance's attributes: object -> dict -> value."""
    link = links[at]
    if not follows(links, at + 1, "dict_value") or link.label not in {"__dict__", "__globals__"}:
        return None
    name = links[at + 1].label.strip("'")
    if link.type == "module" or link.label == "__globals__":
        return 2, f"global variable '{name}'"
    return 2, f".{name}"


def fold_frame_dict(links: Links, at: int) -> Fold | None:
    """The frame of a module or class body keeps its variables in a dict."""
    if links[at].label != "f_locals" or not follows(links, at + 1, "dict_value"):
        return None
    kind = "global" if links[at].detail.startswith("<module>") else "local"
    return 2, f"{kind} variable {links[at + 1].label}"


def fold_closure(links: Links, at: int) -> Fold | None:
    """function -> tuple of cells -> cell -> value."""
    if not links[at].label.startswith("__closure__:") or not follows(links, at + 1, "item", "cell"):
        return None
    return 3, f"closure variable '{name_at(links[at].label, links[at + 1].index)}'"


def fold_default(links: Links, at: int) -> Fold | None:
    """function -> tuple of defaults -> value."""
    if not links[at].label.startswith("__defaults__:") or not follows(links, at + 1, "item"):
        return None
    return 2, f"default argument '{name_at(links[at].label, links[at + 1].index)}'"


def fold_wrapper(links: Links, at: int) -> Fold | None:
    """wrapper -> its C++ object -> what that refers to."""
    if links[at].label != ITS_IMPL or at + 1 >= len(links):
        return None
    return 2, words(links[at + 1])


FOLDS: tuple[Callable[[Links, int], Fold | None], ...] = (
    fold_dict_of_names,
    fold_frame_dict,
    fold_closure,
    fold_default,
    fold_wrapper,
)


def name_at(label: str, index: int) -> str:
    """The name of one item of a tuple whose label lists the names of all."""
    names = label.partition(":")[2].split(",")
    return names[index] if 0 <= index < len(names) else str(index)


def words(link: Link) -> str:
    """One reference as one would write it."""
    match link.relation:
        case "attribute" | "slot":
            return f".{link.label}"
        case "dict_value":
            return f"[{link.label}]"
        case "dict_key":
            return "a key"
        case "item":
            return f"[{link.index}]" if link.index >= 0 else "an item"
        case "member":
            return "an element"
        case "local":
            return f"local variable '{link.label}'"
        case "stack":
            return "a value that it computes with"
        case "cell":
            return "the closure cell's contents"
        case "native":
            return native_words(link)
        case "unknown":
            return "a reference without a name"
    return link.label.partition(":")[0]


def native_words(link: Link) -> str:
    """A reference in C++."""
    if link.kind != "grad_node" or link.label in NODE_FIELDS:
        return link.label
    return f"saved tensor '{link.label}'"
