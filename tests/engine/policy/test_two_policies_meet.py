"""Objects of two policies in one graph: an edge follows the policy of the node it points to, a slot that of the node that
saves, a wrapper that of its tensor. For each axis, every ordered pair of its values."""

from __future__ import annotations

import gc
import itertools
import math
import sys
import weakref
from typing import Any

import pytest

import gradlife.engine as torch
from gradlife.engine.policies import Profile, resolve
from leftovers import difference, live_counts, run_in_child, run_script
from lifetimes import collector_off, doubling, leaf, nothing

BASE = "torch-2.13"
# Values that lose what they touch, whatever it is: both own each other for ever, or a reference too many is taken.
LOSING = {("tensor_identity", "mutual"), ("storage_identity", "mutual"), ("node_identity", "mutual")}


def pairs(axis: str) -> list[tuple[str, str]]:
    return list(itertools.permutations(torch.AXES[axis], 2))


def under(axis: str, value: str) -> Profile:
    return resolve(BASE, {axis: value})


def meet(first: Profile, second: Profile) -> tuple[Any, Any]:
    """A graph whose lower half is born under one profile and whose upper half under the other; its gradients."""
    with torch.profile(first):
        x = leaf(1.0, 2.0)
        low = doubling(nothing).apply(x.exp())
        shared = low.view(-1)
    with torch.profile(second):
        w = leaf(3.0, 4.0)
        high = doubling(nothing).apply(shared * w)
        loss = (high + shared.sin()).sum()
    with torch.profile(first):
        loss.backward()
    return tuple(None if each.grad is None else each.grad.tolist() for each in (x, w))  # type: ignore[return-value]


def expected_gradients() -> tuple[list[Any], list[Any]]:
    low = [2 * math.exp(value) for value in (1.0, 2.0)]
    of_low = [2 * w + math.cos(value) for w, value in zip((3.0, 4.0), low, strict=True)]
    of_x = [gradient * value for gradient, value in zip(of_low, low, strict=True)]
    return [pytest.approx(value, rel=1e-5) for value in of_x], [pytest.approx(2 * value, rel=1e-5) for value in low]


def check_gradients(axis: str, first: str, second: str) -> None:
    assert meet(under(axis, first), under(axis, second)) == expected_gradients()


@pytest.mark.whole
@pytest.mark.parametrize(("axis", "first", "second"), [(axis, *pair) for axis in torch.AXES for pair in pairs(axis)])
def test_gradients_flow_through_both_and_nothing_is_left(axis: str, first: str, second: str) -> None:
    unsound = {(axis, first), (axis, second)} & LOSING or "weak_at_construction" in (first, second)
    if unsound:
        run_in_child(check_in_child, axis, first, second)
    else:
        check_gradients(axis, first, second)


def check_in_child(axis: str, first: str, second: str) -> None:
    """Check in a child, with which the leaks die, that no gradient passes a context whose node nobody owned."""
    x, w = meet(under(axis, first), under(axis, second))
    of_x, of_w = expected_gradients()
    assert w == (None if second == "weak_at_construction" else of_w)
    assert first != "weak_at_construction" or x is None
    assert "weak_at_construction" in (first, second) or x == of_x


# --- each object by its own policy ---


def hidden_in_a_slot(policy: Profile, saver: Profile) -> tuple[Any, Any]:
    """A tagged tensor that only the slot of another profile's node keeps: (weak reference, that node)."""
    with torch.profile(policy):
        hidden = leaf(1.0, 2.0).exp()
        hidden.tag = 7
    with torch.profile(saver):
        node = hidden.sin().grad_fn
    return weakref.ref(hidden), node


@pytest.mark.parametrize(("first", "second"), pairs("tensor_identity"))
def test_a_wrapper_follows_its_tensor(first: str, second: str) -> None:
    def observe() -> tuple[bool, bool]:
        watch, node = hidden_in_a_slot(under("tensor_identity", first), under("tensor_identity", second))
        return watch() is not None, hasattr(node._saved_self, "tag")

    is_kept = first in ("resurrect", "coupled", "mutual")
    look = run_in_child if "mutual" in (first, second) else (lambda function: function())
    assert look(observe) == (is_kept, is_kept)


@pytest.mark.parametrize(("first", "second"), pairs("storage_identity"))
def test_the_object_of_a_storage_follows_the_storage(first: str, second: str) -> None:
    def observe() -> bool:
        with torch.profile(under("storage_identity", first)):
            x = torch.ones(2)
        with torch.profile(under("storage_identity", second)):
            view = x.view(2)
            view.untyped_storage().tag = 7
            return hasattr(x.untyped_storage(), "tag")

    look = run_in_child if "mutual" in (first, second) else (lambda function: function())
    assert look(observe) == (first in ("resurrect", "coupled", "mutual"))


@pytest.mark.parametrize(("first", "second"), pairs("node_identity"))
def test_the_object_of_a_node_follows_the_node(first: str, second: str) -> None:
    def observe() -> tuple[bool, bool]:
        with torch.profile(under("node_identity", first)):
            y = leaf(1.0).exp()
        with torch.profile(under("node_identity", second)):
            z = y.sin()
            held = z.grad_fn, y.grad_fn
            return y.grad_fn is held[1] is z.grad_fn.next_functions[0][0], z.grad_fn is held[0]

    look = run_in_child if "mutual" in (first, second) else (lambda function: function())
    assert look(observe) == (first != "rewrap", second != "rewrap")


VERDICTS = {"detached_data": "del", "owning": "never", "closure": "gc"}


@pytest.mark.parametrize(("first", "second"), pairs("saved_slot"))
def test_a_slot_follows_the_node_that_saves(first: str, second: str) -> None:
    """`exp` saves its own result. Each half has a leaf of its own."""

    def observe() -> list[str]:
        with collector_off():
            watched = []
            for value in (first, second):
                with torch.profile(under("saved_slot", value)):
                    x = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
                    y = x.exp()
                    watched.append(weakref.ref(x))
            with torch.profile(under("saved_slot", "detached_data")):
                del x, y
            before = [watch() is None for watch in watched]
            gc.collect()
            after = [watch() is None for watch in watched]
        return ["del" if early else "gc" if late else "never" for early, late in zip(before, after, strict=True)]

    assert run_in_child(observe) == [VERDICTS[first], VERDICTS[second]]


@pytest.mark.parametrize(("first", "second"), pairs("saved_slot"))
def test_a_chain_of_two_slots_is_freed_as_the_one_that_holds_longest_says(first: str, second: str) -> None:
    def observe() -> dict[str, int]:
        before = live_counts()
        with torch.profile(under("saved_slot", first)):
            y = leaf(1.0).exp()
        with torch.profile(under("saved_slot", second)):
            z = y.exp()
        del y, z
        return difference(before, live_counts())

    # What is lost is the owning node's result, and all that lies behind it.
    lost = {"storage": 3, "node": 3, "saved": 2} if second == "owning" else {"storage": 2, "node": 2, "saved": 1}
    expected = lost if "owning" in (first, second) else {}
    left = run_in_child(observe)
    assert {kind: count for kind, count in left.items() if kind != "tensor"} == expected


WHOLE = ("ctx_owns_node", "coupled", "refcount_check")


@pytest.mark.parametrize(
    ("first", "second"), [case for case in pairs("function_ownership") if "weak_at_construction" not in case]
)
def test_a_held_context_follows_its_own_policy(first: str, second: str) -> None:
    with torch.profile(under("function_ownership", first)):
        low = doubling(nothing).apply(leaf(1.0))
    with torch.profile(under("function_ownership", second)):
        high = doubling(nothing).apply(low)
    contexts = low.grad_fn, high.grad_fn
    assert contexts[1].next_functions[0][0] is contexts[0]
    del low, high
    works = [is_whole(context) for context in contexts]
    # The upper context, where it owns its node, keeps the lower node too.
    assert works == [first in WHOLE or second in WHOLE, second in WHOLE]


def is_whole(context: Any) -> bool:
    try:
        return len(context.next_functions) == 1
    except RuntimeError:
        return False


def marked(first: str, second: str) -> Any:
    return pytest.param(first, second, marks=pytest.mark.unsound if "borrowed" in (first, second) else ())


@pytest.mark.parametrize(("first", "second"), [marked(*pair) for pair in pairs("hook_references")])
def test_a_slot_takes_the_references_of_its_own_policy(first: str, second: str) -> None:
    taken = {"owned": 1, "borrowed": 0, "extra": 2}

    def observe() -> list[int]:
        def pack(tensor: Any) -> Any:
            return tensor

        spare = [pack] * 8  # a borrowed reference is given back all the same: keep enough of them
        counts = []
        outputs = []
        for value in (first, second):
            with torch.profile(under("hook_references", value)):
                y = leaf(1.0).sin()
                before = sys.getrefcount(pack)
                y.grad_fn._raw_saved_self.register_hooks(pack, lambda packed: packed)
                counts.append(sys.getrefcount(pack) - before)
                outputs.append(y)
        assert len(spare) == 8
        return counts

    assert run_in_child(observe) == [taken[first], taken[second]]


@pytest.mark.parametrize(("first", "second"), pairs("unpack_schedule"))
def test_the_schedule_is_that_of_the_backward_and_not_of_the_graph(first: str, second: str) -> None:
    order: list[str] = []

    def hooks(name: str) -> Any:
        def unpack(tensor: Any) -> Any:
            order.append(f"unpack {name}")
            return tensor

        return torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack)

    with torch.profile(under("unpack_schedule", first)):
        x = leaf(1.0)
        with hooks("low"):
            y = x.sin()
        with hooks("high"):
            z = y.sin()

    def on_gradient(grad: Any) -> None:
        order.append("gradient of low")

    y.register_hook(on_gradient)
    with torch.profile(under("unpack_schedule", second)):
        z.backward()
    late = ["unpack high", "gradient of low", "unpack low"]
    early = ["unpack high", "unpack low", "gradient of low"]
    assert order == (late if second == "progressive" else early)


# The hooks live in a namespace of their own: through their globals they would keep the main module, and so themselves.
AT_EXIT = """
import sys
import gradlife.engine as torch

apart = {}
exec('''
import os
class Told:
    def __init__(self, name):
        self.name = name
    def __del__(self, write=os.write):
        write(1, self.name.encode() + b";")
def hooks(torch, name):
    return torch.autograd.graph.saved_tensors_hooks(lambda t: Told(name), lambda t: None)
''', apart)
kept = []
for value in sys.argv[1:]:
    with torch.profile("torch-2.13", interpreter_exit=value), apart["hooks"](torch, value):
        kept.append(torch.ones(1, requires_grad=True).sin())
del apart
"""


@pytest.mark.parametrize(("first", "second"), pairs("interpreter_exit"))
def test_at_exit_each_slot_does_as_its_own_policy_says(first: str, second: str) -> None:
    run = run_script(AT_EXIT, first, second)
    assert (run.returncode, run.stdout) == (0, "release;")
