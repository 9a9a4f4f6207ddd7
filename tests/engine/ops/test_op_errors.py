"""Errors of operations, in PyTorch's words."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as mini

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

Mistake = Callable[..., Any]


def ones(fw: Any, *shape: int) -> Any:
    return fw.ones(shape)


BROADCAST: dict[str, Mistake] = {
    "vectors": lambda fw: ones(fw, 3) + ones(fw, 2),
    "matrix and vector": lambda fw: ones(fw, 2, 3) * ones(fw, 2),
    "comparison": lambda fw: ones(fw, 3) == ones(fw, 2),
    "larger in place": lambda fw: ones(fw, 3).add_(ones(fw, 2, 3)),
    "other in place": lambda fw: ones(fw, 3).mul_(ones(fw, 2)),
    "copy of another size": lambda fw: ones(fw, 3).copy_(ones(fw, 2)),
    "copy of a larger one": lambda fw: ones(fw, 3).copy_(ones(fw, 2, 3)),
    "expand": lambda fw: ones(fw, 3).expand(4),
    "expand to fewer": lambda fw: ones(fw, 2, 3).expand(3),
    "expand a new dimension by -1": lambda fw: ones(fw, 3).expand(-1, 3),
}
SHAPES: dict[str, Mistake] = {
    "view": lambda fw: ones(fw, 5).view(2, 3),
    "view with -1": lambda fw: ones(fw, 5).view(2, -1),
    "view with two -1": lambda fw: ones(fw, 5).view(-1, -1),
    "view with -2": lambda fw: ones(fw, 5).view(-2, 3),
    "view of nothing": lambda fw: ones(fw, 0).view(-1, 0),
    "view of a transposed": lambda fw: ones(fw, 3, 4).t().view(12),
    "reshape": lambda fw: ones(fw, 5).reshape(2, 3),
    "transpose": lambda fw: ones(fw, 3).transpose(0, 2),
    "permute of too few": lambda fw: ones(fw, 2, 3).permute(0),
    "permute of one twice": lambda fw: ones(fw, 2, 3).permute(0, 0),
    "t of three": lambda fw: ones(fw, 2, 3, 4).t(),
    "unsqueeze": lambda fw: ones(fw, 3).unsqueeze(3),
    "squeeze": lambda fw: ones(fw, 3).squeeze(2),
    "narrow too long": lambda fw: ones(fw, 3).narrow(0, 1, 3),
    "narrow too early": lambda fw: ones(fw, 3).narrow(0, -4, 1),
    "narrow negative": lambda fw: ones(fw, 3).narrow(0, 0, -1),
    "select": lambda fw: ones(fw, 3).select(0, 3),
    "as_strided too long": lambda fw: ones(fw, 3).as_strided((4,), (1,)),
    "as_strided too late": lambda fw: ones(fw, 3).as_strided((2,), (1,), 2),
    "as_strided backwards": lambda fw: ones(fw, 3).as_strided((2,), (-1,)),
    "as_strided unequal": lambda fw: ones(fw, 3).as_strided((2,), (1, 1)),
    "chunk": lambda fw: ones(fw, 5).chunk(0),
    "split": lambda fw: ones(fw, 5).split(-1),
    "split in sizes": lambda fw: ones(fw, 5).split([2, 2]),
    "unbind": lambda fw: fw.tensor(1.0).unbind(),
    "iteration": lambda fw: list(fw.tensor(1.0)),
    "length": lambda fw: len(fw.tensor(1.0)),
    "size": lambda fw: ones(fw, 3, 4).size(2),
    "sum": lambda fw: ones(fw, 3).sum(2),
    "sum twice": lambda fw: ones(fw, 3, 3).sum((0, 0)),
    "negative size": lambda fw: fw.ones(-1),
}
PRODUCTS: dict[str, Mistake] = {
    "mm": lambda fw: ones(fw, 2, 3).mm(ones(fw, 2, 3)),
    "mm of a vector": lambda fw: ones(fw, 2).mm(ones(fw, 2, 3)),
    "mm by a vector": lambda fw: ones(fw, 2, 2).mm(ones(fw, 2)),
    "vector and matrix": lambda fw: ones(fw, 2) @ ones(fw, 3, 2),
    "batches": lambda fw: ones(fw, 2, 3, 4) @ ones(fw, 3, 4, 4),
    "number": lambda fw: fw.tensor(1.0) @ ones(fw, 3),
    "mm of two dtypes": lambda fw: ones(fw, 2, 3) @ ones(fw, 3, 4).double(),
    "mv of two dtypes": lambda fw: ones(fw, 2, 3) @ ones(fw, 3).double(),
    "dot of two dtypes": lambda fw: ones(fw, 3) @ ones(fw, 3).double(),
    "bmm of two dtypes": lambda fw: ones(fw, 2, 3, 3) @ ones(fw, 2, 3, 3).double(),
}
INDICES: dict[str, Mistake] = {
    "past the end": lambda fw: ones(fw, 3)[3],
    "before the start": lambda fw: ones(fw, 3)[-4],
    "in the second": lambda fw: ones(fw, 2, 3)[0, 5],
    "too many": lambda fw: ones(fw, 3)[0, 0],
    "of no dimension": lambda fw: fw.tensor(1.0)[0],
    "slice of no dimension": lambda fw: fw.tensor(1.0)[:],
    "backwards": lambda fw: ones(fw, 3)[::-1],
    "without a step": lambda fw: ones(fw, 3)[::0],
    "float": lambda fw: ones(fw, 3)[1.0],
    "object": lambda fw: ones(fw, 3)[object()],
    "two ellipses": lambda fw: ones(fw, 2, 3)[..., ..., 0],
    "assign too much": lambda fw: ones(fw, 3, 4).__setitem__(0, ones(fw, 2, 4)),
    "assign text": lambda fw: ones(fw, 3).__setitem__(0, "a"),
}
OTHERS: dict[str, Mistake] = {
    "function of a list": lambda fw: fw.exp([1.0]),
    "function of a number, by name": lambda fw: fw.sum(input=3),
    "function of nothing": lambda fw: fw.exp(),
    "parameter of a number": lambda fw: fw.nn.Parameter(3),
    "add text": lambda fw: ones(fw, 3) + "a",
    "matmul by a number": lambda fw: ones(fw, 3) @ 3,
    "less than None": lambda fw: ones(fw, 3) < None,
    "too big a number": lambda fw: ones(fw, 3) * 10**400,
    "cat of unequal": lambda fw: fw.cat([ones(fw, 2, 3), ones(fw, 2, 4)]),
    "cat of none": lambda fw: fw.cat([]),
    "cat of a number": lambda fw: fw.cat([fw.tensor(1.0)]),
    "cat of other dimensions": lambda fw: fw.cat([ones(fw, 2), ones(fw, 2, 3)]),
    "cat of a tensor": lambda fw: fw.cat(ones(fw, 2)),
    "cat of ints": lambda fw: fw.cat([ones(fw, 2), 3]),
    "cat along no dimension": lambda fw: fw.cat([ones(fw, 2)], 1),
    "stack of unequal": lambda fw: fw.stack([ones(fw, 2), ones(fw, 3)]),
    "stack of none": lambda fw: fw.stack([]),
    "item of many": lambda fw: ones(fw, 3).item(),
    "item of none": lambda fw: ones(fw, 0).item(),
    "float of many": lambda fw: float(ones(fw, 3)),
    "truth of many": lambda fw: bool(ones(fw, 3)),
    "truth of none": lambda fw: bool(ones(fw, 0)),
    "float as index": lambda fw: [1, 2][fw.tensor(1.0)],
    "numpy of what requires grad": lambda fw: ones(fw, 3).requires_grad_().numpy(),
    "mean of ints": lambda fw: fw.tensor([1, 2]).mean(),
    "negative power": lambda fw: fw.tensor([1, 2]) ** -1,
    "float into ints": lambda fw: fw.tensor([1, 2]).add_(1.5),
    "minus a bool": lambda fw: ones(fw, 3) - True,
    "bool minus bool": lambda fw: (ones(fw, 3) > 1) - (ones(fw, 3) > 1),
    "negative bool": lambda fw: -(ones(fw, 3) > 1),
    "fill with a vector": lambda fw: ones(fw, 3).fill_(ones(fw, 1)),
    "change of an expanded": lambda fw: ones(fw, 1).expand(3).add_(1),
    "copy into an expanded": lambda fw: ones(fw, 1).expand(3).copy_(ones(fw, 3)),
    "change that overlaps": lambda fw: (lambda x: x[1:].add_(x[:-1]))(ones(fw, 4)),
    "relu of complex numbers": lambda fw: fw.ones(2, dtype=fw.complex64).relu(),
    "relu of complex numbers in place": lambda fw: fw.ones(2, dtype=fw.complex128).relu_(),
    "relu of bools": lambda fw: fw.tensor([True, False]).relu_(),
    "power of a leaf in place": lambda fw: ones(fw, 2).requires_grad_().pow_(2),
    "dim past 64 bits": lambda fw: ones(fw, 2).unsqueeze(2**64 - 1),
    "index past 64 bits": lambda fw: ones(fw, 2)[2**63],
    "number past 64 bits": lambda fw: ones(fw, 2) * 2**64,
    "number below 64 bits": lambda fw: ones(fw, 2) * (-(2**63) - 1),
    "ints filled past 63 bits": lambda fw: fw.full((2,), 2**64 - 1),
    "allclose of two dtypes": lambda fw: fw.allclose(ones(fw, 3), ones(fw, 3).double()),
    "ragged list": lambda fw: fw.tensor([[1, 2], [3]]),
    "tensor of text": lambda fw: fw.tensor("a"),
    "tensor of None": lambda fw: fw.tensor([None]),
    "ints that require grad": lambda fw: fw.tensor([1, 2], requires_grad=True),
    "zeros of no dtype": lambda fw: fw.zeros(2, dtype=3),
    "zeros with an unknown option": lambda fw: fw.zeros(2, foo=1),
    "ones of nothing": lambda fw: fw.ones(),
    "arange backwards": lambda fw: fw.arange(5, 1),
    "arange without a step": lambda fw: fw.arange(1, 5, 0),
    "leaf changed": lambda fw: ones(fw, 3).requires_grad_().add_(1),
    "view of a leaf changed": lambda fw: ones(fw, 3).requires_grad_()[0].add_(1),
    "element of a leaf assigned": lambda fw: ones(fw, 3).requires_grad_().__setitem__(0, 1.0),
    "part of a split changed": lambda fw: (ones(fw, 4).requires_grad_() * 1).split(2)[0].add_(1),
}


def refusal(fw: Any, mistake: Mistake) -> tuple[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as error:
            mistake(fw)
    return error.type.__name__, str(error.value)


# One test for each group: the texts of all of it side by side, since counting what a test leaves takes longer than it does.
def refusals(fw: Any, mistakes: dict[str, Mistake]) -> dict[str, tuple[str, str]]:
    return {name: refusal(fw, mistake) for name, mistake in mistakes.items()}


@pytest.mark.faithful
@pytest.mark.parametrize(
    "mistakes", [BROADCAST, SHAPES, PRODUCTS, INDICES, OTHERS], ids=lambda group: next(iter(group))
)
def test_what_torch_refuses_is_refused_in_the_same_words(mistakes: dict[str, Mistake]) -> None:
    assert refusals(mini, mistakes) == refusals(real, mistakes)
