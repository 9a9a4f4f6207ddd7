"""What is made of a tensor while a few steps are watched."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

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
