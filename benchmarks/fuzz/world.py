"""One system while it runs a program: its names, what it watches weakly, and what it shows after each step.

A world is the `lab` of the program's hooks and Functions. It keeps no subject alive and reads only what leaves no trace,
unless the program says that gradients are looked at.
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


class Mark:
    """Dies with the node on which it was put, and knows its label."""

    def __init__(self, label: str) -> None:
        self.label = label


@lru_cache(maxsize=200_000)
def compiled(text: str) -> CodeType:
    """A step's statement, ready to run; few names make most statements come again."""
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
        self.refs: dict[str, Callable[[], Any]] = {}  # of the subjects that are alive
        self.labels: dict[int, str] = {}  # id of a living subject that takes a weak reference -> its label
        self.deaths: dict[str, int] = {}
        self.notes: list[Any] = []
        self.bound: dict[str, int] = {}
        self.number = 0
        fw.set_grad_enabled(True)

    def value(self, name: str, value: Any) -> None:
        """Note a plain value, or the text of one."""
        self.notes.append((name, value if type(value) in PLAIN else str(value)))

    def hold(self, obj: Any) -> None:
        """Hold an object, as a root, until the end."""
        self.kept.append(obj)

    def watch(self, name: str, obj: Any) -> None:
        """Watch an object weakly; the note tells whether it is one that is watched already."""
        known = self.label_of(obj)
        if known is not None:
            self.notes.append((name, "is " + known))
            return
        label = f"{self.number} {name}"
        if label in self.refs or label in self.deaths:
            label += f" {len(self.refs) + len(self.deaths)}"
        self.refs[label] = self.reference(label, obj)
        if self.storages and isinstance(obj, self.fw.Tensor):
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
        """Under which label a living object is watched."""
        label = self.labels.get(id(obj))
        if label is not None and label in self.refs and self.refs[label]() is obj:
            return label
        mark = getattr(obj, "metadata", {}).get(MARK) if not isinstance(obj, self.fw.Tensor) else None
        return None if mark is None else mark.label

    def run(self, number: int, text: str) -> str:
        """Run a step; "" or what it raised."""
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
        """Watch what names were newly bound to."""
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
        """Return whether it is a leaf, or why this may not be asked: a view's node may be one that must not be made."""
        try:
            return tensor.is_leaf
        except RuntimeError as error:
            return failure_text(error)

    def died(self) -> list[str]:
        """Labels of the subjects that died since last asked."""
        dead = [label for label, ref in self.refs.items() if ref() is None]
        for label in dead:
            del self.refs[label]
            self.deaths[label] = self.number
        return dead

    def values(self) -> list[Any]:
        """The numbers of every tensor with a name, and of its gradient if that is looked at."""
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

    def drop_names(self) -> None:
        """Drop every name of the program."""
        for name in [name for name in self.names if name not in self.fixed_names]:
            del self.names[name]

    def collect(self) -> None:
        """Run the collector, for every world of this process."""
        gc.collect()

    def let_go(self) -> None:
        """Drop what the program held as a root."""
        self.kept.clear()

    def end(self) -> None:
        """Leave nothing of this program but what leaked."""
        self.kept.clear()
        self.names.clear()
        self.fw.set_grad_enabled(True)


def failure_text(error: BaseException) -> str:
    """Type and first line of an exception, without addresses and without the framework's own name."""
    first = f"{type(error).__name__}: {error}".split("\n")[0]
    return OWN_PLACE.sub("", ADDRESS.sub("0x", first)).strip()
