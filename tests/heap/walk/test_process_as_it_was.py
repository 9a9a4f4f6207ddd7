"""Looking at a process leaves it as it was: each of the paths to look, against each thing that looking could change."""

from __future__ import annotations

import gc
import os
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import gradlife.engine as engine
from gradlife import _heap
from gradlife.heap import census, open_snapshot, refs, snapshot, why
from leftovers import run_in_child

Look = Callable[[Any], object]


def save(subject: object) -> None:
    """To a file that is nowhere."""
    snapshot().save(os.devnull)


WAYS: dict[str, Look] = {
    "walk": lambda subject: _heap.walk(sizes=True),
    "snapshot": lambda subject: snapshot(user_text=True),
    "why": why,
    "refs": refs,
    "why with a scan": lambda subject: why(subject, scan=True),
    "census": lambda subject: census().changes(),
    "cycles": lambda subject: snapshot().cycles(100),
    "save": save,
    "judge": lambda subject: _heap.judge([id(subject)], None),
}
SLOW = ("cycles", "save")  # seconds each beside all other tests


@pytest.fixture(autouse=True)
def _collector_off() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    yield
    (gc.enable if was_enabled else gc.disable)()


class Thing:
    """Has its attributes in itself until somebody asks for its dict."""


class Graph:
    """A small graph with all that a graph can have: hooks of every kind, a ctx, packed tensors, a view, a gradient."""

    def __init__(self, fw: Any, calls: list[str]) -> None:
        self.leaf = fw.ones(3, requires_grad=True)
        (self.leaf * 2).sum().backward()
        self.leaf.register_hook(noting(calls, "tensor hook"))
        self.leaf.register_post_accumulate_grad_hook(noting(calls, "post-accumulate hook"))
        self.middle = self.leaf.sin()
        self.middle.grad_fn.register_hook(noting(calls, "node hook"))
        self.middle.grad_fn.register_prehook(noting(calls, "node prehook"))
        self.middle.grad_fn.metadata["mark"] = Thing()
        with fw.autograd.graph.saved_tensors_hooks(noting(calls, "pack"), noting(calls, "unpack")):
            self.packed = self.middle.cos()
        self.custom = function_of(fw).apply(self.packed)
        self.view = self.custom.view(3, 1)
        calls.clear()

    @property
    def tensors(self) -> list[Any]:
        return [self.leaf, self.leaf.grad, self.middle, self.packed, self.custom, self.view]

    @property
    def parts(self) -> list[Any]:
        """But for the node of `packed`, for which nobody has asked."""
        asked = [tensor for tensor in self.tensors if tensor is not self.packed]
        return [*self.tensors, *(one for tensor in asked for one in (tensor.grad_fn, tensor.untyped_storage()))]


def noting(calls: list[str], name: str) -> Callable[..., None]:
    """A hook that notes that it was called."""

    def hook(*_: Any) -> None:
        calls.append(name)

    return hook


def function_of(fw: Any) -> Any:
    class Doubles(fw.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            ctx.mark = Thing()
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    return Doubles


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=[pytest.mark.whole] * (name in SLOW)) for name in WAYS]
)
def look(request: pytest.FixtureRequest) -> Look:
    """Has looked once: what a first look makes for good, such as modules and toys of calibration, is there."""
    way = WAYS[request.param]
    way(Graph(engine, []).middle)
    return way


# --- what is counted ---


def test_reference_counts_are_as_they_were(look: Look) -> None:
    graph = Graph(engine, [])
    gc.collect()
    parts = [*graph.parts, graph, type(graph), Thing, look]
    before = [sys.getrefcount(one) for one in parts]
    look(graph.middle)
    assert [sys.getrefcount(one) for one in parts] == before


def test_owners_in_cpp_are_as_many_as_they_were(look: Look) -> None:
    graph = Graph(engine, [])
    gc.collect()
    before = [tensor._use_count() for tensor in graph.tensors]
    look(graph.middle)
    assert [tensor._use_count() for tensor in graph.tensors] == before


def test_engine_makes_and_frees_nothing(look: Look) -> None:
    graph = Graph(engine, [])
    gc.collect()
    engine.clear_events()
    before = engine.live_counts()
    look(graph.middle)
    assert engine.live_counts() == before
    assert [*engine.events()] == []


def test_number_of_objects_is_as_it_was(look: Look) -> None:
    def difference() -> int:
        graph = Graph(engine, [])
        gc.collect()
        before = len(gc.get_objects())
        look(graph.middle)
        gc.collect()
        return len(gc.get_objects()) - before

    assert run_in_child(difference) <= 0  # no other thread makes objects there


@pytest.mark.torch
def test_torch_is_as_it_was(look: Look) -> None:
    torch = pytest.importorskip("torch")
    calls: list[str] = []
    graph = Graph(torch, calls)
    kept = graph.parts  # up to 2.10 a node's wrapper that nobody keeps is made anew whenever it is asked for
    look(graph.middle)  # which may be the first since torch is there
    gc.collect()
    before = [*state_of(graph)]
    look(graph.middle)
    gc.collect()
    assert [*state_of(graph)] == before
    assert "CosBackward0" not in {type(one).__name__ for one in gc.get_objects()}  # nobody has asked for this node
    assert calls == []
    del kept


def state_of(graph: Graph) -> Iterator[object]:
    """Objects of torch in C++ by class, owners, references, identities."""
    yield sorted(row[:3] for row in _heap.native_census()[0] if row[1] != "other")
    yield [tensor._use_count() for tensor in graph.tensors]
    yield [sys.getrefcount(part) for part in graph.parts]
    yield [id(part) for part in graph.parts]


# --- the collector ---


def test_collector_is_as_it_was(look: Look) -> None:
    kept = [Thing()]
    gc.collect()
    for is_enabled in (True, False):
        (gc.enable if is_enabled else gc.disable)()
        gc.set_threshold(100_000, 50, 50)
        try:
            before = (gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.get_stats(), gc.get_count()[1:])
            look(kept)
            after = (gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.get_stats(), gc.get_count()[1:])
        finally:
            gc.disable()
            gc.set_threshold(700, 10, 10)
        assert after == before


def test_objects_stay_in_their_generations(look: Look) -> None:
    old, frozen = Thing(), gc.get_freeze_count()
    gc.collect()
    young = Thing()
    settled_young = Thing()
    look(settled_young)
    generations = [generation_of(one) for one in (old, young)]
    look(old)
    assert [generation_of(one) for one in (old, young)] == generations
    assert gc.get_freeze_count() == frozen


def generation_of(thing: object) -> int:
    address = id(thing)
    return next((at for at in range(3) if any(id(one) == address for one in gc.get_objects(generation=at))), -1)


# --- identity and attributes ---


def test_ids_are_as_they_were(look: Look) -> None:
    graph = Graph(engine, [])
    parts = graph.parts
    gc.collect()
    look(graph.middle)
    assert [id(part) for part in graph.parts] == [id(part) for part in parts]


def test_wrapper_that_was_never_made_is_not_made(look: Look) -> None:
    graph = Graph(engine, [])
    look(graph.middle)
    gc.collect()
    names = {type(one).__name__ for one in gc.get_objects()}
    assert "CosBackward0" not in names  # nobody has asked for this node
    assert "Tensor" in names


def test_no_dict_is_made_for_an_instance(look: Look) -> None:
    class Plain:
        def __init__(self) -> None:
            self.name = "in the object itself"

    plain = Plain()
    before = [type(one) for one in gc.get_referents(plain)]
    look(plain)
    look([plain])
    assert [type(one) for one in gc.get_referents(plain)] == before
    assert dict not in before


def test_number_of_dicts_is_as_it_was(look: Look) -> None:
    things: list[Any] = [Thing() for _ in range(100)]
    for thing in things:
        thing.held = things
    gc.collect()
    before = sum(1 for one in gc.get_objects() if type(one) is dict)
    look(things)
    gc.collect()
    assert sum(1 for one in gc.get_objects() if type(one) is dict) <= before
    things.clear()


# --- code of the program ---


def test_no_hook_is_called(look: Look) -> None:
    calls: list[str] = []
    graph = Graph(engine, calls)
    look(graph.middle)
    assert calls == []


CALLS: list[str] = []


def asked(name: str, answer: Any) -> Any:
    def method(self: object, *arguments: Any) -> Any:
        CALLS.append(name)
        return answer(self, *arguments) if callable(answer) else answer

    return method


class Nosy:
    """Notes whatever is asked of it."""

    __class__ = property(asked("__class__", lambda self: Nosy))
    user_property = property(asked("property", 1))
    __eq__ = asked("__eq__", False)
    __ne__ = asked("__ne__", True)
    __hash__ = asked("__hash__", 1)
    __repr__ = __str__ = asked("__repr__", "nosy")
    __bool__ = asked("__bool__", True)
    __len__ = asked("__len__", 1)
    __iter__ = asked("__iter__", lambda self: iter(()))
    __sizeof__ = asked("__sizeof__", 1)
    __dir__ = asked("__dir__", [])
    __getattribute__ = asked("__getattribute__", object.__getattribute__)
    __getattr__ = asked("__getattr__", 1)
    __del__ = asked("__del__", None)


class NosyType(type):
    """The same of a class: its own attributes are asked for through this."""

    __getattribute__ = asked("metaclass __getattribute__", type.__getattribute__)
    __instancecheck__ = asked("__instancecheck__", False)
    __subclasscheck__ = asked("__subclasscheck__", False)
    __eq__ = asked("metaclass __eq__", type.__eq__)
    __hash__ = type.__hash__
    __repr__ = asked("metaclass __repr__", "nosy type")


class NosyKey(str):
    """A key of a dict, and a name of an attribute."""

    __eq__ = asked("key __eq__", str.__eq__)
    __hash__ = asked("key __hash__", str.__hash__)
    __repr__ = __str__ = asked("key __repr__", "key")


@pytest.mark.whole
@pytest.mark.parametrize("is_subject", [True, False])
def test_no_code_of_objects_and_classes_runs(look: Look, is_subject: bool) -> None:
    gc.collect()
    nosy = Nosy()
    kind = NosyType("Made", (), {"held": nosy})
    ring: dict[Any, Any] = {NosyKey("key"): nosy, "kind": kind, "made": kind(), nosy: [nosy]}
    ring["ring"] = ring
    weak = weakref.ref(nosy, lambda _: CALLS.append("callback"))
    CALLS.clear()
    look(nosy if is_subject else ring)
    called = CALLS[:]
    assert called == []
    assert weak is not None
    ring.clear()


def test_nothing_is_asked_of_a_file_that_is_opened(tmp_path: Any) -> None:
    nosy = [Nosy()]
    snapshot(user_text=True).save(tmp_path / "nosy.glheap")
    CALLS.clear()
    heap = open_snapshot(tmp_path / "nosy.glheap")
    heap.why(id(nosy))
    heap.types()
    assert CALLS == []
