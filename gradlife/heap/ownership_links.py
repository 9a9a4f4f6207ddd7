"""Format one reference: ``.name``, ``[3]``, ``local variable 'x'``."""

from __future__ import annotations

from gradlife.heap.graph import Reference, References, is_native
from gradlife.heap.torch_layout.labels import (
    ARGUMENT,
    HOOK_TABLE,
    HOOKS,
    INPUT_METADATA,
    ITS_WRAPPER,
    MEMORY_OF,
    METADATA,
    NEXT_EDGE,
    PACK_HOOK,
    PACKED,
    POST_ACCUMULATE_HOOKS,
    PREHOOKS,
    REPLAYED_OPERATION,
    SAVED_ACCUMULATOR,
    SAVED_GRAD_FN,
    TENSOR_HOOKS,
    UNPACK_HOOK,
    VARIABLE,
)

Links = References
#: A fold: the number of links that it replaces, and their text.
Fold = tuple[int, str]

#: The text of a storage's reference to the owner of borrowed memory.
OWNER_WORDS = "uses the memory of"
#: The variable that holds the iterator of a comprehension or generator expression.
IMPLICIT = ".0"
#: Hook tables of tensors, by the attributes that hold them.
HOOK_TABLES = {TENSOR_HOOKS: "_backward_hooks", POST_ACCUMULATE_HOOKS: "_post_accumulate_grad_hooks"}
#: References of a node other than saved tensors.
NODE_FIELDS = {
    NEXT_EDGE,
    HOOKS,
    HOOK_TABLE,
    PREHOOKS,
    TENSOR_HOOKS,
    METADATA,
    VARIABLE,
    "context",
    PACK_HOOK,
    UNPACK_HOOK,
    PACKED,
    SAVED_GRAD_FN,
    SAVED_ACCUMULATOR,
    REPLAYED_OPERATION,
    INPUT_METADATA,
}


def follows(links: Links, at: int, *relations: str) -> bool:
    """Whether the next links have these relations."""
    rest = links[at : at + len(relations)]
    return len(rest) == len(relations) and all(
        link.relation == relation for link, relation in zip(rest, relations, strict=True)
    )


def attribute_at(links: Links, at: int) -> Fold | None:
    """Return the number of links to an attribute, in the object's dict or not, and its name."""
    if links[at].relation in {"attribute", "slot"}:
        return 1, links[at].label
    if links[at].label == "__dict__" and follows(links, at + 1, "dict_value"):
        return 2, links[at + 1].label.strip("'")
    return None


def is_native_part(link: Reference) -> bool:
    """Whether this is a C++ object that stands only for its wrapper, the next link."""
    return is_native(link) and link.label == ITS_WRAPPER


def short_type(name: str) -> str:
    """Shorten a type: ``collections.OrderedDict`` is OrderedDict, ``engine::MulBackward0`` is MulBackward0."""
    head, mark, tail = name.rpartition("<locals>.")
    return (head and mark and tail) or name.rpartition("::")[2].rpartition(".")[2]


def words(link: Reference) -> str:
    """Format a reference, as code if possible."""
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
    """Format a frame's variable."""
    if label == ARGUMENT + IMPLICIT:
        return "what it iterates over"
    is_argument = label.startswith(ARGUMENT)
    return f"{'argument' if is_argument else 'local variable'} '{label.removeprefix(ARGUMENT)}'"


def native_words(link: Reference) -> str:
    """Format a reference held in C++."""
    if link.label == MEMORY_OF:
        return OWNER_WORDS
    name = link.label if link.index < 0 or link.label == NEXT_EDGE else f"{link.label}[{link.index}]"
    if name.startswith("saved_tensors"):
        return f".{name}"
    if link.label.partition("[")[0] == "tensors" and link.type.startswith("engine::"):  # of a custom Function's node
        return f".saved_{name}"
    if link.kind != "grad_node" or link.label in NODE_FIELDS:
        return name
    return "a saved tensor" if link.label == "saved" else saved_words(name)


def saved_words(name: str) -> str:
    """Format a saved tensor: ``indices[0]``, of a node that saved a list, is saved tensor 'indices'[0]."""
    field, bracket, index = name.partition("[")
    return f"saved tensor '{field}'{bracket}{index}"
