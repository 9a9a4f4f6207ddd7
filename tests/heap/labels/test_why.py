"""The answers of `why` and `refs` for objects whose holders are known."""

from __future__ import annotations

import functools
import gc
import io
import itertools
import json
import operator
import pickle
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import gradlife.engine as torch
from gradlife.heap import refs, snapshot, why
from gradlife.model.trace import Lifetime, StepStatus, Trace


class Thing:
    """Something to hold, and something that holds."""

    held: Any


class Slotted:
    __slots__ = ("held",)


CACHE: dict[Any, Any] = {}


@pytest.fixture(autouse=True)
def _collector_off() -> Iterator[None]:
    gc.disable()
    yield
    CACHE.clear()
    gc.enable()
    gc.collect()


def paths(trace: Trace) -> list[str]:
    return [step.via for step in trace.steps[:-1]]


def objects(trace: Trace) -> list[str]:
    return [step.object for step in trace.steps]


def named(trace: Trace) -> tuple[list[str], list[str]]:
    return objects(trace), paths(trace)


# --- Python's own paths of holding ---


def in_cache(thing: Any) -> Any:
    CACHE["the key"] = thing
    return weakref.ref(thing)


def test_value_of_a_global_dict() -> None:
    reference = in_cache(Thing())
    trace = why(reference())
    assert trace.lifetime is Lifetime.HELD
    assert paths(trace)[-2:] == ["global variable 'CACHE'", "['the key']"]
    assert objects(trace)[-3:] == ["module", "dict", "Thing"]


def test_local_variable_is_named_with_its_function_and_line() -> None:
    thing = Thing()
    trace = why(thing)
    assert named(trace) == (["running frame", "Thing"], ["local variable 'thing'"])
    line = sys._getframe().f_lineno - 2
    assert trace.steps[0].detail == f"test_local_variable_is_named_with_its_function_and_line (test_why.py:{line})"


HOLDERS: dict[str, tuple[Any, str]] = {
    "attribute": (lambda thing: with_attribute(Thing(), thing), ".held"),
    "slot": (lambda thing: with_attribute(Slotted(), thing), ".held"),
    "list": (lambda thing: [0, thing], "[1]"),
    "tuple": (lambda thing: (0, 1, thing), "[2]"),
    "set": (lambda thing: {thing}, "an element"),
    "key": (lambda thing: {thing: 1}, "a key"),
    "number key": (lambda thing: {7: thing}, "[7]"),
    "class key": (lambda thing: {Thing: thing}, f"[<class {Thing.__module__}.Thing>]"),
    "function key": (lambda thing: {with_default: thing}, "[<function with_default>]"),
    "tuple key": (lambda thing: {(1, "a", None): thing}, "[(1, 'a', None)]"),
    "closure": (lambda thing: lambda: thing, "closure variable 'thing'"),
    "default": (lambda thing: with_default(thing), "default argument 'b'"),
    "partial": (lambda thing: functools.partial(print, thing), ".args"),
    "bound method": (lambda thing: thing.__str__, ".__self__"),
    "generator": (lambda thing: started(thing), "argument 'kept'"),
    "exception": (lambda thing: raised(thing), ".__traceback__"),
    "lru_cache": (lambda thing: cached(thing), "a cached result"),
}


def with_attribute(holder: Any, thing: Any) -> Any:
    holder.held = thing
    return holder


def with_default(thing: Any) -> Any:
    def function(a: Any, b: Any = thing) -> None: ...

    return function


def started(thing: Any) -> Any:
    def generator(kept: Any) -> Iterator[None]:
        yield

    running = generator(thing)
    next(running)
    return running


def raised(thing: Any) -> Any:
    try:
        raise ValueError("held by a traceback")
    except ValueError as error:
        return error


def pickled(thing: Any) -> Any:
    pickler = pickle.Pickler(io.BytesIO())
    pickler.dump(thing)
    return pickler


def read_ahead(thing: Any) -> Any:
    first, second = itertools.tee(made(thing))
    assert next(first) is thing
    return second


def made(thing: Any) -> Iterator[Any]:
    yield thing
    del thing
    yield None


def cached(thing: Any) -> Any:
    @functools.lru_cache
    def compute(key: Any) -> Any:
        return key

    compute(thing)
    return compute


@pytest.mark.parametrize("name", HOLDERS)
def test_path_from_a_holder_is_named(name: str) -> None:
    make, path = HOLDERS[name]

    def build() -> Any:
        thing = Thing()
        CACHE["holder"] = make(thing)
        return weakref.ref(thing)

    trace = why(build()())
    assert trace.lifetime is Lifetime.HELD
    assert ["['holder']", path] == paths(trace)[1:3]


#: Structures of C code with tables of their own.
TABLES: dict[str, tuple[Any, list[str]]] = {
    "pickler": (lambda thing: pickled(thing), ["its memo of what it has pickled"]),
    # In 3.13 its tuple begins with the method's name.
    "method caller": (
        lambda thing: operator.methodcaller("add", thing),
        ["its arguments", "[1]" if sys.version_info[:2] == (3, 13) else "[0]"],
    ),
    "tee": (lambda thing: read_ahead(thing), ["the items that were read ahead", "an item that was read ahead"]),
    "cycle": (lambda thing: gone_round(thing), ["the items that it repeats", "[0]"]),
    "buffer": (lambda thing: pickle.PickleBuffer(memoryview(Bytes(thing))), [".obj", ".obj", ".thing"]),
    "method of a list": (lambda thing: [thing].append, [".__self__", "[0]"]),
}


class Bytes(bytearray):
    def __init__(self, thing: Any) -> None:
        super().__init__(b"some")
        self.thing = thing


def gone_round(thing: Any) -> Any:
    items = itertools.cycle(made(thing))
    assert next(items) is thing
    assert next(items) is None
    assert next(items) is thing  # its own iterator is exhausted, and gone
    return items


@pytest.mark.parametrize("name", TABLES)
def test_path_through_a_structure_of_c_code_is_named(name: str) -> None:
    make, path = TABLES[name]

    def build() -> Any:
        thing = Thing()
        CACHE["holder"] = make(thing)
        return weakref.ref(thing)

    trace = why(build()())
    assert trace.lifetime is Lifetime.HELD
    assert paths(trace)[2:] == path


def test_method_of_an_object_of_c_code_says_which_it_is() -> None:
    thing = Thing()
    CACHE["holder"] = [thing].append
    address = id(thing)
    del thing
    method = snapshot().why(address).steps[2]
    assert (method.object, method.detail) == ("builtin_function_or_method", "list.append")


# --- what the engine holds ---


def test_saved_tensor_of_a_kept_loss() -> None:
    def build() -> Any:
        x = torch.ones(3, requires_grad=True)
        hidden = x.sin()
        hidden.tag = "of the user"
        CACHE["loss"] = (hidden * hidden).sum()
        return weakref.ref(hidden)

    trace = why(build()())
    assert named(trace) == (
        ["module", "dict", "Tensor", "SumBackward0", "MulBackward0", "Tensor"],
        ["global variable 'CACHE'", "['loss']", "grad_fn", "next edge", "saved tensor 'other'"],
    )
    assert trace.steps[-1].detail == "float32 [3]"


@pytest.mark.leaves(hook=1, node=2, saved=1, storage=2, tensor=2)
def test_hook_over_its_own_tensor_is_never_freed() -> None:
    def build() -> Any:
        y = torch.ones(3, requires_grad=True).sin()
        y.grad_fn.register_hook(lambda *_: y)
        return weakref.ref(y)

    trace = why(build()())
    assert trace.lifetime is Lifetime.NEVER
    assert [step.object for step in trace.cycle] == ["Tensor", "SinBackward0", "function"]
    assert [step.via for step in trace.cycle][-1] == "closure variable 'y'"
    assert trace.hidden_references == (
        "OrderedDict len 1 has 1 reference from SinBackward0 that the collector cannot see",
    )


@pytest.mark.leaves(tensor=2, storage=2, node=2, saved=2)
def test_leaf_that_keeps_its_own_result_is_never_freed() -> None:
    def build() -> Any:
        x = torch.ones(3, requires_grad=True)
        x.out = x * x
        return weakref.ref(x)

    trace = why(build()())
    assert trace.lifetime is Lifetime.NEVER
    assert "MulBackward0" in [step.object for step in trace.cycle]


def test_output_on_its_ctx_waits_for_the_collector() -> None:
    class Keeps(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.output = x * 2
            return ctx.output

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    def build() -> Any:
        return weakref.ref(Keeps.apply(torch.ones(3, requires_grad=True)))

    trace = why(build()())
    assert trace.lifetime is Lifetime.GC
    assert [(step.object, step.via) for step in trace.cycle] == [("Tensor", "grad_fn"), ("KeepsBackward", ".output")]


# --- the ledger ---


def keep_error_of_a_library(batch: Thing) -> bool:
    error = None
    try:
        json.loads(batch)  # type: ignore[arg-type]  # which refuses it
    except TypeError as problem:
        error = problem
    return error is None


def test_cycle_of_an_exception_is_named_by_the_frame_of_the_program_not_the_librarys() -> None:
    """Both have the object, equally near; the library's comes first in memory."""
    batch = Thing()
    keep_error_of_a_library(batch)
    address = id(batch)
    del batch
    trace = snapshot().why(address)
    assert [(step.object, step.via) for step in trace.cycle] == [
        ("frame", "local variable 'error'"),
        ("TypeError", ".__traceback__"),
    ]
    assert trace.cycle[0].detail.startswith("keep_error_of_a_library (test_why.py:")


def test_references_are_all_known() -> None:
    thing = Thing()
    holder = [thing, thing]
    ledger = refs(thing)
    assert ledger.count == 3
    assert sorted(referrer.via for referrer in ledger.referrers) == ["[0]", "[1]", "local variable 'thing'"]
    assert ledger.unaccounted == 0
    del holder


@pytest.mark.whole
def test_reference_that_nothing_explains_is_counted() -> None:
    import ctypes

    thing = Thing()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    try:
        assert (refs(thing).count, refs(thing).unaccounted) == (2, 1)
    finally:
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(thing))


# --- statuses ---


def test_suspects_lie_between_what_is_expected_and_the_object() -> None:
    trace = why(in_cache(Thing())())
    assert [step.status for step in trace.steps][-3:] == [
        StepStatus.EXPECTED,
        StepStatus.UNKNOWN,
        StepStatus.LEAKING,
    ]
    assert [step.is_suspect for step in trace.steps][-3:] == [True, True, False]


def test_number_that_nobody_keeps_has_no_trace() -> None:
    trace = why(10**30 + len(CACHE))
    assert (trace.lifetime, trace.steps, trace.cycle) == (Lifetime.GC, (), ())


def test_an_object_that_only_the_call_holds_is_no_cycle() -> None:
    first, *_ = str(why(object())).splitlines()
    assert first == "object is held by nothing but this call: it is freed when the call returns"
