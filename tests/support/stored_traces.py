"""A small trainer that stores its losses, and traces of what it keeps."""

from __future__ import annotations

from gradlife.hunting.stores.program_sources import Source
from gradlife.model.trace import Hop, Ledger, Lifetime, Step, Trace

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


def step(type_: str, relation: str = "", label: str = "", detail: str = "", length: int | None = None) -> Step:
    hops = (Hop(type_, relation, label),) if relation else ()
    name = type_.rpartition(".")[2]
    return Step(name, detail, "python", "", relation, type=type_, hops=hops, length=length)


def variable(name: str) -> Step:
    hops = (Hop("module", "internal", "__dict__"), Hop("dict", "dict_value", repr(name)))
    return Step("module", "__main__", "python", "", "internal", type="module", hops=hops)


def trace(*steps: Step, detail: str = "float32 []") -> Trace:
    tensor = step("torch.Tensor", detail=detail)
    return Trace("Tensor", detail, Lifetime.HELD, (*steps, tensor), (), Ledger(1, ()))


def owned(name: str) -> Step:
    return step("__main__.Trainer", "attribute", name)


LIST = step("list", "item", length=113)
KEPT = trace(variable("trainer"), owned("losses"), LIST)


def source(text: str, file: str = "train.py", module: str = "__main__") -> Source:
    return Source(module, file, text)
