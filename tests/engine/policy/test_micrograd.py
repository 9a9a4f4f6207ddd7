"""The profile `micrograd`: each result keeps a closure over itself and its inputs, where the collector can see it.

So every result lies in a cycle of Python's: nothing is freed by counting references, and nothing is lost for ever.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import gradlife.engine as torch
from lifetimes import collector_off, doubling


@pytest.fixture(autouse=True)
def under_micrograd() -> Iterator[None]:
    with torch.profile("micrograd"), collector_off():
        yield


def leaf(*values: float) -> Any:
    return torch.tensor(values or (2.0,), requires_grad=True)


def freed_by(subject: Any) -> str:
    """When a weakly watched subject goes, now that every name is gone."""
    if subject() is None:
        return "del"
    gc.collect()
    return "gc" if subject() is None else "never"


# --- who keeps whom ---


def test_a_result_is_freed_by_the_collector_only() -> None:
    x = leaf()
    y = x * 3
    subject = weakref.ref(y)
    del y
    assert freed_by(subject) == "gc"
    assert x.tolist() == [2.0]


def test_a_result_without_history_has_no_closure() -> None:
    with torch.no_grad():
        y = leaf() * 3
    subject = weakref.ref(y)
    del y
    assert freed_by(subject) == "del"


def test_the_closure_is_over_the_result_and_its_inputs() -> None:
    x, w = leaf(), leaf(3.0)
    y = x * w
    (closure,) = (found for found in gc.get_referrers(y) if type(found) is tuple)
    assert [id(item) for item in closure] == [id(y), id(x), id(w)]


def test_a_result_keeps_its_inputs_with_their_attributes() -> None:
    x = leaf()
    hidden = x.exp()
    hidden.note = 5
    watch: Any = weakref.ref(hidden)
    y = hidden.sin()
    del hidden
    gc.collect()
    assert watch().note == 5
    assert y.grad_fn is not None


@pytest.mark.parametrize("hold", ["out", "grad_fn", "self"])
def test_cycles_through_attributes_are_the_collectors(hold: str) -> None:
    x = leaf()
    y = x * 2
    z = y.exp()
    if hold == "out":
        x.out = z
    elif hold == "grad_fn":
        x.out = z.grad_fn
    else:
        z.me = z
    subject = weakref.ref(z)
    del x, y, z
    assert freed_by(subject) == "gc"


def test_a_gradient_that_is_the_leafs_own_result_is_the_collectors() -> None:
    x = leaf()
    x.grad = x * 2
    subject = weakref.ref(x)
    del x
    assert freed_by(subject) == "gc"


def test_a_held_node_keeps_its_result_and_what_it_was_made_of() -> None:
    x = leaf()
    y = x * 2
    subjects = weakref.ref(x), weakref.ref(y)
    node = y.grad_fn
    del x, y
    gc.collect()
    assert all(subject() is not None for subject in subjects)
    assert node.name() == "MulBackward0"
    del node
    gc.collect()
    assert all(subject() is None for subject in subjects)


@pytest.mark.parametrize("where", ["tensor", "node"])
def test_a_hook_over_its_own_tensor_is_the_collectors(where: str) -> None:
    def hooked() -> Any:
        y = leaf() * 2

        def hook(*gradients: Any) -> None:
            _ = y

        (y if where == "tensor" else y.grad_fn).register_hook(hook)
        return weakref.ref(hook)

    assert freed_by(hooked()) == "gc"


def test_a_context_that_keeps_its_output_is_the_collectors() -> None:
    def keep(ctx: Any, x: Any, y: Any) -> None:
        ctx.y = y

    y = doubling(keep).apply(leaf())
    subject = weakref.ref(y.grad_fn)
    del y
    assert freed_by(subject) == "gc"


def test_outputs_of_one_node_have_a_closure_each() -> None:
    x = leaf(1.0, 2.0)
    first, second = x.unbind(0)
    subject = weakref.ref(first)
    del first
    assert freed_by(subject) == "gc"
    second.backward()
    assert x.grad.tolist() == [0.0, 1.0]


def test_a_view_and_its_base_are_the_collectors() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    v = y.view(2, 1)
    v.note = y
    subject = weakref.ref(y)
    del x, y, v
    assert freed_by(subject) == "gc"


# --- backward ---


def test_backward_may_run_again_and_frees_nothing() -> None:
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [4.0, 8.0]
    assert y.grad_fn.next_functions[0][0]._saved_self.tolist() == [1.0, 2.0]


def test_backward_leaves_the_cycle_as_it_is() -> None:
    x = leaf()
    y = x.exp()
    y.backward()
    subject = weakref.ref(y)
    del y
    assert freed_by(subject) == "gc"


def test_gradients_of_gradients_are_right_and_collected() -> None:
    x = leaf(3.0)
    y = x * x * x
    first: Any = torch.autograd.grad(y, x, create_graph=True)[0]
    second: Any = torch.autograd.grad(first, x)[0]
    assert (first.tolist(), second.tolist()) == ([27.0], [18.0])


def test_graphs_that_the_collector_takes_apart_one_by_one_still_differentiate() -> None:
    x = leaf(1.0)
    total = x * 0
    for _ in range(50):
        total = total + x * x
        gc.collect(0)
    total.backward()
    assert x.grad.tolist() == [100.0]


def test_a_hundred_thousand_results_in_a_row_are_collected() -> None:
    x = leaf()
    y = x
    for _ in range(100_000):
        y = y + 1
    subject = weakref.ref(y)
    del x, y
    assert freed_by(subject) == "gc"


def test_a_graph_of_gradients_that_nobody_looked_at_is_closed_over_without_recursion() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(20_000):
        y = y * x
    gradient: Any = torch.autograd.grad(y, x, create_graph=True)[0]
    assert gradient.tolist() == [20_001.0]
    subject = weakref.ref(gradient)
    del x, y, gradient
    assert freed_by(subject) == "gc"


# --- the rest follows 2.13 ---


def test_a_detached_tensor_forgets_its_closure() -> None:
    y = leaf() * 2
    y.detach_()
    subject = weakref.ref(y)
    del y
    assert freed_by(subject) == "del"


def test_a_changed_input_is_noticed() -> None:
    x = leaf()
    y = x * 1
    z = y * y
    with torch.no_grad():
        y.add_(1)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0 instead"):
        z.backward()


def test_owners_shows_the_closure() -> None:
    y = leaf() * 2
    assert "closure" in str(torch.owners(y))


@pytest.mark.parametrize("identity", ["coupled", "resurrect", "cached"])
def test_the_closure_is_collected_under_other_identities_too(identity: str) -> None:
    with torch.profile("torch-2.13", saved_slot="closure", tensor_identity=identity):
        x = leaf()
        y = x.exp()
        z = y.sin()
        subject = weakref.ref(z)
        del x, y, z
        assert freed_by(subject) == "gc"
