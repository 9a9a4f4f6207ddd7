"""Python attributes of a tensor while only C++ holds it: identity, attributes, type, weak references."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import gradlife.engine as torch
from gradlife._engine import TensorBase
from leftovers import leaves
from lifetimes import RELEASES, Canary, collector_off, leaf, verdict
from python_versions import count_references

# releases before 1.10 forget; later ones preserve, by resurrection or by coupled counts
PRESERVES = {"torch-1.1": False, "torch-1.2": False, "torch-1.10": True, "torch-2.13": True}
each_release = pytest.mark.parametrize(("profile", "preserves"), PRESERVES.items())
every_release = pytest.mark.parametrize("profile", RELEASES)

POLICIES = {"rewrap": False, "cached": False, "resurrect": True, "coupled": True}
each_policy = pytest.mark.parametrize(("policy", "preserves"), POLICIES.items())


def with_grad() -> Any:
    a = leaf()
    (a * 2).sum().backward()
    return a


def others() -> list[Any]:
    """Tensors made between two looks, so that no address is used again by chance."""
    return [torch.ones(1) for _ in range(8)]


def identity(policy: str) -> Any:
    return torch.profile("torch-2.13", tensor_identity=policy)


# --- each policy by itself ---


@each_policy
def test_address_is_stable_only_where_the_wrapper_is_preserved(policy: str, preserves: bool) -> None:
    with identity(policy):
        a, kept = with_grad(), []
        seen = set()
        for _ in range(8):
            seen.add(id(a.grad))
            kept.append(others())
        assert len(seen) == (1 if preserves else 8)


@pytest.mark.parametrize(("policy", "expected"), [(policy, policy != "rewrap") for policy in POLICIES])
def test_held_wrapper_is_found_again_unless_every_look_makes_one(policy: str, expected: bool) -> None:
    with identity(policy):
        a = with_grad()
        held = a.grad
        assert (a.grad is held) is expected
        assert a.grad.tolist() == held.tolist()


@each_policy
def test_attribute_survives_only_where_the_wrapper_is_preserved(policy: str, preserves: bool) -> None:
    with identity(policy):
        a = with_grad()
        a.grad.note = 41
        assert hasattr(a.grad, "note") is preserves


def test_write_through_any_wrapper_is_seen_by_all_even_where_none_is_remembered() -> None:
    with identity("rewrap"):
        a = with_grad()
        first, second = a.grad, a.grad
        first.zero_()
        assert first is not second
        assert second.tolist() == [0.0, 0.0]


@leaves(tensor=1, storage=1)
def test_two_strong_pointers_are_never_let_go() -> None:
    def build() -> tuple[object, Any]:
        x = torch.ones(1)
        return x, weakref.ref(x)

    with identity("mutual"):
        assert verdict(build) == "never"


@pytest.mark.parametrize(("policy", "count"), [("rewrap", 1), ("cached", 1), ("resurrect", 1), ("coupled", 2)])
def test_reference_count_reports_cpp_owners_only_where_counts_are_coupled(policy: str, count: int) -> None:
    with identity(policy):
        fresh = torch.ones(2)
        a = with_grad()
        grad = a.grad
        assert count_references(fresh) == 1
        assert count_references(grad) == count
        a.grad = None
        assert count_references(grad) == 1


def test_coupled_count_is_one_higher_however_many_cpp_owners_there_are() -> None:
    x = leaf()
    nodes = [x.sin() for _ in range(3)]
    assert count_references(x) == 2
    del nodes[1:]
    assert count_references(x) == 2
    del nodes
    assert count_references(x) == 1


# --- the releases ---


@pytest.mark.reuse
@each_release
def test_id_of_grad_with_other_tensors_made_between(profile: str, preserves: bool) -> None:
    with torch.profile(profile):
        a, kept = with_grad(), []
        seen = set()
        for _ in range(8):
            seen.add(id(a.grad))
            kept.append(others())
        assert len(seen) == (1 if preserves else 8)
        assert len({id(a.grad) for _ in range(8)}) == 1


@each_release
def test_weak_reference_lives_while_only_cpp_holds_where_wrappers_are_preserved(profile: str, preserves: bool) -> None:
    calls: list[str] = []
    with torch.profile(profile), collector_off():
        a = with_grad()
        ref = weakref.ref(a.grad, lambda ref: calls.append("gone"))
        kept = others()
        assert (ref() is not None) is preserves
        assert calls == ([] if preserves else ["gone"])
        if preserves:
            assert ref() is a.grad
        a.grad = None
        assert ref() is None
        assert calls == ["gone"]
        del kept


@each_release
@pytest.mark.parametrize("has_slots", [False, True])
def test_subclass_dict_and_slots_survive_where_wrappers_are_preserved(
    profile: str, preserves: bool, has_slots: bool
) -> None:
    class Plain(torch.Tensor):
        pass

    class Slotted(torch.Tensor):
        __slots__ = ("slot",)

    kind = Slotted if has_slots else Plain
    with torch.profile(profile):
        p = leaf()
        g: Any = TensorBase.as_subclass(torch.ones(2), kind)
        g.note = [1, 2]
        if has_slots:
            g.slot = 7
        p.grad = g
        del g
        kept = others()
        gc.collect()
        assert type(p.grad) is (kind if preserves else torch.Tensor)
        assert getattr(p.grad, "note", None) == ([1, 2] if preserves else None)
        assert getattr(p.grad, "slot", None) == (7 if preserves and has_slots else None)
        del kept


@each_release
def test_finaliser_runs_once_and_only_when_the_tensor_goes(profile: str, preserves: bool) -> None:
    deaths: list[int] = []

    class Counted(torch.Tensor):
        def __del__(self) -> None:
            deaths.append(1)

    with torch.profile(profile), collector_off():
        p = leaf()
        g: Any = TensorBase.as_subclass(torch.ones(2), Counted)
        p.grad = g
        del g
        assert len(deaths) == (0 if preserves else 1)
        assert type(p.grad) is (Counted if preserves else torch.Tensor)
        for _ in range(3):
            g = p.grad
            del g
        assert len(deaths) == (0 if preserves else 1)
        p.grad = None
        assert len(deaths) == 1


@each_release
def test_parameter_stays_a_parameter_where_wrappers_are_preserved(profile: str, preserves: bool) -> None:
    with torch.profile(profile):
        p = torch.nn.Parameter(torch.ones(2))
        y = p * 2
        accumulator = y.grad_fn.next_functions[0][0]
        del p
        kept = others()
        assert type(accumulator.variable) is (torch.nn.Parameter if preserves else torch.Tensor)
        del kept, y


@each_release
def test_object_on_a_leaf_lives_as_long_as_the_graph_where_wrappers_are_preserved(
    profile: str, preserves: bool
) -> None:
    with torch.profile(profile), collector_off():
        x = leaf()
        x.canary = Canary()
        alive = weakref.ref(x.canary)
        y = x * 2
        accumulator = y.grad_fn.next_functions[0][0]
        del x
        assert (alive() is not None) is preserves
        del y
        assert (alive() is not None) is preserves
        del accumulator
        assert alive() is None


@each_release
def test_base_of_a_view_is_itself_where_wrappers_are_preserved(profile: str, preserves: bool) -> None:
    with torch.profile(profile), collector_off():
        x = torch.ones(4)
        x.note = 3
        view = x[:2]
        assert view._base is x
        alive = weakref.ref(x)
        del x
        kept = others()
        assert (alive() is not None) is preserves
        assert getattr(view._base, "note", None) == (3 if preserves else None)
        del kept


@each_release
def test_saved_input_is_the_object_itself_since_1_10(profile: str, preserves: bool) -> None:
    seen: list[bool] = []

    class Look(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * 2
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    with torch.profile(profile):
        x = leaf() * 1
        x.note = 9
        y = Look.apply(x)
        seen = [y.grad_fn.saved_tensors[0] is x, y.grad_fn.saved_tensors[1] is y]
        assert seen == [preserves, False]
        del x
        kept = others()
        assert getattr(y.grad_fn.saved_tensors[0], "note", None) == (9 if preserves else None)
        del kept


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("torch-1.1", "del"),
        ("torch-1.2", "del"),
        pytest.param("torch-1.10", "never", marks=leaves(tensor=2, storage=2, node=2, saved=2)),
        pytest.param("torch-2.13", "never", marks=leaves(tensor=2, storage=2, node=2, saved=2)),
    ],
)
def test_leaf_that_holds_its_own_graph_is_lost_since_preservation(profile: str, expected: str) -> None:
    def build() -> tuple[object, Any]:
        t = leaf()
        t.out = t * t
        return t, weakref.ref(t)

    with torch.profile(profile):
        assert verdict(build) == expected


@every_release
def test_tensor_that_holds_itself_is_collected(profile: str) -> None:
    def build() -> tuple[object, Any]:
        t = leaf()
        t.itself = t
        return t, weakref.ref(t)

    with torch.profile(profile):
        assert verdict(build) == "gc"


@every_release
def test_collection_spares_a_wrapper_that_only_cpp_holds(profile: str) -> None:
    with torch.profile(profile):
        x = leaf()
        y = x * 1
        y.itself = y
        z = y.sin()
        del y
        gc.collect()
        z.sum().backward()
        assert x.grad.tolist() == torch.cos(torch.ones(2)).tolist()
