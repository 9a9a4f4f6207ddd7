"""The graph's verdict on garbage, against the collector itself, on garbage that hypothesis builds."""

from __future__ import annotations

import contextlib
import gc
import os
import tempfile
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import gradlife.engine as engine
from gradlife import _heap
from gradlife.heap import open_snapshot, snapshot

PROFILES = ["torch-2.13", "torch-2.10", "torch-2.9", "torch-1.13", "torch-1.10", "torch-1.9", "torch-1.2"]
SETTINGS = settings(
    max_examples=16,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


class Thing:
    """Takes attributes and weak references."""

    held: Any


@pytest.fixture(autouse=True)
def _collector_looks_at_new_objects_only() -> Iterator[None]:
    gc.collect()
    gc.disable()
    gc.freeze()
    yield
    gc.unfreeze()
    gc.enable()


def over(held: Any) -> Callable[..., None]:
    """A hook that holds something."""

    def hook(*_: Any) -> None:
        assert held is not None

    return hook


def watch(entry: Any) -> Callable[[], Any]:
    """Like a weak reference, which the collector clears even where a wrapper's death is called off (PyTorch 1 and 2.0 to 2.9)."""
    if not gc.is_tracked(entry):
        return weakref.ref(entry)
    address, kind = id(entry), type(entry)
    return lambda: next((found for found in gc.get_objects() if id(found) == address and type(found) is kind), None)


#: What is made, in turn: a kind, and which of the things before it are its inputs.
Makes = list[tuple[str, int, int]]
#: Who refers to whom, and how.
Ties = list[tuple[int, int, str]]

KINDS = ["thing", "leaf", "sin", "exp", "mul", "function", "view", "node"]
WAYS = ["attribute", "list", "ctx", "tensor hook", "node hook", "node prehook", "accumulate hook", "metadata"]

plans = st.tuples(
    st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=7),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from(WAYS)), max_size=7),
)


class Garbage:
    """Objects that refer to one another as a plan says, and to which nothing else refers."""

    def __init__(self, fw: Any, makes: Makes, ties: Ties) -> None:
        self.fw = fw
        self.weak: list[Any] = []
        made: list[Any] = []
        for kind, one, other in makes:
            made.append(self.make(kind, made, one, other))
        for source, target, path in ties:
            self.tie(made[source % len(made)], made[target % len(made)], path)
        for entry in made:
            self.watch(entry)

    def make(self, kind: str, made: list[Any], one: int, other: int) -> Any:
        tensors = [entry for entry in made if isinstance(entry, self.fw.Tensor)]
        if kind == "thing":
            return Thing()
        if kind == "leaf" or not tensors:
            return self.fw.ones(2, requires_grad=True)
        x, y = tensors[one % len(tensors)], tensors[other % len(tensors)]
        match kind:
            case "sin":
                return x.sin()
            case "exp":
                return x.exp()
            case "mul":
                return x * y
            case "view":
                return x.view(2)
            case "node":
                return x.grad_fn if x.grad_fn is not None else Thing()
        return self.double().apply(x)

    def double(self) -> Any:
        class Double(self.fw.autograd.Function):  # type: ignore[name-defined,misc]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                return x * 2

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad * 2

        return Double

    def boxed(self, held: Any) -> Thing:
        """In something that can be emptied later, wherever it hangs."""
        box = Thing()
        box.held = held
        self.weak.append(weakref.ref(box))
        return box

    def tie(self, source: Any, target: Any, path: str) -> None:
        """Lets the source refer to the target; paths that the source does not offer are left out."""
        node: Any = getattr(source, "grad_fn", None)
        with contextlib.suppress(AttributeError, TypeError, RuntimeError):
            match path:
                case "attribute":
                    setattr(source, f"at_{id(target)}", target)
                case "list":
                    source.kept = [*getattr(source, "kept", ()), target]
                case "ctx":
                    setattr(node, f"at_{id(target)}", self.boxed(target))
                case "tensor hook":
                    source.register_hook(over(self.boxed(target)))
                case "node hook":
                    node.register_hook(over(self.boxed(target)))
                case "node prehook":
                    node.register_prehook(over(self.boxed(target)))
                case "accumulate hook":
                    source.register_post_accumulate_grad_hook(over(self.boxed(target)))
                case "metadata":
                    node.metadata[str(id(target))] = self.boxed(target)

    def watch(self, entry: Any) -> None:
        with contextlib.suppress(TypeError):  # nodes of old releases
            self.weak.append(watch(entry))

    def living(self) -> list[Any]:
        return [ref for ref in self.weak if ref() is not None]

    def break_up(self) -> None:
        """Takes apart what the collector could not."""
        for ref in self.living():
            getattr(ref(), "__dict__", {}).clear()
        settle()


def settle() -> None:
    """Collects until nothing more is found: what one run frees may let the next see more."""
    for _ in range(4):
        while gc.collect() != 0:
            pass


def check(fw: Any, makes: Makes, ties: Ties) -> None:
    garbage = Garbage(fw, makes, ties)
    try:
        living = garbage.living()
        judged = _heap.judge([id(ref()) for ref in living], None)
        settle()
        happened = ["gc" if ref() is None else "never" for ref in living]
        assert [found and found[0] for found in judged] == happened
    finally:
        garbage.break_up()


@pytest.mark.whole
@pytest.mark.parametrize("profile", PROFILES)
def test_collector_does_what_the_graph_says(profile: str) -> None:
    @given(plans)
    @SETTINGS
    def check_all(plan: tuple[Makes, Ties]) -> None:
        with engine.profile(profile):
            check(engine, *plan)

    check_all()


@pytest.mark.whole
@pytest.mark.torch
def test_collector_does_with_torch_what_the_graph_says() -> None:
    torch = pytest.importorskip("torch")
    from gradlife.heap.torch_layout.torch import ensure_calibrated

    ensure_calibrated()
    gc.freeze()

    @given(plans)
    @settings(SETTINGS, max_examples=12)
    def check_all(plan: tuple[Makes, Ties]) -> None:
        check(torch, *plan)

    check_all()


def keeps(fw: Any) -> Any:
    """A Function that keeps its output on its context, so that the output lies in a cycle through C++."""

    class Keeps(fw.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.output = x * 2
            return ctx.output

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    return Keeps


def owned_by_a_sum_in_a_cycle(fw: Any) -> list[Any]:
    """An output kept on its context; what owns its node beside it goes with another cycle."""
    y = keeps(fw).apply(fw.ones(3, requires_grad=True))
    total: Any = y.sum()
    total.itself = total
    return [y, total]


def each_owned_by_the_next(fw: Any) -> list[Any]:
    """Five outputs kept on their contexts, each the next one's input: one goes in each run of the collector."""
    kept = [keeps(fw).apply(fw.ones(3, requires_grad=True))]
    for _ in range(4):
        kept.append(keeps(fw).apply(kept[-1]))
    return kept


def hook_over_its_node(fw: Any) -> list[Any]:
    """A node with a hook that holds it; the tensor that owns it too lies in a cycle of its own."""
    y: Any = fw.ones(3, requires_grad=True) * 2
    y.itself = y
    box = Thing()
    box.held = y.grad_fn
    y.grad_fn.register_hook(over(box))
    return [y, box]


def owned_by_what_is_never_freed(fw: Any) -> list[Any]:
    """As the first, but what owns the node beside its output hangs on a hook that keeps its own tensor."""
    y = keeps(fw).apply(fw.ones(3, requires_grad=True))
    total = y.sum()
    box = Thing()
    box.held = total
    total.register_hook(over(box))
    return [y, box]


def attribute_of_a_kept_wrapper(fw: Any) -> list[Any]:
    """A tensor with an attribute that is computed from it, held by something in a cycle of its own."""
    thing: Any = Thing()
    thing.itself = thing
    thing.x = fw.ones(2, requires_grad=True)
    thing.x.y = thing.x.sin()
    return [thing, thing.x, thing.x.y]


def attribute_of_a_wrapper_held_by_a_tuple(fw: Any) -> list[Any]:
    """The same, from further away."""
    thing: Any = Thing()
    thing.parts = (fw.ones(2, requires_grad=True), thing)
    thing.parts[0].y = [thing.parts[0].sin()]
    return [thing, thing.parts[0], thing.parts[0].y[0]]


def attribute_seen_in_the_second_run(fw: Any) -> list[Any]:
    """Hold the second tensor by attributes of the first, which the collector clears."""
    made = attribute_of_a_kept_wrapper(fw)
    made[2].z = Thing()
    made[2].z.itself = made[2].z
    made[2].z.x = fw.ones(2, requires_grad=True)
    made[2].z.x.y = made[2].z.x.sin()
    return [*made, made[2].z, made[2].z.x, made[2].z.x.y]


def attribute_of_a_wrapper_that_nothing_holds(fw: Any) -> list[Any]:
    """Its death is called off at once, and no run of the collector sees it."""
    x = fw.ones(2, requires_grad=True)
    x.y = x.sin()
    return [x, x.y]


#: A release of torch, what is made there, and what becomes of each part.
FROM_1_10 = ("torch-1.10", "torch-1.13", "torch-2.9", "torch-2.10", "torch-2.13", "micrograd")
LATER_RUNS = [
    *((profile, owned_by_a_sum_in_a_cycle, ["gc", "gc"]) for profile in FROM_1_10),
    *((profile, owned_by_a_sum_in_a_cycle, ["never", "gc"]) for profile in ("torch-1.2", "torch-1.8", "torch-1.9")),
    *((profile, each_owned_by_the_next, ["gc"] * 5) for profile in FROM_1_10),
    *(
        (profile, make, ["gc"] * count)
        for profile in ("torch-1.9", "torch-1.10", "torch-1.13")
        for make, count in (
            (attribute_of_a_kept_wrapper, 3),
            (attribute_of_a_wrapper_held_by_a_tuple, 3),
            (attribute_seen_in_the_second_run, 6),
        )
    ),
    *((profile, attribute_of_a_kept_wrapper, ["gc", "never", "never"]) for profile in ("torch-2.10", "torch-2.13")),
    *((profile, attribute_of_a_wrapper_that_nothing_holds, ["never"] * 2) for profile in ("torch-1.13", "torch-2.9")),
    ("torch-2.13", hook_over_its_node, ["gc", "gc"]),
    ("torch-2.13", owned_by_what_is_never_freed, ["never", "never"]),
]


def check_later_runs(fw: Any, make: Callable[[Any], list[Any]], expected: list[str]) -> None:
    made: Any = make(fw)
    weak = [watch(entry) for entry in made]
    del made
    try:
        judged = _heap.judge([id(ref()) for ref in weak], None)
        settle()
        assert ["gc" if ref() is None else "never" for ref in weak] == expected
        assert [found and found[0] for found in judged] == expected
    finally:
        for ref in weak:
            getattr(getattr(ref(), "grad_fn", None), "__dict__", {}).clear()
            getattr(ref(), "__dict__", {}).clear()
        settle()


@pytest.mark.whole
@pytest.mark.parametrize(("profile", "make", "expected"), LATER_RUNS)
def test_cycle_that_the_collector_sees_once_others_are_freed_is_judged_by_what_it_then_sees(
    profile: str, make: Callable[[Any], list[Any]], expected: list[str]
) -> None:
    with engine.profile(profile):
        check_later_runs(engine, make, expected)


@pytest.mark.whole
@pytest.mark.torch
@pytest.mark.parametrize(("make", "expected"), [row[1:] for row in LATER_RUNS if row[0] == "torch-2.13"])
def test_torch_too_is_judged_by_what_the_collector_sees_once_others_are_freed(
    make: Callable[[Any], list[Any]], expected: list[str]
) -> None:
    torch = pytest.importorskip("torch")
    from gradlife.heap.torch_layout.torch import ensure_calibrated

    ensure_calibrated()
    gc.freeze()
    check_later_runs(torch, make, expected)


def test_constants_of_running_code_hold_what_a_program_put_there() -> None:
    things = [Thing(), Thing(), Thing()]
    weak = [weakref.ref(thing) for thing in things]
    held_by_code = (lambda: None).__code__.replace(co_consts=(things[0], (things[1],)))
    loop, things = things.pop(), []
    loop.held = loop
    del loop
    judged = _heap.judge([id(ref()) for ref in weak], None)
    assert [found and found[0] for found in judged] == ["held", "held", "gc"]
    del held_by_code


@pytest.mark.whole
def test_text_and_numbers_are_judged_like_all_others() -> None:
    held = ["text of its own", 10**20, 1.5e20, (lambda: None).__code__]
    judged = _heap.judge([id(thing) for thing in held], None)
    assert [found and found[0] for found in judged] == ["held"] * 4


@pytest.mark.whole
@given(plans)
@settings(SETTINGS, max_examples=8)
def test_file_says_what_the_process_said(plan: tuple[Makes, Ties]) -> None:
    garbage = Garbage(engine, *plan)
    try:
        living = garbage.living()
        addresses = [id(ref()) for ref in living]
        judged = [found and found[0] for found in _heap.judge(addresses, None)]
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "heap.glheap")
            snapshot().save(file)
            again = open_snapshot(file)
            assert [again.why(address).lifetime for address in addresses] == judged
    finally:
        garbage.break_up()
