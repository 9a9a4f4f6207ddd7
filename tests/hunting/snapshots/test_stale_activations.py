"""What is made of a tensor while a few steps are watched."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from gradlife.hunting.snapshots.function_modes import take_off  # noqa: E402
from gradlife.hunting.snapshots.stale_activations import Watch, module_of  # noqa: E402
from gradlife.hunting.snapshots.step_snapshots import take_snapshot  # noqa: E402


def extend_in_place(old: Any) -> Any:
    """Copy the old tensor into a longer one."""
    new = torch.zeros(12)
    new[:8] = old
    return new


@pytest.mark.parametrize(
    ("replace", "is_made"),
    [
        (lambda old: torch.cat([old, torch.zeros(4)]), True),
        (lambda old: torch.cat([old.detach().clone(), torch.zeros(4)])[:], True),
        (extend_in_place, True),
        (lambda old: torch.zeros(12).copy_(torch.cat([old, old[:4]])), True),
        (lambda old: torch.zeros(12), False),
        (lambda old: torch.full((12,), old.mean().item()), False),
    ],
    ids=["cat", "clone", "setitem", "copy_", "new", "number"],
)
def test_a_tensor_is_made_of_another_one_that_functions_passed_on(replace: Callable[[Any], Any], is_made: bool) -> None:
    """A batch whose mean is printed after the optimizer's step is read by the next step, and no part of its batch."""
    old = torch.ones(8)
    watch = Watch([], [id(old)])
    watch.start()
    new = replace(old)
    watch.stop()
    assert id(old) in watch.read or not is_made
    assert watch.is_made_of_source(id(new)) == is_made
    assert not watch.left_torch


@pytest.mark.parametrize(
    ("leave", "has_left"),
    [(lambda old: old.tolist(), True), (lambda old: old.sum().tolist(), False)],
    ids=["all", "sum"],
)
def test_the_contents_of_a_tensor_may_leave_torch_and_come_back(leave: Callable[[Any], Any], has_left: bool) -> None:
    old = torch.ones(8)
    watch = Watch([], [id(old)])
    watch.start()
    leave(old)
    watch.stop()
    assert watch.left_torch == has_left


def prune(module: Any) -> None:
    importlib.import_module("torch.nn.utils.prune").l1_unstructured(module, "weight", amount=0.5)


@pytest.mark.parametrize("compute", [prune, torch.nn.utils.spectral_norm, torch.nn.utils.weight_norm])
@pytest.mark.filterwarnings("ignore:.*weight_norm.*is deprecated:FutureWarning")
def test_a_weight_that_a_hook_of_torch_computes_was_not_left_behind(compute: Callable[[Any], Any]) -> None:
    """`del module.weight` was the advice for a module that is pruned once more in the middle of the training."""
    module = torch.nn.Linear(4, 4)
    compute(module)
    module.left = module(torch.ones(1, 4))
    graph = take_snapshot(0, with_labels=True).graph
    nodes = {name: graph.find(id(value)) for name, value in vars(module).items() if name in ("weight", "left")}
    assert {name: node and module_of(graph, node) for name, node in nodes.items()} == {
        "weight": None,
        "left": graph.find(id(module)),
    }


def plain_mode() -> Any:
    """A mode of the program's own."""
    return torch.overrides.BaseTorchFunctionMode()


def modes() -> list[Any]:
    return list(torch.overrides._get_current_function_mode_stack())


def test_a_watch_that_ends_within_a_backward_pass_is_off_after_it() -> None:
    """Torch takes a mode off while it handles a function, such as `torch.autograd.grad`, and puts it back: the hunt failed."""
    plain, watch = torch.overrides._push_mode, Watch([], [])
    x = torch.ones(2, requires_grad=True)
    loss = (x * 2).sum()
    loss.register_hook(lambda gradient: watch.stop())
    watch.start()
    torch.autograd.grad(loss, x)
    assert modes() == []
    assert torch.overrides._push_mode is plain


def test_a_mode_that_the_program_leaves_during_a_watch_is_the_one_that_goes() -> None:
    """A mode is left by taking the topmost one off."""
    watch = Watch([], [])
    with plain_mode():
        watch.start()
    assert [type(one).__name__ for one in modes()] == ["Watching"]
    with plain_mode() as later:
        watch.stop()
        assert modes() == [later]
    assert modes() == []


def test_a_block_of_a_device_that_ends_during_a_watch_lets_its_own_mode_go() -> None:
    watch = Watch([], [])
    with torch.device("meta"):
        watch.start()
        assert [type(one).__name__ for one in modes()] == ["Watching", "DeviceContext"]
        assert torch.ones(2).device.type == "meta"
    assert torch.ones(2).device.type == "cpu"
    watch.stop()
    assert modes() == []


def test_default_device_that_is_set_back_during_a_watch_is_let_go() -> None:
    """In torch 2.7 it insists on the lowest place; in 2.4 it takes what is on top off."""
    watch = Watch([], [])
    with torch.overrides.BaseTorchFunctionMode():
        torch.set_default_device("meta")
        lowest = type(modes()[0]).__name__
        torch.set_default_device(None)
    torch.set_default_device("meta")
    try:
        watch.start()
        expected = ["DeviceContext", "Watching"] if lowest == "DeviceContext" else ["Watching", "DeviceContext"]
        assert [type(one).__name__ for one in modes()] == expected
    finally:
        torch.set_default_device(None)
    assert torch.ones(2).device.type == "cpu"
    watch.stop()
    assert modes() == []


def test_a_watch_that_another_thread_ends_sees_no_more() -> None:
    old = torch.ones(2)
    watch = Watch([id(old)])
    watch.start()
    ending = threading.Thread(target=watch.stop)
    ending.start()
    ending.join()
    old.sum()
    (left,) = modes()
    take_off(torch.overrides, left)
    assert watch.read == set()
