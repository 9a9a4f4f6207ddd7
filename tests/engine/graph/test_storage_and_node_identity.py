"""Identity of the Python objects of storages and of C++ nodes, by policy and by release."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

import gradlife.engine as torch
from gradlife._engine import TensorBase
from gradlife.engine.autograd.graph import Node
from leftovers import leaves
from lifetimes import RELEASES, Canary, collector_off, leaf
from python_versions import count_references

PRESERVES = {"rewrap": False, "cached": False, "resurrect": True, "coupled": True}
each_policy = pytest.mark.parametrize(("policy", "preserves"), PRESERVES.items())
every_release = pytest.mark.parametrize("profile", RELEASES)


# --- storages ---


@each_policy
def test_attribute_on_a_storage_survives_where_its_wrapper_is_preserved(policy: str, preserves: bool) -> None:
    with torch.profile("torch-2.13", storage_identity=policy):
        x = torch.ones(3)
        x.untyped_storage().note = 3
        kept = [torch.ones(1).untyped_storage() for _ in range(8)]
        assert hasattr(x.untyped_storage(), "note") is preserves
        del kept


@pytest.mark.parametrize(("policy", "expected"), [(policy, policy != "rewrap") for policy in PRESERVES])
def test_view_shares_the_storage_object_of_its_base(policy: str, expected: bool) -> None:
    with torch.profile("torch-2.13", storage_identity=policy):
        x = torch.ones(3)
        view = x.view(-1)
        held = x.untyped_storage()
        assert (view.untyped_storage() is held) is expected
        assert view.untyped_storage().data_ptr() == held.data_ptr()


@each_policy
def test_weak_reference_to_a_storage_dies_with_the_last_tensor_where_it_is_preserved(
    policy: str, preserves: bool
) -> None:
    with torch.profile("torch-2.13", storage_identity=policy), collector_off():
        x = torch.ones(3)
        alive = weakref.ref(x.untyped_storage())
        assert (alive() is not None) is preserves
        view = x[:1]
        del x
        assert (alive() is not None) is preserves
        del view
        assert alive() is None


@leaves(storage=1)
def test_storage_whose_wrapper_is_held_by_it_and_holds_it_is_lost() -> None:
    with torch.profile("torch-2.13", storage_identity="mutual"):
        x = torch.ones(3)
        assert x.untyped_storage().nbytes() == 12


@pytest.mark.parametrize(
    ("profile", "is_same"), [("torch-1.1", False), ("torch-1.2", False), ("torch-1.10", False), ("torch-2.13", True)]
)
def test_storage_object_is_the_same_each_time_only_in_2_13(profile: str, is_same: bool) -> None:
    with torch.profile(profile):
        x = torch.ones(3)
        assert (TensorBase.untyped_storage(x) is TensorBase.untyped_storage(x)) is is_same


def test_storage_object_keeps_the_bytes_when_its_tensor_is_gone() -> None:
    before = torch.live_bytes()
    storage = torch.ones(3).untyped_storage()
    assert torch.live_bytes() == before + 12
    assert torch.live_counts()["tensor"] == 0
    del storage
    assert torch.live_bytes() == before


# --- C++ nodes ---


@each_policy
def test_address_of_a_node_is_stable_where_its_wrapper_is_preserved(policy: str, preserves: bool) -> None:
    with torch.profile("torch-2.13", node_identity=policy):
        y, kept, seen = leaf().exp(), [], set()
        for _ in range(8):
            seen.add(id(y.grad_fn))
            kept.append([leaf().exp().grad_fn for _ in range(3)])
        assert len(seen) == (1 if preserves else 8)


@pytest.mark.parametrize(("policy", "expected"), [(policy, policy != "rewrap") for policy in PRESERVES])
def test_held_node_is_found_again_from_its_tensor_and_from_what_follows(policy: str, expected: bool) -> None:
    with torch.profile("torch-2.13", node_identity=policy):
        y = leaf().exp()
        z = y * 2
        held = y.grad_fn
        assert (y.grad_fn is held) is expected
        assert (z.grad_fn.next_functions[0][0] is held) is expected


@leaves(tensor=2, storage=2, node=2, saved=1)
def test_node_whose_wrapper_is_held_by_it_and_holds_it_is_lost() -> None:
    with torch.profile("torch-2.13", node_identity="mutual"):
        x = leaf()
        y = x.exp()
        assert y.grad_fn.name() == "ExpBackward0"
        del y
        assert torch.live_counts()["node"] == 2


@pytest.mark.parametrize(
    ("profile", "count"), [("torch-1.1", 1), ("torch-1.2", 1), ("torch-1.10", 1), ("torch-2.13", 2)]
)
def test_reference_count_of_a_named_node_reports_its_graph_only_in_2_13(profile: str, count: int) -> None:
    with torch.profile(profile):
        y = leaf().exp()
        node = y.grad_fn
        assert count_references(node) == count
        del y
        assert count_references(node) == 1


@every_release
def test_node_takes_no_attributes_and_no_weak_references_but_keeps_metadata(profile: str) -> None:
    with torch.profile(profile), collector_off():
        y = leaf() * 2
        with pytest.raises(AttributeError, match="'MulBackward0' object has no attribute 'note'"):
            y.grad_fn.note = 1
        with pytest.raises(TypeError, match="cannot create weak reference to 'MulBackward0' object"):
            weakref.ref(y.grad_fn)
        y.grad_fn.metadata["canary"] = Canary()
        alive = weakref.ref(y.grad_fn.metadata["canary"])
        assert alive() is not None
        del y
        assert alive() is None


@every_release
def test_accumulator_is_shared_by_live_graphs_and_goes_with_the_last(profile: str) -> None:
    with torch.profile(profile), collector_off():
        x = leaf()
        y, z = x * 2, x * 3
        accumulator = y.grad_fn.next_functions[0][0]
        assert z.grad_fn.next_functions[0][0] is accumulator
        assert accumulator.variable is x
        accumulator.metadata["canary"] = Canary()
        alive = weakref.ref(accumulator.metadata["canary"])
        del accumulator, y
        assert alive() is not None
        del z
        assert alive() is None


@every_release
def test_node_is_an_instance_of_node_whatever_it_is_made_of(profile: str) -> None:
    with torch.profile(profile):
        nodes: list[Any] = [(leaf() * 2).grad_fn, (leaf() * 2).grad_fn.next_functions[0][0]]
        assert all(isinstance(node, Node) for node in nodes)
        assert not isinstance(leaf(), Node)
