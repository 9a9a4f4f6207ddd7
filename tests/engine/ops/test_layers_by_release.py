"""Modules, optimizers and checkpoints in older releases."""

from __future__ import annotations

from typing import Any

import pytest

import gradlife.engine as torch
from gradlife.engine.utils.checkpoint import checkpoint
from lifetimes import failure


def stepped() -> tuple[Any, Any]:
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.5)
    (weight * 3).sum().backward()
    optimizer.step()
    return weight, optimizer


@pytest.mark.parametrize("profile", ["torch-1.1", "torch-1.2", "torch-1.9", "torch-1.10", "torch-1.13"])
def test_zero_grad_filled_with_zeros_before_2_0(profile: str) -> None:
    with torch.profile(profile):
        weight, optimizer = stepped()
        optimizer.zero_grad()
        assert weight.grad.tolist() == [0.0, 0.0]
        optimizer.zero_grad(set_to_none=True)
        assert weight.grad is None


@pytest.mark.parametrize("profile", ["torch-2.9", "torch-2.10", "torch-2.13"])
def test_zero_grad_drops_gradients_since_2_0(profile: str) -> None:
    with torch.profile(profile):
        weight, optimizer = stepped()
        optimizer.zero_grad()
        assert weight.grad is None


def test_gradients_with_a_history_are_cut_off_when_filled_with_zeros() -> None:
    weight = torch.nn.Parameter(torch.ones(1))
    with torch.profile("torch-1.13"):
        weight.grad = weight.detach().requires_grad_() * 2
        torch.optim.SGD([weight], lr=0.5).zero_grad()
        assert weight.grad.grad_fn is None
        assert not weight.grad.requires_grad


@pytest.mark.parametrize("profile", ["torch-1.1", "torch-1.2", "torch-1.9", "torch-1.10"])
def test_checkpoints_knew_one_way_only_before_1_11(profile: str) -> None:
    with torch.profile(profile):
        x = torch.ones(2, requires_grad=True)
        refused = failure(lambda: checkpoint(torch.exp, x, use_reentrant=False))
        assert refused == "ValueError: Unexpected keyword arguments: use_reentrant"
        y = checkpoint(lambda t: (t * t).exp(), x)
        assert type(y.grad_fn).__name__ == "CheckpointFunctionBackward"
        y.sum().backward()
        assert [round(v, 4) for v in x.grad.tolist()] == [5.4366, 5.4366]


@pytest.mark.parametrize("profile", ["torch-1.13", "torch-2.9", "torch-2.10", "torch-2.13"])
@pytest.mark.parametrize("use_reentrant", [True, False])
def test_checkpoints_know_both_forms_since_1_11(profile: str, use_reentrant: bool) -> None:
    with torch.profile(profile):
        x = torch.ones(2, requires_grad=True)
        checkpoint(lambda t: (t * t).exp(), x, use_reentrant=use_reentrant).sum().backward()
        assert [round(v, 4) for v in x.grad.tolist()] == [5.4366, 5.4366]


@pytest.mark.parametrize("profile", [name for name in sorted(torch.profiles()) if not name.startswith("broken")])
def test_a_model_learns_under_every_profile(profile: str) -> None:
    with torch.profile(profile):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
        x, losses = torch.ones(3, 2), []
        for _ in range(5):
            optimizer.zero_grad()
            loss = (model(x) * model(x)).sum()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < losses[0]
