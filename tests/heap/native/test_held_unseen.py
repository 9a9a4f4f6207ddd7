"""Objects that neither a root nor a cycle keeps: native code holds something that leads to them."""

from __future__ import annotations

import ctypes
import gc
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import gradlife.engine as engine
from gradlife import _heap
from gradlife.heap import open_snapshot, snapshot, why
from gradlife.heap.graph import UncollectableObject
from gradlife.heap.why import hidden_reference_texts
from gradlife.model.trace import Lifetime, Trace, sentence
from own_interpreter import lines_of

pytestmark = pytest.mark.whole


class Thing:
    held: Any


@pytest.fixture(autouse=True)
def _collector_off() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()
    gc.collect()


@pytest.fixture
def natively_held() -> Iterator[Callable[[Any], None]]:
    """Holds an object as C code does that the collector knows nothing of."""
    held: list[int] = []

    def hold(obj: Any) -> None:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(obj))
        held.append(id(obj))

    yield hold
    for address in held:
        ctypes.pythonapi.Py_DecRef(ctypes.cast(address, ctypes.py_object))


def callback_over(batch: Any) -> Callable[[], Any]:
    def callback() -> Any:
        return batch

    return callback


def held_by_a_callback(hold: Callable[[Any], None]) -> Any:
    batch = Thing()
    hold(callback_over({"batch": batch}))
    return weakref.ref(batch)


def led(trace: Trace) -> list[tuple[str, str]]:
    return [(step.object, step.via) for step in trace.lead]


WAY = [("function", "closure variable 'batch'"), ("dict", "['batch']"), ("Thing", "")]


def test_the_path_from_what_native_code_holds_is_reported(natively_held: Callable[[Any], None]) -> None:
    trace = why(held_by_a_callback(natively_held)())
    assert (trace.lifetime, trace.steps, trace.cycle) == (Lifetime.NEVER, (), ())
    assert led(trace) == WAY
    place = f"(test_held_unseen.py:{callback_over.__code__.co_firstlineno + 1})"
    function = f"function callback_over.<locals>.callback {place}"
    assert sentence(trace) == f"Native code holds {function}, which keeps it: batch['batch']"
    assert trace.hidden_references == (f"{function} has 1 reference that the collector cannot see",)


def test_a_file_shows_the_same_path(natively_held: Callable[[Any], None], tmp_path: Path) -> None:
    batch = held_by_a_callback(natively_held)
    snapshot().save(tmp_path / "one.glheap")
    assert led(open_snapshot(tmp_path / "one.glheap").why(id(batch()))) == WAY


def test_of_what_native_code_holds_itself_there_is_no_path(natively_held: Callable[[Any], None]) -> None:
    thing = Thing()
    natively_held(thing)
    address = id(thing)
    del thing
    trace = snapshot().why(address)
    assert (trace.lead, trace.ledger.unaccounted) == ((), 1)
    assert sentence(trace) == "Native code holds it, and no visible object leads to it."


def test_a_cycle_that_the_collector_could_free_is_not_what_keeps_it(natively_held: Callable[[Any], None]) -> None:
    """The holder refers to itself as well: without native code it would be gone."""

    def build() -> Any:
        holder, batch = Thing(), Thing()
        holder.held = [holder, batch]
        natively_held(holder)
        return weakref.ref(batch)

    trace = why(build()())
    assert led(trace) == [("Thing", ".held"), ("list", "[1]"), ("Thing", "")]
    assert trace.cycle == ()


@pytest.mark.leaves(hook=1, node=2, saved=1, storage=2, tensor=2)
def test_a_cycle_that_nothing_frees_is_reported_whatever_else_holds_it(natively_held: Callable[[Any], None]) -> None:
    def build() -> Any:
        y = engine.ones(3, requires_grad=True).sin()
        y.grad_fn.register_hook(lambda *_: y)
        natively_held(y)
        return weakref.ref(y)

    trace = why(build()())
    assert [step.object for step in trace.cycle] == ["Tensor", "SinBackward0", "function"]
    assert trace.lead == ()


def test_objects_that_the_collector_starts_from_alike_are_reported_once() -> None:
    rows: list[tuple[int, str, str, int, list[int]]] = [
        (1, "app.Thing", "", 1, []),
        (2, "app.Thing", "len 2", 2, []),
        (3, "app.Thing", "", 1, []),
    ]
    uncollectable = [*map(UncollectableObject, rows)]
    assert hidden_reference_texts(uncollectable, _heap.walk()) == [
        "Thing has 1 reference that the collector cannot see (and 1 more such object)",
        "Thing len 2 has 2 references that the collector cannot see",
    ]


# --- with a search of memory ---

scanned = [
    pytest.mark.torch,
    pytest.mark.scan,
    pytest.mark.skipif(sys.platform != "linux", reason="the native scan works on Linux"),
]
KEPT: dict[str, Any] = {}

#: Keeps a tensor in C++ only, by what a traced function closes over.
TRACED = """
import warnings, weakref
warnings.simplefilter("ignore")
import torch
from gradlife.heap import why

def build():
    table = torch.full((2,), 3.0)
    traced = torch.jit.trace(lambda x: x + table, torch.ones(2))
    traced._torchdynamo_inline = None  # the function itself, which closes over the table
    return traced, weakref.ref(table)

traced, table = build()
trace = why(table(), scan=True)
print(trace.lifetime.value, trace.steps[-1].object, trace.steps[-2].object, sep="\\n")
"""


class TestWithAScan:
    pytestmark = scanned

    @pytest.mark.whole
    def test_the_object_whose_memory_holds_it_leads_on_to_a_root(self) -> None:
        import torch

        def build() -> Any:
            batch = torch.ones(3)
            KEPT["first"] = future = torch.futures.Future()
            future.set_result({"batch": batch})
            return weakref.ref(batch)

        batch = build()
        try:
            trace = why(batch(), scan=True)
            assert trace.lifetime is Lifetime.HELD
            assert [step.object for step in trace.steps] == ["module", "dict", "Future", "dict", "Tensor"]
            assert trace.steps[1].via == "['first']"
            assert trace.steps[2].via.startswith("in C++")
            assert (trace.hidden_references, trace.lead, trace.keepers) == ((), (), ())
        finally:
            KEPT.clear()
        assert batch() is None

    @pytest.mark.whole
    def test_what_belongs_to_a_thread_is_named(self) -> None:
        import torch
        from torch.overrides import TorchFunctionMode

        class Recording(TorchFunctionMode):  # type: ignore[misc]  # of Any
            seen: list[Any]

        def build() -> Any:
            mode, batch = Recording(), torch.ones(3)
            mode.seen = [batch]
            mode.__enter__()
            return weakref.ref(batch)

        batch = build()
        try:
            trace = why(batch(), scan=True)
            assert led(trace) == [("Recording", ".seen"), ("list", "[0]"), ("Tensor", "")]
            assert [keeper.kind for keeper in trace.keepers] == ["thread_local"]
            assert "pythonTorchFunctionState" in trace.keepers[0].description
        finally:
            torch._C._pop_torch_function_stack()

    @pytest.mark.whole
    def test_of_a_wrapper_it_is_reported_who_owns_its_native_object(self) -> None:
        """In a process of its own: what other tests have freed of TorchScript may still look like a holder."""
        assert lines_of(TRACED) == ["held", "Tensor", "ScriptFunction"]
