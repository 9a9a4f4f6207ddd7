"""Views that remember the operations that made them, against PyTorch: nodes made anew with these, and their gradients."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as mini

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
Build = Callable[[Any, Any], Any]

VIEWS: dict[str, Build] = {
    "view": lambda fw, x: x.view(6),
    "view_as": lambda fw, x: x.view_as(x),
    "reshape": lambda fw, x: x.reshape(3, 2),
    "transpose": lambda fw, x: x.transpose(0, 1),
    "t": lambda fw, x: x.t(),
    "permute": lambda fw, x: x.permute(1, 0),
    "T": lambda fw, x: x.T,
    "unsqueeze": lambda fw, x: x.unsqueeze(1),
    "squeeze": lambda fw, x: x.unsqueeze(1).squeeze(),
    "squeeze a dimension": lambda fw, x: x.unsqueeze(1).squeeze(1),
    "squeeze dimensions": lambda fw, x: x.unsqueeze(0).squeeze((0,)),
    "select": lambda fw, x: x[1],
    "slice": lambda fw, x: x[:, 1:],
    "narrow": lambda fw, x: x.narrow(1, 0, 2),
    "as_strided": lambda fw, x: x.as_strided((2,), (3,), 1),
    "several": lambda fw, x: x.t()[1:].reshape(2, 2)[0],
}


def story(fw: Any, build: Build, replays: bool) -> Any:
    x = fw.arange(6.0).view(2, 3).requires_grad_()
    with fw.autograd._force_original_view_tracking(replays):
        base = x.clone()
        view = build(fw, base)
        before = view.grad_fn.name()
        base.mul_(3)
        after_base = view.grad_fn.name()
        view.mul_(2)
        after_view = view.grad_fn.name()
        (first,) = fw.autograd.grad((base * base).sum(), x, retain_graph=True)
        (second,) = fw.autograd.grad((view * view).sum(), x)
    return before, after_base, after_view, base.tolist(), first.tolist(), second.tolist()


@pytest.mark.parametrize("replays", [True, False])
@pytest.mark.parametrize("name", VIEWS)
def test_nodes_are_made_anew_as_pytorch_makes_them(name: str, replays: bool) -> None:
    assert story(mini, VIEWS[name], replays) == story(real, VIEWS[name], replays)


@pytest.mark.parametrize("first", [True, False])
def test_a_view_of_a_view_knows_its_own_steps_only(first: bool) -> None:
    seen = []
    for fw in (mini, real):
        base = fw.ones(2, 3, requires_grad=True).clone()
        with fw.autograd._force_original_view_tracking(first):
            outer = base.t()
        with fw.autograd._force_original_view_tracking(not first):
            inner = outer[1]
        base.add_(1)
        node = inner.grad_fn
        seen.append([node.name(), node.next_functions[0][0].name()])
    assert seen[0] == seen[1]


def test_a_conjugate_of_a_view_that_remembers_does_so_itself() -> None:
    seen = []
    for fw in (mini, real):
        x = fw.tensor([[1 + 1j, 2 - 1j]], requires_grad=True)
        base = x.clone()
        with fw.autograd._force_original_view_tracking(True):
            outer = base.t()
        inner = outer.conj()
        inner.mul_(2j)
        node = inner.grad_fn
        (gradient,) = fw.autograd.grad((base * base).sum().abs(), x)
        seen.append([node.name(), node.next_functions[0][0].name(), base.tolist(), str(gradient.tolist())[:24]])
    assert seen[0] == seen[1]


def test_it_is_a_block_and_a_switch() -> None:
    for fw in (mini, real):
        switch, asked = fw.autograd._force_original_view_tracking, fw.autograd.is_view_replay_enabled
        seen = [asked()]
        with switch(True):
            seen.append(asked())
            switch(False)
            seen.append(asked())
        seen.append(asked())
        switch(True)
        seen.append(asked())
        switch(False)
        assert seen == [False, True, False, False, True]


def test_another_thread_has_a_switch_of_its_own() -> None:
    seen = []
    with mini.autograd._force_original_view_tracking(True):
        thread = threading.Thread(target=lambda: seen.append(mini.autograd.is_view_replay_enabled()))
        thread.start()
        thread.join()
    assert seen == [False]
