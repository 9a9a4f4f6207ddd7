"""Convert a trace to tokens, one per reference: the family of the referrer and the relation, without the program's
names.

``list.item tensor.grad_fn node.saved``: a list's item is a tensor, whose grad node saved the traced object. Relations
are attr, item, value and key of a dict, local, closure, global and others. Attributes with a meaning in a framework
keep their names, ``nn.attr:_forward_hooks``; the program's own have none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradlife.model.trace import Hop, PathStep
from gradlife.patterns.matching.type_families import NAMES, PLAIN_ATTRIBUTES, family_of, is_of_library

#: References of grad nodes, tensors and ctx other than saved tensors.
NATIVE_WORDS = {
    "next edge": "next",
    "grad_fn": "grad_fn",
    "grad": "grad",
    "base": "base",
    "storage": "storage",
    "variable": "variable",
    "hooks": "hooks",
    "hook table": "hooks",
    "_backward_hooks": "hooks",
    "_post_accumulate_grad_hooks": "posthooks",
    "metadata": "metadata",
    "context": "ctx",
    "saved for backward": "saved",
    "pack hook": "pack",
    "unpack hook": "unpack",
    "packed": "packed",
    "its wrapper": "wrapper",
    "prehooks": "hooks",
    "saved_tensors": "saved",
    "saved tensor": "saved",
    "saved grad_fn": "next",
    "saved accumulator": "next",
    "replayed operation": "next",
    "tangent": "grad",
    "input metadata": "held",
    "part": "base",
}
PLAIN_WORDS = {
    "attribute": "attr",
    "slot": "attr",
    "item": "item",
    "dict_value": "value",
    "dict_key": "key",
    "member": "item",
    "local": "local",
    "stack": "local",
    "cell": "cell",
    "root": "root",
    "global": "global",
    "unknown": "field",
}
INTERNAL_WORDS = {
    "__traceback__": "traceback",
    "__context__": "cause",
    "args": "args",
    "__cause__": "cause",
    "__self__": "self",
    "__func__": "func",
    "tb_frame": "frame",
    "tb_next": "next",
    "f_back": "back",
    "cache": "cache",
    "a cached result or its arguments": "cache",
    "the cached function": "func",
    "__wrapped__": "func",
    "__code__": "code",
    "__class__": "class",
}


@dataclass(frozen=True, slots=True)
class Token:
    """One reference: the family of the referrer, the relation, and the step that it belongs to."""

    family: str
    word: str
    name: str  # of an attribute with a meaning in a library
    step: int  # index of its step
    hop: int = 0  # index of its first reference in the step

    def __str__(self) -> str:
        if not self.word:
            return f"={self.family}"
        return f"{self.family}.{self.word}" + (f":{self.name}" if self.name else "")


def tokens_of(steps: Sequence[PathStep]) -> tuple[Token, ...]:
    """Return the tokens of a path or a cycle, in order."""
    return tuple(token for number, step in enumerate(steps) for token in tokens_of_step(step, number))


def tokens_of_step(step: PathStep, number: int) -> Iterator[Token]:
    """Yield the tokens of one step; references that form one relation are one token."""
    hops = list(step.hops)
    is_first = True
    if not hops:
        yield Token(family_of(step.type, step.bases, step.kind), "", "", number)
    while hops:
        at = len(step.hops) - len(hops)
        family = family_of(step.type, step.bases, step.kind) if is_first else family_between(hops)
        taken, word, name = read(hops, family)
        source = family_of_source(family, step, is_first)
        if is_first and word == "attr" and not name and family in PLAIN_ATTRIBUTES and not is_of_library(step.type):
            source = "object"
        if source.endswith("module") and source != "module":
            name = hops[1].label.strip("'") if taken == 2 else ""
        if word not in {"impl", "wrapper"}:
            yield Token(source, word, name, number, at)
        del hops[:taken]
        is_first = False


def family_between(hops: Sequence[Hop]) -> str:
    """Return the family of an object between two steps, whose bases no hop has: a module is known by its tables."""
    name = hops[1].label.strip("'") if hops[0].label == "__dict__" and len(hops) > 1 else ""
    return "nn" if name in NAMES["nn"] else family_of_holder(hops[0].type)


def family_of_holder(type_: str) -> str:
    """Return the family of an object between two steps: a dict, a tuple, a cell, or a C++ object."""
    if "::" not in type_:
        return family_of(type_)
    name = type_.rpartition("::")[2]
    return family_of(name, kind={"TensorImpl": "tensor", "StorageImpl": "storage"}.get(name, "grad_node"))


def family_of_source(family: str, step: PathStep, is_first: bool) -> str:
    """Return the token of a module; frameworks' modules have their own: `torchmodule`, `compilermodule`."""
    if family != "module" or not is_first:
        return family
    owner = family_of(f"{step.detail}.x")
    return "module" if owner == "object" else f"{owner}module"


def read(hops: Sequence[Hop], family: str) -> tuple[int, str, str]:
    """Return how many references the next token covers, its relation, and its name."""
    hop = hops[0]
    following = hops[1].relation if len(hops) > 1 else ""
    if hop.label in {"__dict__", "f_locals"} and following == "dict_value":
        return 2, *attribute(family, hops[1].label.strip("'"))
    if hop.label == "__globals__" and following == "dict_value":
        return 2, "global", ""
    if hop.label.startswith("__closure__:") and following == "item":
        return (3 if len(hops) > 2 and hops[2].relation == "cell" else 2), "closure", ""
    if hop.label.startswith(("__defaults__:", "__kwdefaults__")) and following in {"item", "dict_value"}:
        return 2, "default", ""
    if hop.relation in {"attribute", "slot"}:
        return 1, *attribute(family, hop.label)
    return 1, word_of(hop, family), hop.label.replace(" ", "_") if hop.relation == "root" else ""


def attribute(family: str, name: str) -> tuple[str, str]:
    """Return the relation and the name of an attribute."""
    if family in {"module", "frame", "running"}:
        return ("global" if family == "module" else "local"), ""
    return "attr", name if name in NAMES.get(family, ()) else ""


def word_of(hop: Hop, family: str) -> str:
    """Return the relation of one reference."""
    if hop.relation == "native":
        if hop.label == "its C++ object":
            return "impl"
        return NATIVE_WORDS.get(hop.label, "saved" if family in {"node", "ctx"} else "held")
    if hop.relation == "internal":
        return INTERNAL_WORDS.get(hop.label.partition(":")[0], "field")
    return PLAIN_WORDS.get(hop.relation, "field")
