"""A small trainer that stores its losses, and traces of what it keeps."""

from __future__ import annotations

from collections.abc import Sequence

from gradlife.hunting.stores import limits
from gradlife.hunting.stores.program_sources import Source
from gradlife.model.trace import Hop, Ledger, Lifetime, PathStep, Trace

TRAINER = """\
class Trainer:
    def __init__(self):
        self.losses = []
        self.total = 0

    def step(self):
        loss = self.model()
        self.losses.append(loss)  # kept
        self.total = self.total + loss

    def other(self):
        pass
"""
CREATED = ("train.py:7 in Trainer.step", "train.py:20 in <module>")


def step(type_: str, relation: str = "", label: str = "", detail: str = "", length: int | None = None) -> PathStep:
    hops = (Hop(type_, relation, label),) if relation else ()
    name = type_.rpartition(".")[2]
    return PathStep(name, detail, "python", "", relation, type=type_, hops=hops, length=length)


def variable(name: str) -> PathStep:
    hops = (Hop("module", "internal", "__dict__"), Hop("dict", "dict_value", repr(name)))
    return PathStep("module", "__main__", "python", "", "internal", type="module", hops=hops)


def trace(*steps: PathStep, detail: str = "float32 []") -> Trace:
    tensor = step("torch.Tensor", detail=detail)
    return Trace("Tensor", detail, Lifetime.HELD, (*steps, tensor), (), Ledger(1, ()))


def owned(name: str, type_: str = "__main__.Trainer") -> PathStep:
    return step(type_, "attribute", name)


def key(name: str) -> PathStep:
    return step("dict", "dict_value", repr(name))


def attributes(type_: str, *labels: str, bases: tuple[str, ...] = ()) -> PathStep:
    first, *rest = labels
    hops = (Hop(type_, "internal", first), *(Hop("dict", "dict_value", repr(label)) for label in rest))
    return PathStep(type_.rpartition(".")[2], "", "python", "", "internal", type=type_, bases=bases, hops=hops)


def cell(name: str) -> PathStep:
    hops = (Hop("function", "internal", f"__closure__:{name}"), Hop("tuple", "item", "", 0), Hop("cell", "cell", ""))
    return PathStep("function", "", "python", "", "internal", type="function", hops=hops)


def ring(*cycle: PathStep) -> Trace:
    return Trace("Tensor", "float32 [8]", Lifetime.GC, (), cycle, Ledger(1, ()))


LIST = step("list", "item", length=113)
KEPT = trace(variable("trainer"), owned("losses"), LIST)


def source(text: str, file: str = "train.py", module: str = "__main__") -> Source:
    return Source(module, file, text)


def limit_of(trace: Trace, container: int, sources: Sequence[Source]) -> str:
    """Where the program limits the container at this step; empty if nowhere."""
    found = limits.limit_of(trace, container, sources)
    return found.declared_by if found is not None else ""
