"""When saved tensors are unpacked: as each node runs (progressive, PyTorch's way), or all before the first one (upfront).

The third seed: unpacking up front makes the hooks fire out of order with the others, and everything that was packed is in
memory at once, which defeats checkpointing and offloading.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as torch
from engine_tools import copy_of, grad, identity, leaf, telling_hooks, text_of
from torch_texts import modified

saved_tensors_hooks = torch.autograd.graph.saved_tensors_hooks
LENGTH, SIZE = 10, 1000
BYTES = 4 * SIZE  # of one float32 tensor of the chain
both_schedules = pytest.mark.parametrize("schedule", ["progressive", "upfront"])


def under(schedule: str) -> Any:
    return torch.profile("torch-2.13", unpack_schedule=schedule)


def chain_of_three(log: list[str]) -> Any:
    """sin, cos, exp: each with saved-tensor hooks of its own, a tensor hook on its output and hooks on its node."""
    value = leaf(1.0)
    value.register_hook(lambda grad: log.append("tensor hook of leaf"))
    value.register_post_accumulate_grad_hook(lambda variable: log.append("post-accumulate hook"))
    for name in ("sin", "cos", "exp"):
        with telling_hooks(log, name):
            value = getattr(value, name)()
        value.register_hook(lambda grad, name=name: log.append(f"tensor hook of {name}"))
        value.grad_fn.register_prehook(lambda grads, name=name: log.append(f"pre hook of {name}"))
        value.grad_fn.register_hook(lambda outputs, grads, name=name: log.append(f"post hook of {name}"))
    del log[:]
    return value


def around(name: str, *inside: str) -> list[str]:
    return [f"tensor hook of {name}", f"pre hook of {name}", *inside, f"post hook of {name}"]


AT_THE_LEAF = ["tensor hook of leaf", "post-accumulate hook"]


def test_progressive_unpacks_between_the_hooks_before_a_node_and_those_after_it() -> None:
    log: list[str] = []
    with under("progressive"):
        chain_of_three(log).backward()
    inside = [around(name, f"unpack {name}") for name in ("exp", "cos", "sin")]
    assert log == [*inside[0], *inside[1], *inside[2], *AT_THE_LEAF]


def test_upfront_unpacks_everything_before_the_first_hook() -> None:
    log: list[str] = []
    with under("upfront"):
        chain_of_three(log).backward()
    rest = [*around("exp"), *around("cos"), *around("sin"), *AT_THE_LEAF]
    assert log == ["unpack exp", "unpack cos", "unpack sin", *rest]


def test_the_schedule_is_that_of_the_backward_call_not_of_the_graph() -> None:
    log: list[str] = []
    with under("upfront"):
        y = chain_of_three(log)
    with under("progressive"):
        y.backward()
    assert log[:3] == ["tensor hook of exp", "pre hook of exp", "unpack exp"]


class Peak:
    """The most bytes of the engine's storages seen at the unpacks of one backward, beyond those before it."""

    def __init__(self) -> None:
        self.base = 0
        self.seen: list[int] = []

    def look(self) -> None:
        self.seen.append((torch.live_bytes() - self.base) // BYTES)

    def run(self, y: Any) -> list[int]:
        self.base = torch.live_bytes()
        y.backward(torch.ones(SIZE))
        return self.seen


def offloading(peak: Peak) -> Any:
    """Packs to plain Python floats: what is packed is none of the engine's bytes."""

    def unpack(values: list[float]) -> Any:
        tensor = torch.tensor(values)
        peak.look()
        return tensor

    return saved_tensors_hooks(lambda tensor: tensor.tolist(), unpack)


def checkpointing(peak: Peak, x: Any) -> Any:
    """Packs only how often sin was applied to x, and computes it again to unpack."""
    packed = 0

    def pack(tensor: Any) -> int:
        nonlocal packed
        packed += 1
        return packed - 1

    def unpack(times: int) -> Any:
        value = x.detach().clone()
        with torch.no_grad():
            for _ in range(times):
                value.sin_()
        peak.look()
        return value

    return saved_tensors_hooks(pack, unpack)


def sines(x: Any) -> Any:
    for _ in range(LENGTH):
        x = x.sin()
    return x


@pytest.mark.parametrize("kind", ["offloading", "checkpointing"])
def test_progressive_has_one_unpacked_tensor_and_one_gradient_at_a_time(kind: str) -> None:
    peak, x = Peak(), torch.ones(SIZE, requires_grad=True)
    with under("progressive"):
        with offloading(peak) if kind == "offloading" else checkpointing(peak, x):
            y = sines(x)
        seen = peak.run(y)
    # the gradient given to backward and one unpacked tensor; from the second node on also the gradient on its way
    assert seen == [2] + [3] * (LENGTH - 1)


@pytest.mark.parametrize("kind", ["offloading", "checkpointing"])
def test_upfront_has_the_whole_packed_set_at_once(kind: str) -> None:
    peak, x = Peak(), torch.ones(SIZE, requires_grad=True)
    with under("upfront"):
        with offloading(peak) if kind == "offloading" else checkpointing(peak, x):
            y = sines(x)
        seen = peak.run(y)
    assert seen == [1 + count for count in range(1, LENGTH + 1)]


def test_both_schedules_give_the_same_gradient() -> None:
    gradients = []
    for schedule in ("progressive", "upfront"):
        x = torch.ones(SIZE, requires_grad=True)
        with under(schedule):
            with offloading(Peak()):
                y = sines(x)
            y.sum().backward()
        gradients.append(x.grad.tolist())
    x = torch.ones(SIZE, requires_grad=True)
    sines(x).sum().backward()
    assert gradients == [x.grad.tolist()] * 2


def second_derivative(log: list[str], hooks: Callable[[], Any]) -> float:
    x = leaf(0.5)
    with hooks():
        y = x * x * x
    (first,) = grad(y, x, create_graph=True)
    assert first.item() == 0.75
    log.append("first done")
    (second,) = grad(first, x)
    return float(second.item())


@both_schedules
def test_double_backward_is_right_under_both(schedule: str) -> None:
    log: list[str] = []
    with under(schedule):
        assert second_derivative(log, lambda: telling_hooks(log, "it")) == 3.0
    # the second backward goes through the nodes of the first one's gradient and through those of the forward
    assert log.count("pack it") == 4
    assert log.index("first done") == 8
    assert log[4:8] == ["unpack it"] * 4
    assert log[9:] == ["unpack it"] * 2


@both_schedules
def test_double_backward_of_a_saved_output_is_right_under_both(schedule: str) -> None:
    x = leaf(0.0)
    with under(schedule):
        with saved_tensors_hooks(copy_of, identity):
            y = x.exp()
        (first,) = grad(y, x, create_graph=True)
        (second,) = grad(first, x, create_graph=True)
        (third,) = grad(second, x)
    assert [first.item(), second.item(), third.item()] == [1.0, 1.0, 1.0]


def branches(log: list[str]) -> tuple[Any, Any, Any]:
    a, b = leaf(0.0), leaf(0.0)
    with telling_hooks(log, "a"):
        left = a.sin()
    with telling_hooks(log, "b"):
        right = b.sin()
    del log[:]
    return a, b, left + right


def test_progressive_unpacks_only_what_leads_to_the_inputs_that_are_asked_for() -> None:
    log: list[str] = []
    with under("progressive"):
        a, _, y = branches(log)
        (gradient,) = grad(y, a)
    assert gradient.item() == 1.0
    assert log == ["unpack a"]


def test_upfront_unpacks_even_what_does_not_run_and_lets_it_go_again() -> None:
    log: list[str] = []
    with under("upfront"):
        a, b, y = branches(log)
        before = torch.live_counts()["storage"]
        (gradient,) = grad(y, a)
        assert gradient.item() == 1.0
        assert sorted(log) == ["unpack a", "unpack b"]
        del gradient
        assert torch.live_counts()["storage"] == before - 1  # the packed copy of a
        assert grad(y, b)[0].item() == 1.0
        assert log[-1] == "unpack b"


def failing_under(schedule: str, log: list[str]) -> Any:
    def unpack(packed: Any) -> Any:
        raise ValueError("not now")

    x = leaf(0.0)
    with saved_tensors_hooks(copy_of, unpack):
        middle = x.sin()
    y = middle.exp()
    y.register_hook(lambda grad: log.append("hook of y"))
    middle.register_hook(lambda grad: log.append("hook of middle"))
    with under(schedule), pytest.raises(ValueError, match=r"^not now$"):
        y.backward(retain_graph=True)
    return x


def test_a_failing_unpack_stops_a_progressive_backward_where_it_stands() -> None:
    log: list[str] = []
    assert failing_under("progressive", log).grad is None
    assert log == ["hook of y", "hook of middle"]


def test_a_failing_unpack_stops_an_upfront_backward_before_any_hook() -> None:
    log: list[str] = []
    assert failing_under("upfront", log).grad is None
    assert log == []


@both_schedules
def test_a_version_error_is_reported_under_both_but_sooner_upfront(schedule: str) -> None:
    log: list[str] = []
    x, weight = leaf(2.0), torch.tensor([5.0])
    middle = x * weight
    y = middle.exp()
    y.register_hook(lambda grad: log.append("hook of y"))
    weight.add_(1)
    with under(schedule), pytest.raises(RuntimeError) as error:
        y.backward()
    assert text_of(error) == modified("torch.FloatTensor [1]", "", 1, 0)
    assert log == (["hook of y"] if schedule == "progressive" else [])


@both_schedules
def test_a_retained_graph_is_unpacked_anew_by_each_backward(schedule: str) -> None:
    log: list[str] = []
    x = leaf(0.0)
    with under(schedule):
        with telling_hooks(log, "it"):
            y = x.sin()
        y.backward(retain_graph=True)
        y.backward()
    assert x.grad.tolist() == [2.0]
    assert log == ["pack it", "unpack it", "unpack it"]
