"""The references of contexts, nodes and hooks that the cyclic collector sees, and the calls it may make while it
clears them.
"""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import gradlife.engine as torch
from leftovers import leaves
from lifetimes import (
    EVERY_PROFILE,
    RELEASES,
    Canary,
    Watched,
    collector_off,
    doubling,
    leaf,
    nothing,
    save_input,
    verdict,
)

every_profile = pytest.mark.parametrize("profile", EVERY_PROFILE)
every_release = pytest.mark.parametrize("profile", RELEASES)


def referent_types(obj: object) -> list[str]:
    return sorted(type(referent).__name__ for referent in gc.get_referents(obj))


# --- referents ---


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("torch-1.1", ["dict", "type"]),
        ("torch-1.2", ["dict", "type"]),
        ("torch-1.10", ["dict", "type"]),
        ("torch-2.13", ["dict", "tuple", "type"]),
    ],
)
def test_context_shows_its_dict_and_its_type_and_since_2_13_needs_input_grad(profile: str, expected: list[str]) -> None:
    with torch.profile(profile):
        y = doubling(save_input).apply(leaf())
        y.grad_fn.note = 1
        assert referent_types(y.grad_fn) == expected


@every_release
def test_cpp_node_shows_nothing_of_the_graph(profile: str) -> None:
    with torch.profile(profile):
        y = leaf() * leaf()
        assert set(referent_types(y.grad_fn)) <= {"type"}
        assert gc.is_tracked(y.grad_fn)


@every_release
def test_tensor_shows_neither_its_gradient_nor_its_base(profile: str) -> None:
    with torch.profile(profile):
        x = leaf()
        x.grad = torch.ones(2)
        view = x.detach()[:1]
        assert x.grad is not None
        assert referent_types(x) == ["_TensorMeta"]
        assert referent_types(view) == ["_TensorMeta"]


@every_release
def test_hook_dict_of_an_output_has_three_owners_of_which_two_are_shown(profile: str) -> None:
    with torch.profile(profile):
        y = leaf() * 2
        y.register_hook(nothing)
        dicts = [referent for referent in gc.get_referents(y) if referent is y._backward_hooks]
        assert len(dicts) == 2
        assert torch.live_counts()["hook"] == 2


@pytest.mark.parametrize(
    ("profile", "is_shown"), [("torch-1.1", True), ("torch-1.2", True), ("torch-1.10", False), ("torch-2.13", True)]
)
def test_dict_of_a_tensor_that_cpp_would_keep_is_hidden_under_resurrection_alone(profile: str, is_shown: bool) -> None:
    with torch.profile(profile):
        x = leaf()
        x.note = 1
        y = x.sin()
        assert ("dict" in referent_types(x)) is is_shown
        del y
        assert "dict" in referent_types(x)


@pytest.mark.parametrize(
    ("profile", "is_shown"), [("torch-1.1", False), ("torch-1.2", False), ("torch-1.10", True), ("torch-2.13", True)]
)
def test_output_that_alone_owns_its_context_shows_it_since_1_10(profile: str, is_shown: bool) -> None:
    with torch.profile(profile):
        y = doubling().apply(leaf())
        shown = "FBackward" in referent_types(y)
        assert shown is is_shown
        z = y * 2
        assert "FBackward" not in referent_types(y)
        del z


def test_context_whose_node_has_another_owner_is_not_shown() -> None:
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, first: Any, second: Any) -> Any:
            return first * 2 + second * 3

    y, z = Both.apply(leaf())
    assert "BothBackward" not in referent_types(y)
    del z
    assert "BothBackward" in referent_types(y)


# --- hooks through a living node and a dead one ---


@pytest.mark.parametrize(
    ("profile", "is_shown"), [("torch-1.1", True), ("torch-1.2", True), ("torch-1.10", True), ("torch-2.13", False)]
)
def test_context_shows_the_hooks_of_its_living_node(profile: str, is_shown: bool) -> None:
    # from 2.13 on only where nobody else owns the node: here the output does
    with torch.profile(profile):
        y = doubling().apply(leaf())
        y.grad_fn.register_hook(nothing)
        assert ("OrderedDict" in referent_types(y.grad_fn)) is is_shown


def test_context_that_alone_owns_its_node_shows_its_hooks_in_2_13() -> None:
    y = doubling().apply(leaf())
    fn = y.grad_fn
    fn.register_hook(nothing)
    del y
    assert "OrderedDict" in referent_types(fn)


@pytest.mark.parametrize("profile", ["torch-1.2", "torch-1.10"])
def test_hooks_of_a_dead_node_are_gone_and_not_shown(profile: str) -> None:
    with torch.profile(profile), collector_off():
        y = doubling().apply(leaf())
        fn = y.grad_fn
        hook: Any = Canary()
        hook = lambda *ignored, canary=hook: None  # noqa: E731
        alive = weakref.ref(hook)
        fn.register_hook(hook)
        del hook
        assert alive() is not None
        del y
        assert alive() is None
        assert "OrderedDict" not in referent_types(fn)


@pytest.mark.parametrize(
    ("profile", "expected"),
    [("torch-1.1", "gc"), ("torch-1.2", "del"), ("torch-1.10", "del"), ("torch-2.13", "gc")],
)
def test_hook_that_holds_its_own_context(profile: str, expected: str) -> None:
    def build() -> Watched:
        y = doubling().apply(leaf())
        fn = y.grad_fn
        fn.register_hook(lambda *ignored: fn)
        return y, weakref.ref(fn)

    with torch.profile(profile):
        assert verdict(build) == expected


LOST = {"tensor": 2, "storage": 2, "node": 2, "hook": 1, "context": 1}


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        pytest.param("torch-1.1", "never", marks=leaves(**LOST, block=1)),
        pytest.param("torch-1.2", "never", marks=leaves(**LOST)),
        ("torch-1.10", "gc"),
        pytest.param("torch-2.13", "never", marks=leaves(**LOST)),
    ],
)
def test_hook_on_a_context_that_holds_the_output(profile: str, expected: str) -> None:
    def build() -> Watched:
        y = doubling().apply(leaf())
        y.grad_fn.register_hook(lambda *ignored: y)
        return y, weakref.ref(y.grad_fn)

    with torch.profile(profile):
        assert verdict(build) == expected


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        pytest.param("torch-1.1", "never", marks=leaves(**{**LOST, "hook": 2}, block=1)),
        pytest.param("torch-1.2", "never", marks=leaves(**{**LOST, "hook": 2})),
        ("torch-1.10", "gc"),
        pytest.param("torch-2.13", "never", marks=leaves(**{**LOST, "hook": 2})),
    ],
)
def test_tensor_hook_on_the_output_of_a_function_that_holds_the_output(profile: str, expected: str) -> None:
    def build() -> Watched:
        y = doubling().apply(leaf())
        y.register_hook(lambda grad: nothing(y))
        return y, weakref.ref(y)

    with torch.profile(profile):
        assert verdict(build) == expected


@every_release
def test_hook_on_a_cpp_node_that_holds_that_node_is_collected(profile: str) -> None:
    def build() -> Watched:
        y = leaf() * 2
        fn = y.grad_fn
        canary = Canary()
        fn.register_hook(lambda *ignored: (fn, canary))
        return y, weakref.ref(canary)

    with torch.profile(profile):
        assert verdict(build) == "gc"


@every_release
def test_removing_the_hook_that_holds_the_output_frees_it_at_once(profile: str) -> None:
    with torch.profile(profile), collector_off():
        y = doubling().apply(leaf())
        handle = y.grad_fn.register_hook(lambda *ignored, y=y: nothing(y))
        context = weakref.ref(y.grad_fn)
        del y
        assert context() is not None
        handle.remove()
        assert context() is None
