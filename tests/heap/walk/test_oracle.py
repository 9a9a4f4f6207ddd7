"""The native walk beside one in pure Python: the same nodes, the same edges, on heaps that hypothesis builds."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import contextvars
import enum
import functools
import gc
import itertools
import queue
import sys
import threading
import types
import weakref
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import numpy
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from gradlife import _heap
from heap_oracle import HEAP_TYPE, heap_below, referents

Maker = Callable[[list[Any]], Any]


class Plain:
    pass


class Slotted:
    __slots__ = ("__weakref__", "first", "second")

    first: Any


class Meta(type):
    pass


Pair = collections.namedtuple("Pair", "left right")


def first(children: list[Any]) -> Any:
    return children[0] if children else None


def instance(children: list[Any], cls: Callable[[], Any] = Plain) -> Any:
    made = cls()
    for number, child in enumerate(children):
        setattr(made, f"child_{number}", child)
    return made


def with_dict(children: list[Any]) -> Any:
    made = instance(children)
    assert made.__dict__ is not None
    return made


def slotted(children: list[Any]) -> Any:
    made = Slotted()
    made.first = first(children)
    return made


def hashable(children: list[Any]) -> list[Any]:
    return [child for child in children if type(child) in {object, str, int, Plain}]


def function(children: list[Any]) -> Any:
    held = first(children)

    def made(a: Any = children, *, b: Any = held) -> Any:
        return held, a, b

    return made


def suspended(children: list[Any]) -> Any:
    def generator(given: Any) -> Iterator[None]:
        for _kept in given:
            yield
        yield

    made = generator(children)
    next(made)
    return made


def finished(children: list[Any]) -> Any:
    made = suspended(children)
    made.close()
    return made


def coroutine(children: list[Any]) -> Any:
    async def wait(given: Any) -> None:
        await asyncio.sleep(0)

    made = wait(children)
    made.send(None)
    return made


def async_generator(children: list[Any]) -> Any:
    async def generate(given: Any) -> AsyncIterator[Any]:
        yield given

    made = generate(children)
    with contextlib.suppress(StopIteration):
        made.__anext__().send(None)  # type: ignore[attr-defined]
    return made


def raised(children: list[Any]) -> Any:
    try:
        try:
            raise KeyError(*children)
        except KeyError as error:
            raise ValueError(children) from error
    except ValueError as error:
        return error


def context(children: list[Any]) -> Any:
    made = contextvars.Context()
    for number, child in enumerate(children):
        made.run(contextvars.ContextVar[Any](f"variable_{number}", default=child).set, child)
    return made


def cached(children: list[Any]) -> Any:
    made: Any = functools.lru_cache(lambda *arguments: children)
    made(*hashable(children))
    return made


def with_callback(children: list[Any]) -> Any:
    target = Plain()
    return target, weakref.ref(target, lambda _: children)


def made_class(children: list[Any]) -> Any:
    return Meta("Made", (Plain,), {"held": children, "value": property(lambda self: children)})


def local_of_thread(children: list[Any]) -> Any:
    made = threading.local()
    made.held = children
    return made


def queued(children: list[Any]) -> Any:
    made: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for child in children:
        made.put(child)
    return made


def array(children: list[Any]) -> Any:
    made: Any = numpy.empty((len(children), 2), dtype=object)
    for number, child in enumerate(children):
        made[number, 0] = child
    return made


def future(children: list[Any]) -> Any:
    loop = asyncio.new_event_loop()
    made = loop.create_future()
    made.set_result(children)
    loop.close()
    return made


MAKERS: list[Maker] = [
    list,
    tuple,
    collections.deque,
    lambda children: set(hashable(children)),
    lambda children: frozenset(hashable(children)),
    lambda children: dict(enumerate(children)),
    lambda children: {f"key {number}": child for number, child in enumerate(children)},
    lambda children: collections.OrderedDict(enumerate(children)),
    lambda children: collections.defaultdict(lambda: children, enumerate(children)),
    lambda children: dict(enumerate(children)).values(),
    lambda children: types.MappingProxyType(dict(enumerate(children))),
    lambda children: weakref.WeakValueDictionary(),
    lambda children: Pair(first(children), children),
    instance,
    with_dict,
    slotted,
    lambda children: instance(children, types.SimpleNamespace),
    lambda children: instance(children, lambda: types.ModuleType("made")),
    lambda children: types.CellType(first(children)),
    function,
    lambda children: functools.partial(function(children), *children, key=children),
    lambda children: types.MethodType(function(children), first(children) or 1),
    lambda children: children.append,
    lambda children: property(function(children)),
    lambda children: staticmethod(function(children)),
    lambda children: slice(first(children), children),
    lambda children: map(function(children), children),
    lambda children: itertools.chain(children, children),
    lambda children: itertools.cycle(children),
    lambda children: iter(children),
    lambda children: memoryview(b"0123456789"),
    lambda children: types.GenericAlias(list, tuple(children)),
    lambda children: enum.Enum("Made", {"ONE": (1, id(children))}),
    suspended,
    finished,
    coroutine,
    async_generator,
    raised,
    context,
    cached,
    with_callback,
    made_class,
    local_of_thread,
    queued,
    array,
    future,
    lambda children: compile("lambda: (1, 2, 'three')", "made", "exec"),
    lambda children: sys._getframe(),
]


def all_types() -> list[type]:
    found: dict[int, type] = {}  # by address: from Python 3.14 on a class of `typing` warns when it is compared
    waiting: list[type] = [object]
    while waiting:
        entry = waiting.pop()
        if id(entry) not in found:
            found[id(entry)] = entry
            waiting.extend(type.__subclasses__(entry))
    return list(found.values())


@pytest.fixture(scope="module", autouse=True)
def _nothing_frozen() -> Iterator[None]:
    """Unfreeze: the collector no longer lists frozen objects, and they would be walked with the rest."""
    gc.unfreeze()
    yield
    gc.freeze()


STATIC_TYPES = {id(entry) for entry in all_types() if not entry.__flags__ & HEAP_TYPE}


@st.composite
def heaps(draw: st.DrawFn) -> tuple[list[Any], set[int]]:
    """Objects of all kinds that refer to one another; lists among them refer forward too, so there are cycles.

    With them the addresses of what was there before.
    """
    before = STATIC_TYPES | {id(entry) for entry in gc.get_objects()}
    objects: list[Any] = [object(), 5, "text", None, b"bytes", 2.5]
    for _ in range(draw(st.integers(1, 30))):
        make = draw(st.sampled_from(MAKERS))
        objects.append(make(draw(st.lists(st.sampled_from(objects), max_size=4))))
    for source in [entry for entry in objects if type(entry) is list]:
        source.extend(draw(st.lists(st.sampled_from(objects), max_size=2)))
    return objects, before


def edges_of(graph: _heap.Graph, node: int) -> Counter[int]:
    return Counter(graph.describe(target)[2] for target in graph.referents(node))


@pytest.mark.slow
@given(heaps())
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_native_walk_finds_the_nodes_and_edges_of_the_pure_one(built: tuple[list[Any], set[int]]) -> None:
    objects, before = built
    expected = heap_below(objects, before | {id(objects), id(built)})
    graph = _heap.walk()
    for address, targets in expected.items():
        node = graph.find(address)
        assert node is not None
        assert edges_of(graph, node) == targets, graph.describe(node)


@pytest.mark.whole
def test_each_kind_of_object_has_the_edges_that_python_reports() -> None:
    for make in MAKERS:
        made = make([object(), [1], "text"])
        node = (graph := _heap.walk()).find(id(made))
        assert node is not None
        assert edges_of(graph, node) == referents(made), type(made)


def test_generator_that_runs_shows_its_variables_in_its_frame() -> None:
    walks: list[_heap.Graph] = []

    def generator() -> Iterator[None]:
        kept = Plain()
        addresses.append(id(kept))
        walks.append(_heap.walk())
        yield

    addresses: list[int] = []
    running = generator()
    next(running)
    graph = walks[0]
    node = graph.find(addresses[0])
    assert node is not None
    assert [graph.describe(step)[:2] for step in graph.referrers(node)] == [("root", "running frame")]


def walk_below() -> _heap.Graph:
    """A Python function, so that the frame that calls it stores the height of its stack."""
    return _heap.walk()


def referrers_of(graph: _heap.Graph, address: int) -> list[tuple[str, str]]:
    node = graph.find(address)
    assert node is not None
    return [graph.describe(step)[:2] for step in graph.referrers(node)]


def test_generator_that_calls_a_function_shows_its_variables_in_its_frame_only() -> None:
    def generator() -> Iterator[tuple[_heap.Graph, int]]:
        kept = Plain()
        yield walk_below(), id(kept)

    running = generator()
    graph, address = next(running)
    assert referrers_of(graph, address) == [("root", "running frame")]


def test_coroutine_that_awaits_another_shows_its_variables_in_its_frame_only() -> None:
    async def walked() -> _heap.Graph:
        return walk_below()

    async def outer() -> tuple[_heap.Graph, int]:
        kept = Plain()
        return await walked(), id(kept)

    graph, address = asyncio.run(outer())
    assert referrers_of(graph, address) == [("root", "running frame")]


def test_generator_that_waits_shows_its_variables_itself() -> None:
    def generator() -> Iterator[int]:
        kept = Plain()
        yield id(kept)

    waiting = generator()
    address = next(waiting)
    assert referrers_of(_heap.walk(), address) == [("python", "generator")]


def test_variable_of_a_running_generator_that_something_else_holds_keeps_both() -> None:
    def generator() -> Iterator[tuple[_heap.Graph, int]]:
        kept = both = Plain()
        others.append(kept)
        yield walk_below(), id(both)

    others: list[Plain] = []
    running = generator()
    graph, address = next(running)
    found = sorted(referrers_of(graph, address))
    assert found == [("python", "list"), ("root", "running frame"), ("root", "running frame")]


def test_every_reference_to_what_a_generator_is_made_of_is_known() -> None:
    counts: list[tuple[int, int]] = []

    def generator() -> Iterator[None]:
        graph = _heap.walk()
        node = graph.find(id(code))
        assert node is not None
        counts.append((sys.getrefcount(code) - 1, len(graph.referrers(node))))
        yield

    code = generator.__code__
    running = generator()
    next(running)
    assert counts[0][0] == counts[0][1]
