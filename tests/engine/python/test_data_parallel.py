"""A context carried through a scatter and a gather across threads, in the way of DataParallel (PyTorch issue 16532)."""

from __future__ import annotations

from typing import Any

import pytest

import gradlife.engine as torch
from lifetimes import RELEASES, in_threads

every_release = pytest.mark.parametrize("profile", RELEASES)


class Scatter(torch.autograd.Function):
    """One row for each worker."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x[:1].clone(), x[1:].clone()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return Gather.apply(*grads)


class Gather(torch.autograd.Function):
    """The workers' rows, together again."""

    @staticmethod
    def forward(ctx: Any, *rows: Any) -> Any:
        return torch.cat(list(rows))

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return Scatter.apply(grad)


class Broadcast(torch.autograd.Function):
    """A copy of the weights for each worker."""

    @staticmethod
    def forward(ctx: Any, weight: Any) -> Any:
        return weight.clone(), weight.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return Reduce.apply(*grads)


class Reduce(torch.autograd.Function):
    """The sum of the workers' gradients."""

    @staticmethod
    def forward(ctx: Any, first: Any, second: Any) -> Any:
        return first + second

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return Broadcast.apply(grad)


def data_parallel(profile: str, x: Any, weight: Any) -> Any:
    def worker(row: Any, copy: Any) -> Any:
        with torch.profile(profile):
            return row.mm(copy.t())

    rows, copies = Scatter.apply(x), Broadcast.apply(weight)
    first, second = in_threads(*[lambda i=i: worker(rows[i], copies[i]) for i in range(2)])
    return Gather.apply(first, second)


@every_release
def test_gradient_goes_through_scatter_threads_and_gather(profile: str) -> None:
    with torch.profile(profile):
        x, weight = torch.ones(2, 4, requires_grad=True), torch.ones(1, 4, requires_grad=True)
        data_parallel(profile, x, weight).sum().backward()
        assert weight.grad.tolist() == [[2.0] * 4]
        assert x.grad.tolist() == [[1.0] * 4] * 2


@every_release
@pytest.mark.parametrize("keeps_output", [True, False])
def test_gradient_penalty_through_threads_reaches_the_weights(profile: str, keeps_output: bool) -> None:
    def penalty(x: Any, weight: Any, kept: list[Any]) -> Any:
        out = data_parallel(profile, x, weight)
        if keeps_output:
            kept.append(out)
        gradients: Any = torch.autograd.grad(out, x, torch.ones(2, 1), create_graph=True, retain_graph=True)
        return gradients[0].mean()

    with torch.profile(profile):
        x, weight = torch.ones(2, 4, requires_grad=True), torch.ones(1, 4, requires_grad=True)
        kept: list[Any] = []
        penalty(x, weight, kept).backward()
        assert weight.grad.tolist() == [[0.25] * 4]
