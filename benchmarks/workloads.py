"""The timed workloads: small programs on torch's public names, the same for every system."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Work = Callable[[], object]


@dataclass(frozen=True)
class Workload:
    """A title, and a function that builds the work from a framework. `has_target`: mini must not be slower than torch."""

    title: str
    prepare: Callable[[Any], Work]
    has_target: bool = True


def chain(fw: Any, length: int) -> Any:
    y = fw.ones(8, requires_grad=True)
    for _ in range(length):
        y = y.sin()
    return y


def mixed_chain(fw: Any, length: int) -> Any:
    y = x = fw.ones(8, requires_grad=True)
    for _ in range(length // 5):
        y = ((y * x + 1).sin() / 2).tanh()
    return y


def mixed_forward_backward(fw: Any, length: int) -> Work:
    return lambda: mixed_chain(fw, length).sum().backward()


def forward_backward(fw: Any, length: int) -> Work:
    return lambda: chain(fw, length).sum().backward()


def build_and_free(fw: Any, length: int) -> Work:
    return lambda: chain(fw, length)


def mlp_step(fw: Any, width: int, batch: int) -> Work:
    """One training step of a perceptron of three layers: forward, loss, backward, update."""
    fw.manual_seed(0)
    model = fw.nn.Sequential(
        fw.nn.Linear(width, width), fw.nn.ReLU(), fw.nn.Linear(width, width), fw.nn.ReLU(), fw.nn.Linear(width, 1)
    )
    optimizer = fw.optim.SGD(model.parameters(), lr=0.01)
    x, target = fw.randn(batch, width), fw.randn(batch, 1)

    def step() -> None:
        loss = ((model(x) - target) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def mlp_step_by_hand(fw: Any, width: int, batch: int) -> Work:
    """Run the same step without modules and optimizer: the cost of the engine alone."""
    fw.manual_seed(0)
    sizes = [(width, width), (width, width), (width, 1)]
    weights = [(fw.randn(*size) * width**-0.5).requires_grad_() for size in sizes]
    biases = [fw.zeros(size[1], requires_grad=True) for size in sizes]
    x, target = fw.randn(batch, width), fw.randn(batch, 1)

    def step() -> None:
        y = x
        for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            y = y @ weight + bias
            y = y.relu() if layer < 2 else y
        ((y - target) ** 2).mean().backward()
        with fw.no_grad():
            for parameter in (*weights, *biases):
                parameter.sub_(parameter.grad, alpha=0.01)
                parameter.grad = None

    return step


def custom_function(fw: Any) -> Work:
    class Double(fw.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (_,) = ctx.saved_tensors
            return grad * 2

    x = fw.ones(8, requires_grad=True)
    return lambda: Double.apply(x).sum().backward()


def read_grad_fn(fw: Any) -> Work:
    y = fw.ones(8, requires_grad=True).sin()
    return lambda: y.grad_fn


def matrix_product(fw: Any, size: int) -> Work:
    a, b = fw.ones(size, size), fw.ones(size, size)
    return lambda: a.matmul(b)


def million(fw: Any, method: str) -> Work:
    call = getattr(fw.full((1_000_000,), 0.5), method)
    return lambda: call()


def import_alone(fw: Any) -> Work:
    command = [sys.executable, "-c", f"import {fw.__name__}"]
    return lambda: subprocess.run(command, check=True)


WORKLOADS = (
    Workload("1,000 small ops, forward + backward", lambda fw: mixed_forward_backward(fw, 1_000)),
    Workload("MLP step, width 32, batch 64", lambda fw: mlp_step(fw, 32, 64)),
    Workload("MLP step, width 256, batch 64", lambda fw: mlp_step(fw, 256, 64), has_target=False),
    Workload("MLP step by hand, width 32", lambda fw: mlp_step_by_hand(fw, 32, 64)),
    Workload("MLP step by hand, width 256", lambda fw: mlp_step_by_hand(fw, 256, 64), has_target=False),
    Workload("autograd.Function round trip", custom_function),
    Workload("read y.grad_fn", read_grad_fn),
    Workload("build and free 200,000 nodes", lambda fw: build_and_free(fw, 200_000)),
    Workload("1 op, forward + backward", lambda fw: forward_backward(fw, 1)),
    Workload("100 ops, forward + backward", lambda fw: forward_backward(fw, 100)),
    Workload("matmul 64 x 64", lambda fw: matrix_product(fw, 64), has_target=False),
    Workload("exp of a million", lambda fw: million(fw, "exp"), has_target=False),
    Workload("sum of a million", lambda fw: million(fw, "sum"), has_target=False),
    Workload("a process that imports it", import_alone, has_target=False),
)
