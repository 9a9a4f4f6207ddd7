"""References of one object that has many: those of arrays of objects, caches and contexts, in a saved snapshot."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import pytest

from gradlife import engine
from gradlife.heap import snapshot

numpy = pytest.importorskip("numpy")

KEPT: dict[str, Any] = {}


class Thing:
    """Something to be held."""


class NamedArray(numpy.ndarray):  # type: ignore[misc,name-defined]
    """An array that has attributes."""


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    yield
    KEPT.clear()


def names(address: int, holder: str) -> list[str]:
    """Return how a snapshot names the references from an object of this type to the one at the address."""
    return [one.via for one in snapshot(user_text=True).why(address).ledger.referrers if one.object == holder]


def things(count: int) -> list[Thing]:
    return [Thing() for _ in range(count)]


@pytest.mark.parametrize(
    ("shape", "index", "via"),
    [
        ((100,), 57, "[57]"),
        ((2000,), 1999, "[1999]"),
        ((4, 50), (3, 49), "[3, 49]"),
        ((2, 5, 5), (1, 0, 4), "[1, 0, 4]"),
    ],
)
def test_item_of_an_array_of_objects_has_its_place(shape: tuple[int, ...], index: Any, via: str) -> None:
    KEPT["array"] = array = numpy.empty(shape, dtype=object)
    for place, _ in numpy.ndenumerate(array):
        array[place] = Thing()
    address = id(array[index])
    assert names(address, "ndarray") == [via]


def test_object_that_stands_twice_in_an_array_has_its_first_place() -> None:
    KEPT["array"] = array = numpy.empty(100, dtype=object)
    array[:] = things(100)
    array[80] = array[30]
    assert set(names(id(array[80]), "ndarray")) == {"[30]"}


def test_attribute_of_an_array_keeps_its_name_if_the_object_is_an_item_too() -> None:
    array = numpy.empty(100, dtype=object)
    array[:] = things(100)
    KEPT["array"] = base = array.view(NamedArray).copy()
    base.first = base[0]
    item, first, attributes = id(base[1]), id(base.first), id(base.__dict__)
    assert names(item, "NamedArray") == ["[1]"]
    assert names(first, "NamedArray") == [".first", "[0]"]
    assert names(attributes, "NamedArray") == [".__dict__"]


@pytest.mark.parametrize("most", [None, 500], ids=["unbounded", "bounded"])
def test_results_and_arguments_of_a_cache_are_named(most: int | None) -> None:
    @functools.lru_cache(maxsize=most)
    def compute(key: Thing) -> Any:
        return Thing()

    KEPT["cache"] = compute
    KEPT["keys"] = keys = things(100)
    addresses = [id(compute(key)) for key in keys]
    assert names(addresses[70], "_lru_cache_wrapper") == ["a cached result"]
    # A bounded cache's arguments are in a tuple that the collector tracks, an object of its own.
    assert names(id(keys[70]), "_lru_cache_wrapper") == ([] if most else ["an argument of a cached call"])
    assert names(id(compute.__dict__), "_lru_cache_wrapper") == [".__dict__"]


def test_result_that_is_its_own_argument_is_both() -> None:
    @functools.cache
    def compute(key: Thing) -> Thing:
        return key

    for key in things(100):
        compute(key)
    KEPT["cache"] = compute
    address = id(compute(Thing()))
    assert names(address, "_lru_cache_wrapper") == ["an argument of a cached call", "a cached result"]


def test_attribute_of_a_context_with_many_inputs_keeps_its_name() -> None:
    class Keeping(engine.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            ctx.save_for_backward(*inputs)
            ctx.sixth = inputs[5]
            return inputs[0] * 2

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            raise AssertionError

    KEPT["inputs"] = inputs = [engine.ones(2, requires_grad=True) for _ in range(40)]
    KEPT["output"] = Keeping.apply(*inputs)
    assert names(id(inputs[5]), "KeepingBackward") == [".sixth"]
