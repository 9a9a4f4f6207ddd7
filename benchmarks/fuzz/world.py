"""One system running a program: its names, its weakly watched objects, and what it shows after each step.

A world is the `lab` of the program's hooks and Functions. It keeps no subject alive and reads only what leaves no
trace, unless the program reads gradients.
"""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Callable
from functools import lru_cache
from types import CodeType
from typing import Any

from benchmarks.fuzz import cast
from benchmarks.fuzz.program import Program

CAST = {name: getattr(cast, name) for name in ("hook", "pack", "unpack", "custom", "subclass")}
ADDRESS = re.compile(r"0x[0-9a-f]+")
OWN_PLACE = re.compile(r"gradlife\.engine\b(\.tensors)?\.|torch\.(storage\.)?\b")
PLAIN = frozenset({int, float, bool, str, list, type(None)})
MARK = "watched as"
STAGES = ("drop_names", "collect", "let_go", "collect")  # of the end, methods of a world


class Mark:
    """Dies with the node that it was put on, and knows its label."""

    def __init__(self, label: str) -> None:
        self.label = label


@lru_cache(maxsize=200_000)
def compiled(text: str) -> CodeType:
    """Compile a step's statement; most statements recur, because there are few names."""
    return compile(text, "<step>", "exec")


class World:
    """A framework under torch's names with the state of one program in it."""

    def __init__(self, fw: Any, program: Program) -> None:
        self.fw = fw
        self.looks = program.looks
        self.storages = program.storages
        self.names: dict[str, Any] = {**CAST, "lab": self, "fw": fw, "gc": gc}
        self.fixed_names = frozenset({*self.names, "__builtins__"})
        self.kept: list[Any] = []
        self.refs: dict[str, Callable[[], Any]] = {}  # of living subjects
        self.labels: dict[int, str] = {}  # id of a living, weakly referable subject -> its label
        self.deaths: dict[str, int] = {}
        self.notes: list[Any] = []
        self.bound: dict[str, int] = {}
        self.number = 0
        fw.set_grad_enabled(True)

    def value(self, name: str, value: Any) -> None:
        """Record a plain value, or its text."""
        self.notes.append((name, value if type(value) in PLAIN else str(value)))

    def hold(self, obj: Any) -> None:
        """Hold an object as a root until the end."""
        self.kept.append(obj)

    def watch(self, name: str, obj: Any) -> None:
        """Watch an object weakly, and record whether it was watched already."""
        known = self.label_of(obj)
        if known is not None:
            self.notes.append((name, "is " + known))
            return
        label = f"{self.number} {name}"
        if label in self.refs or label in self.deaths:
            label += f" {len(self.refs) + len(self.deaths)}"
        self.refs[label] = self.reference(label, obj)
        if self.storages and hasattr(obj, "untyped_storage"):
            self.watch(name + ".storage", obj.untyped_storage())

    def reference(self, label: str, obj: Any) -> Callable[[], Any]:
        try:
            ref: Callable[[], Any] = weakref.ref(obj)
        except TypeError:
            mark = Mark(label)
            obj.metadata[MARK] = mark
            return weakref.ref(mark)
        self.labels[id(obj)] = label
        return ref

    def label_of(self, obj: Any) -> str | None:
        """Return the label of a living object."""
        label = self.labels.get(id(obj))
        if label is not None and label in self.refs and self.refs[label]() is obj:
            return label
        try:
            mark = obj.metadata.get(MARK) if not isinstance(obj, self.fw.Tensor) else None
        except (AttributeError, RuntimeError):  # a context whose node is gone cannot be asked
            mark = None
        return None if mark is None else mark.label

    def run(self, number: int, text: str) -> str:
        """Run a step; return "" or what it raised."""
        self.number = number
        try:
            exec(compiled(text), self.names)
        except Exception as error:
            return failure_text(error)
        return ""

    def seen(self) -> tuple[Any, ...]:
        """Return everything observable after a step: notes, values of names, deaths."""
        self.watch_new_names()
        notes, self.notes = self.notes, []
        return notes, self.died(), self.values()

    def watch_new_names(self) -> None:
        """Watch the objects of newly bound names."""
        bound = {}
        for name, obj in self.names.items():
            if name in self.fixed_names or name.startswith("__"):
                continue
            bound[name] = id(obj)
            if self.bound.get(name) != id(obj):
                self.told_binding(name, obj)
        self.bound = bound

    def told_binding(self, name: str, obj: Any) -> None:
        if isinstance(obj, self.fw.Tensor):
            facts = (list(obj.shape), obj.requires_grad, self.is_leaf(obj), getattr(obj, "tag", None))
            self.notes.append((name, type(obj).__name__, *facts))
        elif obj is None or isinstance(obj, (int, float, str, bool)):
            self.notes.append((name, obj))
            return
        else:
            self.notes.append((name, type(obj).__name__))
        if not isinstance(obj, (tuple, list, dict)):
            self.watch(name, obj)

    def is_leaf(self, tensor: Any) -> Any:
        """Return whether it is a leaf, or why this may not be asked: the query could create a view's node."""
        try:
            return tensor.is_leaf
        except RuntimeError as error:
            return failure_text(error)

    def died(self) -> list[str]:
        """Return the labels of subjects that died since the last call."""
        dead = [label for label, ref in self.refs.items() if ref() is None]
        for label in dead:
            del self.refs[label]
            self.deaths[label] = self.number
        return dead

    def values(self) -> list[Any]:
        """Return the numbers of every named tensor, and of its gradient if gradients are read."""
        found: list[Any] = []
        for name, obj in self.names.items():
            if isinstance(obj, self.fw.Tensor):
                try:
                    found.append((name, obj.tolist(), self.gradient(obj) if self.looks else None))
                except RuntimeError as error:
                    found.append((name, failure_text(error)))
        return found

    def gradient(self, tensor: Any) -> Any:
        if not (tensor.is_leaf or tensor.retains_grad):
            return None
        grad = tensor.grad
        return None if grad is None else (grad.tolist(), grad.requires_grad)

    def do(self, stage: str) -> None:
        """Do one stage of the end."""
        getattr(self, stage)()

    def drop_names(self) -> None:
        """Drop every name of the program."""
        for name in [name for name in self.names if name not in self.fixed_names]:
            del self.names[name]

    def collect(self) -> None:
        """Run the collector, for every world of this process."""
        gc.collect()

    def let_go(self) -> None:
        """Release what the program held as a root."""
        self.kept.clear()

    def end(self) -> None:
        """Leave nothing of this program except leaks."""
        self.kept.clear()
        self.names.clear()
        self.fw.set_grad_enabled(True)


def failure_text(error: BaseException) -> str:
    """Format type and first line of an exception, without addresses and the framework's name."""
    first = f"{type(error).__name__}: {error}".split("\n")[0]
    return OWN_PLACE.sub("", ADDRESS.sub("0x", first)).strip()
