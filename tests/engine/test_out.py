"""`out=`: results written into a tensor that is there, against PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

import gradlife.engine as mini

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
Call = Callable[..., Any]

CALLS: dict[str, Call] = {
    "mul": lambda fw, x, out: fw.mul(x, x + 1, out=out),
    "mul by a number": lambda fw, x, out: fw.mul(x, 3, out=out),
    "add with alpha": lambda fw, x, out: fw.add(x, x, alpha=2, out=out),
    "sub of a row": lambda fw, x, out: fw.sub(x, x[0], out=out),
    "div": lambda fw, x, out: fw.div(x, 2, out=out),
    "sin": lambda fw, x, out: fw.sin(x, out=out),
    "sin by name": lambda fw, x, out: fw.sin(input=x, out=out),
    "square": lambda fw, x, out: fw.square(x, out=out),
    "neg": lambda fw, x, out: fw.neg(x, out=out),
    "floor": lambda fw, x, out: fw.floor(x, out=out),
    "eq": lambda fw, x, out: fw.eq(x, 2, out=out),
    "logical_and": lambda fw, x, out: fw.logical_and(x, x, out=out),
    "of a transposed": lambda fw, x, out: fw.exp(x.t(), out=out),
    "matmul": lambda fw, x, out: fw.matmul(x, x.t(), out=out),
    "mm": lambda fw, x, out: fw.mm(x.t(), x, out=out),
    "sum": lambda fw, x, out: fw.sum(x, 0, out=out),
    "sum with dtype": lambda fw, x, out: fw.sum(x, 0, dtype=fw.float64, out=out),
    "mean": lambda fw, x, out: fw.mean(x, 1, out=out),
    "cumsum": lambda fw, x, out: fw.cumsum(x, 0, out=out),
    "amax": lambda fw, x, out: fw.amax(x, 0, out=out),
    "argmax": lambda fw, x, out: fw.argmax(x, 0, out=out),
    "where": lambda fw, x, out: fw.where(x > 2, x, -x, out=out),
    "cat": lambda fw, x, out: fw.cat((x, x), 1, out=out),
    "stack": lambda fw, x, out: fw.stack((x, x), out=out),
    "gather": lambda fw, x, out: fw.gather(x, 0, fw.tensor([[0, 1, 0]]), out=out),
    "index_select": lambda fw, x, out: fw.index_select(x, 1, fw.tensor([2, 0]), out=out),
    "into None": lambda fw, x, out: fw.mul(x, 2, out=None),
    "into a list": lambda fw, x, out: fw.mul(x, 2, out=[out]),
    "from what requires grad": lambda fw, x, out: fw.mul(x, x.clone().requires_grad_(), out=out),
    "from a list that requires grad": lambda fw, x, out: fw.cat((x, x.clone().requires_grad_()), out=out),
    "alias of another name": lambda fw, x, out: fw.multiply(x.clone().requires_grad_(), 2, out=out),
    "comparison of what requires grad": lambda fw, x, out: fw.gt(x.clone().requires_grad_(), 2, out=out),
    "into what requires grad": lambda fw, x, out: fw.mul(x, x, out=out.double().requires_grad_()),
    "into its own input": lambda fw, x, out: fw.mul(x, x[0], out=x),
    "into a part of its input": lambda fw, x, out: fw.mul(x[1:], 2, out=x[:1]),
    "into a shifted window": lambda fw, x, out: fw.sin(x.view(-1)[1:], out=x.view(-1)[:-1]),
    "into an expanded": lambda fw, x, out: fw.mul(x, 2, out=fw.ones(1).expand(2, 3)),
    "into a view": lambda fw, x, out: fw.mul(x, 2, out=fw.zeros(2, 2, 3)[1]),
    "into a transposed": lambda fw, x, out: fw.mul(x, 2, out=fw.zeros(3, 2).t()),
}
# The engine does not sum bools as PyTorch does, which is no matter of where the result is written.
UNLIKE = {("sum", "bools"), ("cumsum", "bools")}
OUTS: dict[str, Call] = {
    "floats": lambda fw: fw.zeros(2, 3),
    "doubles": lambda fw: fw.zeros(2, 3, dtype=fw.float64),
    "integers": lambda fw: fw.zeros(2, 3, dtype=fw.int64),
    "bools": lambda fw: fw.zeros(2, 3, dtype=fw.bool),
    "empty": lambda fw: fw.empty(0),
    "too large": lambda fw: fw.zeros(4, 4),
}


def told(fw: Any, call: Call, out: Any) -> Any:
    """What a call gave or raised, what it left in its target, and what it warned of."""
    x = fw.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call(fw, x, out)
        except (RuntimeError, TypeError) as error:
            return type(error).__name__, str(error)
    resized = {str(warning.message).partition(" (Triggered")[0] for warning in caught}  # some of PyTorch's say it twice
    facts = result.tolist(), result.stride(), str(result.dtype), result._version
    return facts, result is out, out.tolist(), out._version, resized


@pytest.mark.parametrize(("name", "out"), [pair for pair in product(CALLS, OUTS) if pair not in UNLIKE])
def test_what_is_written_is_what_pytorch_writes(name: str, out: str) -> None:
    ours, theirs = (told(fw, CALLS[name], OUTS[out](fw)) for fw in (mini, real))
    assert ours == theirs


def test_without_recording_inputs_may_require_grad_and_the_target_too() -> None:
    seen = []
    for fw in (mini, real):
        x, y = fw.ones(2, requires_grad=True), fw.ones(2, requires_grad=True)
        with fw.no_grad():
            fw.mul(x, 3, out=y)
        seen.append((y.tolist(), y.requires_grad, y.grad_fn, y._version))
    assert seen[0] == seen[1] == ([3.0, 3.0], True, None, 1)


def test_inference_data_is_not_written_into_outside_of_inference_mode() -> None:
    for fw in (mini, real):
        with fw.inference_mode():
            c = fw.ones(2)
            fw.mul(c, 2, out=c)
        with pytest.raises(
            RuntimeError, match="Inplace update to inference tensor outside InferenceMode is not allowed"
        ):
            fw.mul(fw.ones(2), 2, out=c)


def test_what_is_saved_may_be_written_into_where_saved_tensors_may_be_changed() -> None:
    for fw in (mini, real):
        with fw.autograd.graph.allow_mutation_on_saved_tensors():
            a, b = fw.tensor([1.0], requires_grad=True), fw.tensor([5.0])
            product = a * b
            fw.sin(fw.tensor([2.0]), out=b)
            product.backward()
        assert a.grad.tolist() == [5.0]
