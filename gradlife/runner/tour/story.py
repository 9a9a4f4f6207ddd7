"""The program behind PyTorch PR 22983, in four stages: a saved output is read and dropped, and backward comes after."""

from __future__ import annotations

from typing import Any

from gradlife.scenario import scenario


def names_after(tensor: Any) -> list[str]:
    """The type names of the nodes after a tensor's grad_fn."""
    return [type(after).__name__ for after, _ in tensor.grad_fn.next_functions]


@scenario(title="One bug in four lines", origin=["pytorch/pytorch#22983"])
def saved_output_read_and_dropped(lab: Any) -> None:
    """A custom autograd Function has a ctx, the Python object that forward and backward receive, and a node, the C++ object
    that backward walks through. Each counts its references and is cleaned up when its count is zero.

    The Function here computes y = 2 * x and saves y on ctx. Reading it back gives a new tensor of the same node. The program
    reads that tensor, drops it, and calls backward. x.grad should be 2 everywhere.
    """

    class Double(lab.fw.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * 2
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    x = lab.tensor(requires_grad=True)
    y = Double.apply(x)
    lab.watch("ctx", y.grad_fn)
    lab.attempt("next functions", lambda: names_after(y))
    lab.stage("y = Double.apply(x)")
    saved = y.grad_fn.saved_tensors[0]
    used = saved * 2
    lab.attempt("next functions", lambda: names_after(y))
    lab.stage("saved = y.grad_fn.saved_tensors[0]; used = saved * 2")
    del saved, used
    lab.attempt("next functions", lambda: names_after(y))
    lab.stage("del saved, used")
    y.sum().backward()
    lab.attempt("next functions", lambda: names_after(y))
    lab.value("x.grad", x.grad)
    lab.stage("y.sum().backward()")
