"""The names of references: a snapshot, which names many at once, says what a question about one object says."""

from __future__ import annotations

import collections
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from gradlife.heap import snapshot, why
from gradlife.model.trace import Lifetime


class Thing:
    """Something to hold, and something that holds."""


class Slotted:
    """Two places."""

    __slots__ = ("first", "second")


class Point(NamedTuple):
    """A tuple whose items have names."""

    x: Any
    y: Any


class Tags(set[Any]):
    """A set that takes attributes."""


class Buffer(collections.deque[Any]):
    """A deque that takes attributes."""


make_class: Any = collections.namedtuple
Wide = make_class("Wide", [f"field{i}" for i in range(20)])

CACHE: dict[str, Any] = {}


@pytest.fixture(autouse=True)
def _cache() -> Iterator[None]:
    gc.disable()
    yield
    CACHE.clear()
    gc.enable()


def attribute_of(holder: Any, name: str, held: Any) -> Any:
    setattr(holder, name, held)
    return holder


def with_default(held: Any) -> Callable[[], Any]:
    def function(option: Any = held) -> Any:
        return option

    return function


def with_keyword(held: Any) -> Callable[[], Any]:
    def function(*, option: Any = held) -> Any:
        return option

    return function


def with_closure(held: Any) -> Callable[[], Any]:
    return lambda: held


def made_function(held: Any) -> Any:
    return attribute_of(with_closure(0), "__doc__", held)


def with_dict(held: Any) -> Any:
    holder = attribute_of(Thing(), "held", held)
    assert holder.__dict__
    return holder


def code_of_its_own() -> object:
    return compile("x = 1", "its own", "exec")


MANY = 40
HOLDERS: dict[str, Callable[[Any], Any]] = {
    "dict": lambda held: {"a": 0, "it": held},
    "large dict": lambda held: {**{f"k{i}": Thing() for i in range(MANY)}, "it": held},
    "large dict, twice": lambda held: {**{f"k{i}": Thing() for i in range(MANY)}, "it": held, "later": held},
    "large dict, a key": lambda held: {**{f"k{i}": Thing() for i in range(MANY)}, held: 1},
    "large dict, a key and a later value": lambda held: {**{i: Thing() for i in range(MANY)}, held: 1, "it": held},
    "ordered dict": lambda held: collections.OrderedDict({**{f"k{i}": Thing() for i in range(MANY)}, "it": held}),
    "list": lambda held: [0, held],
    "large list": lambda held: [*(Thing() for _ in range(MANY)), held],
    "large list, twice": lambda held: [Thing(), held, *(Thing() for _ in range(MANY)), held],
    "tuple": lambda held: (0, held),
    "large tuple": lambda held: (*(Thing() for _ in range(MANY)), held),
    "named tuple": lambda held: Point(Thing(), held),
    "wide named tuple": lambda held: Wide(*(Thing() for _ in range(19)), held),
    "set": lambda held: {held, 1},
    "large set": lambda held: {*(Thing() for _ in range(MANY)), held},
    "large set of a class with attributes": lambda held: attribute_of(
        Tags([*(Thing() for _ in range(MANY)), held]), "x", Thing()
    ),
    "attribute of a large set": lambda held: attribute_of(Tags(Thing() for _ in range(MANY)), "held", held),
    "deque": lambda held: collections.deque([Thing(), held]),
    "large deque": lambda held: collections.deque([*(Thing() for _ in range(MANY)), held]),
    "large deque, twice": lambda held: collections.deque([Thing(), held, *(Thing() for _ in range(MANY)), held]),
    "large deque of a class with attributes": lambda held: attribute_of(
        Buffer([*(Thing() for _ in range(MANY)), held]), "x", Thing()
    ),
    "attribute": lambda held: attribute_of(Thing(), "held", held),
    "attribute in a dict": with_dict,
    "slot": lambda held: attribute_of(Slotted(), "second", held),
    "default": with_default,
    "keyword default": with_keyword,
    "closure": with_closure,
    "doc of a function": made_function,
    "attribute of a function": lambda held: attribute_of(with_closure(0), "held", held),
    "annotation": lambda held: attribute_of(with_closure(0), "__annotations__", {"x": held}),
}


def plant(holder: str) -> weakref.ref[Thing]:
    held = Thing()
    CACHE[holder] = HOLDERS[holder](held)
    return weakref.ref(held)


@pytest.mark.whole
@pytest.mark.parametrize("holder", HOLDERS)
def test_name_in_a_snapshot_is_that_of_the_live_heap(holder: str) -> None:
    reference = plant(holder)
    live = why(reference())
    assert live.lifetime is Lifetime.HELD
    assert f"['{holder}']" in [step.via for step in live.steps]
    assert snapshot(user_text=True).why(id(reference())).steps == live.steps


@pytest.mark.whole
@pytest.mark.parametrize("holder", [holder for holder in HOLDERS if holder != "doc of a function"])
def test_holder_beside_the_path_is_named_the_same(holder: str) -> None:
    reference = plant(holder)
    CACHE["nearer"] = reference()
    live = why(reference())
    assert [step.via for step in live.steps][-2:] == ["['nearer']", ""]
    kept = snapshot(user_text=True).why(id(reference()))
    assert {referrer.via for referrer in kept.ledger.referrers} <= {referrer.via for referrer in live.ledger.referrers}
    assert {referrer.object for referrer in kept.ledger.referrers} == {each.object for each in live.ledger.referrers}


@pytest.mark.whole
@pytest.mark.parametrize(
    ("make", "via"), [(set, "an element"), (frozenset, "an element"), (collections.deque, "[9999]")]
)
def test_holder_of_thousands_beside_the_path_is_named(make: Callable[[Any], Any], via: str) -> None:
    held = Thing()
    CACHE["many"] = make([*(Thing() for _ in range(9_999)), held])
    CACHE["nearer"] = held
    assert via in [referrer.via for referrer in snapshot().why(id(held)).ledger.referrers]


@pytest.mark.parametrize(
    "make",
    [lambda: "text of its own".upper(), lambda: 10**30, lambda: b"bytes" * 3, lambda: 2.5 * 3, code_of_its_own],
    ids=["str", "int", "bytes", "float", "code"],
)
def test_what_holds_nothing_is_found_when_it_is_asked_for(make: Callable[[], object]) -> None:
    CACHE["atom"] = [make()]
    trace = why(CACHE["atom"][0])
    assert trace.lifetime is Lifetime.HELD
    assert [step.via for step in trace.steps][-3:] == ["['atom']", "[0]", ""]


def test_constant_that_only_code_holds_is_found() -> None:
    CACHE["function"] = lambda: (1, 2, "three")
    constants = CACHE["function"].__code__.co_consts
    constant = next(item for item in constants if isinstance(item, tuple))
    trace = why(constant)
    assert trace.lifetime is Lifetime.HELD
    del constant
    assert why(next(item for item in constants if isinstance(item, tuple))).lifetime is Lifetime.HELD
