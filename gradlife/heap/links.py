"""References as they stand in memory, one by one, and what each is called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: (node, kind, type, address, description, relation, label, index, bases), as the extension gives them.
RawStep = tuple[int, str, str, int, str, str, str, int, str]

#: Between the name of a reference and what is called: as in `csrc/heap_py/relation.hpp`.
CALL = "\x1f"


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
    bases: str = ""
    call: str = ""  # of a reference to arguments, what they are for: "worker(batch,label)"

    def is_a(self, types: frozenset[str]) -> bool:
        """Is its type one of these, or derived from one? Full names."""
        return self.type in types or not types.isdisjoint(self.bases.splitlines())


def links_of(raw: Iterable[RawStep]) -> list[Link]:
    """The links of a path as the extension gives it."""
    return [link_of(*step) for step in raw]


def link_of(
    node: int, kind: str, type_: str, address: int, detail: str, relation: str, label: str, index: int, bases: str
) -> Link:
    """One of them. What is called stands behind the name, apart by a character that no name and no key is shown with."""
    name, _, call = label.partition(CALL)
    return Link(node, kind, type_, address, detail, relation, name, index, bases, call)


Links = Sequence[Link]
#: How a fold reads: the links that it takes, and what stands between the first and what comes after the last.
Fold = tuple[int, str]

ITS_IMPL = "its C++ object"
ITS_WRAPPER = "its wrapper"
#: What a storage calls the owner of memory that is not its own, and what a person reads.
OWNER_OF_MEMORY = "memory of"
OWNER_WORDS = "uses the memory of"
#: A variable that the caller of a function gives says so before its name.
ARGUMENT = "argument "
#: What a comprehension or generator expression calls the iterator that it is given.
IMPLICIT = ".0"
#: Tensors' tables of hooks, by the attributes that show them.
HOOK_TABLES = {"tensor hooks": "_backward_hooks", "post-accumulate hooks": "_post_accumulate_grad_hooks"}
#: What a node holds that is no saved tensor.
NODE_FIELDS = {
    "next edge",
    "hooks",
    "hook table",
    "prehooks",
    "tensor hooks",
    "metadata",
    "variable",
    "context",
    "pack hook",
    "unpack hook",
    "packed",
    "saved grad_fn",
    "saved accumulator",
    "replayed operation",
    "input metadata",
}


def follows(links: Links, at: int, *relations: str) -> bool:
    """Do links of these relations come next?"""
    rest = links[at : at + len(relations)]
    return len(rest) == len(relations) and all(
        link.relation == relation for link, relation in zip(rest, relations, strict=True)
    )


def attribute_at(links: Links, at: int) -> Fold | None:
    """An attribute of an object, in its dict or not: the links that it takes, and its name."""
    if links[at].relation in {"attribute", "slot"}:
        return 1, links[at].label
    if links[at].label == "__dict__" and follows(links, at + 1, "dict_value"):
        return 2, links[at + 1].label.strip("'")
    return None


def is_half(link: Link) -> bool:
    """Is this a C++ object that only stands for its wrapper, the next link?"""
    return link.kind not in {"python", "root"} and link.label == ITS_WRAPPER


def short_type(name: str) -> str:
    """``collections.OrderedDict`` is OrderedDict, ``engine::MulBackward0`` is MulBackward0."""
    head, mark, tail = name.rpartition("<locals>.")
    return (head and mark and tail) or name.rpartition("::")[2].rpartition(".")[2]


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
            return variable_words(link.label)
        case "stack":
            return "a value that it computes with"
        case "cell":
            return "the closure cell's contents"
        case "native":
            return native_words(link)
        case "unknown":
            return "a reference without a name"
    name = link.label.partition(":")[0]
    return f".{name}" if name.isidentifier() and link.kind == "python" else name


def variable_words(label: str) -> str:
    """A variable of a frame."""
    if label == ARGUMENT + IMPLICIT:
        return "what it iterates over"
    is_argument = label.startswith(ARGUMENT)
    return f"{'argument' if is_argument else 'local variable'} '{label.removeprefix(ARGUMENT)}'"


def native_words(link: Link) -> str:
    """A reference in C++."""
    if link.label == OWNER_OF_MEMORY:
        return OWNER_WORDS
    name = link.label if link.index < 0 or link.label == "next edge" else f"{link.label}[{link.index}]"
    if name.startswith("saved_tensors"):
        return f".{name}"
    if link.label.partition("[")[0] == "tensors" and link.type.startswith("engine::"):  # of a custom Function's node
        return f".saved_{name}"
    if link.kind != "grad_node" or link.label in NODE_FIELDS:
        return name
    return "a saved tensor" if link.label == "saved" else saved_words(name)


def saved_words(name: str) -> str:
    """``indices[0]``, of a node that saved a list, is saved tensor 'indices'[0]."""
    field, bracket, index = name.partition("[")
    return f"saved tensor '{field}'{bracket}{index}"
