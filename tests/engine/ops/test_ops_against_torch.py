"""Every differentiable operation against PyTorch: values, memory layout, gradients, and gradients of gradients.

Each runs over inputs without dimensions, empty, of one row, and broadcast against one another, in five memory layouts and both
dtypes. Compared to within 2e-5 relative and 2e-6 absolute in float32, 1e-12 and 1e-13 in float64 (second derivatives in float64
only, to ten times that); shapes, strides, dtypes and whether the result is a view exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

import gradlife.engine as mini
from op_pairs import DTYPES, LAYOUTS, compare, has_layouts, naming

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

Operation = Callable[..., Any]

DTYPE_PAIRS = [("float32", "float32"), ("float64", "float64"), ("float32", "float64")]

UNARY: dict[str, Operation] = {
    "neg": lambda fw, x: -x,
    "exp": lambda fw, x: x.exp(),
    "sin": lambda fw, x: x.sin(),
    "cos": lambda fw, x: x.cos(),
    "tanh": lambda fw, x: x.tanh(),
    "relu": lambda fw, x: (x - 1).relu(),
    "sqrt": lambda fw, x: x.sqrt(),
    "sigmoid": lambda fw, x: x.sigmoid(),
    "abs": lambda fw, x: (x - 1).abs(),
    "square": lambda fw, x: x.square(),
    "clone": lambda fw, x: x.clone(),
    "plus an int": lambda fw, x: x + 2,
    "an int plus it": lambda fw, x: 2 + x,
    "minus a float": lambda fw, x: x - 0.5,
    "a float minus it": lambda fw, x: 0.5 - x,
    "times an int": lambda fw, x: x * 3,
    "by a float": lambda fw, x: x / 2.5,
    "an int by it": lambda fw, x: 2 / x,
    "cubed": lambda fw, x: x**3,
    "to the 2.5": lambda fw, x: x**2.5,
    "to the 0": lambda fw, x: x**0,
    "to the -1": lambda fw, x: x**-1,
    "3 to the": lambda fw, x: 3**x,
    "0 to the": lambda fw, x: 0**x,
    "sum": lambda fw, x: x.sum(),
    "mean": lambda fw, x: x.mean(),
    "as double": lambda fw, x: x.double(),
    "as float": lambda fw, x: x.float() * 1,
    "sum as double": lambda fw, x: x.sum(dtype=fw.float64),
    "itself times itself": lambda fw, x: x * x,
    "view as itself": lambda fw, x: x.view_as(x) * 1,
    "flat": lambda fw, x: x.reshape(-1),
    "stacked": lambda fw, x: fw.stack([x, x * 2], -1),
}
UNARY_SHAPES = [(), (0,), (3,), (2, 3), (1, 3), (2, 1, 3), (3, 0, 2)]

BINARY: dict[str, Operation] = {
    "add": lambda fw, a, b: a + b,
    "add, scaled": lambda fw, a, b: fw.add(a, b, alpha=2.5),
    "sub": lambda fw, a, b: a - b,
    "sub, scaled": lambda fw, a, b: fw.sub(a, b, alpha=2),
    "mul": lambda fw, a, b: a * b,
    "div": lambda fw, a, b: a / b,
    "pow": lambda fw, a, b: a**b,
}
BINARY_SHAPES = [
    ((), ()),
    ((3,), ()),
    ((2, 3), (3,)),
    ((2, 1), (1, 3)),
    ((2, 3), (2, 3)),
    ((4, 1, 3), (2, 1)),
    ((0,), (1,)),
    ((2, 0), (1, 1)),
]
PRODUCT_SHAPES = [
    ((3,), (3,)),
    ((0,), (0,)),
    ((2, 3), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3, 4)),
    ((2, 0), (0, 4)),
    ((1, 1), (1, 1)),
    ((9, 70), (70, 520)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (1, 3, 4)),
    ((1, 2, 3), (5, 3, 4)),
    ((6, 1, 2, 3), (5, 3, 4)),
    ((0, 2, 3), (3, 4)),
]
VIEWS: dict[str, Operation] = {
    "view": lambda fw, x: x.contiguous().view(6, 4),
    "view with -1": lambda fw, x: x.contiguous().view(-1),
    "reshape": lambda fw, x: x.reshape(3, -1, 2),
    "reshape that splits": lambda fw, x: x.transpose(0, 1).reshape(3, 2, 2, 2),
    "reshape that copies": lambda fw, x: x.transpose(0, 1).reshape(-1),
    "expand": lambda fw, x: x.expand(5, 2, 3, 4),
    "expand of one": lambda fw, x: x[:1].expand(5, -1, 4),
    "transpose": lambda fw, x: x.transpose(0, -1),
    "permute": lambda fw, x: x.permute(2, 0, 1),
    "t": lambda fw, x: x[0].t(),
    "T": lambda fw, x: x[1].T,
    "mT": lambda fw, x: x.mT,
    "unsqueeze": lambda fw, x: x.unsqueeze(-1),
    "squeeze": lambda fw, x: x[:1, :, :1].squeeze(),
    "squeeze of one": lambda fw, x: x[:1].squeeze(0),
    "squeeze of several": lambda fw, x: x[:1, :1].squeeze((0, 1)),
    "squeeze of none": lambda fw, x: x.squeeze(1),
    "select": lambda fw, x: x.select(1, -1),
    "narrow": lambda fw, x: x.narrow(2, 1, 2),
    "slice with a step": lambda fw, x: x[:, ::2, 1:],
    "mixed index": lambda fw, x: x[None, 1, ..., None, 2],
    "unbind": lambda fw, x: x.unbind(1)[2] * x.unbind(1)[0],
    "split": lambda fw, x: x.split(3, 2)[1],
    "split in sizes": lambda fw, x: x.split([1, 2], 1)[1],
    "chunk": lambda fw, x: x.chunk(3, 2)[1],
    "sum over one": lambda fw, x: x.sum(1),
    "sum over several": lambda fw, x: x.sum((0, -1), keepdim=True),
    "sum over none": lambda fw, x: x.sum(()),
    "mean over one": lambda fw, x: x.mean(-1, keepdim=True),
    "mean over several": lambda fw, x: x.mean(dim=(0, 2)),
    "cat": lambda fw, x: fw.cat([x, x[:, :1], x * 2], 1),
    "stack": lambda fw, x: fw.stack([x, x.sin()], 2),
    "iteration": lambda fw, x: next(iter(x)),
}
# Windows on a leaf's own memory, where the layout is part of the question.
STRIDED: dict[str, Operation] = {
    "a plain window": lambda fw, x: x.as_strided((2, 2), (4, 1), 3),
    "a repeated window": lambda fw, x: x.as_strided((3, 2), (0, 2), 1),
    "an overlapping window": lambda fw, x: x.as_strided((4, 3), (1, 1), 2),
    "of an expanded tensor": lambda fw, x: x[0, 0].expand(3, 4).as_strided((2, 4), (0, 1)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_functions_of_one_tensor(layout: str) -> None:
    for shape in UNARY_SHAPES:
        if layout != "contiguous" and not has_layouts([shape]):
            continue
        for name, dtype in product(UNARY, DTYPES):
            with naming(name, shape, dtype):
                compare(UNARY[name], real, [shape], [dtype], layout)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_functions_of_two_tensors(layout: str) -> None:
    for shapes in BINARY_SHAPES:
        if layout != "contiguous" and not has_layouts(shapes):
            continue
        for name, dtypes in product(BINARY, DTYPE_PAIRS):
            with naming(name, shapes, dtypes):
                compare(BINARY[name], real, shapes, dtypes, layout)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_matrix_products(layout: str) -> None:
    for shapes, dtype in product(PRODUCT_SHAPES, DTYPES):
        if dtype == "float32" and max(shapes[1]) > 100:
            continue  # summed in another order: float32 differs by more than the rest does
        with naming(shapes, dtype):
            compare(lambda fw, a, b: a @ b, real, shapes, [dtype, dtype], layout)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_views_and_reductions(layout: str) -> None:
    for name, dtype in product(VIEWS, DTYPES):
        with naming(name, dtype):
            compare(VIEWS[name], real, [(2, 3, 4)], [dtype], layout)


def test_windows_by_strides() -> None:
    for name, dtype in product(STRIDED, DTYPES):
        with naming(name, dtype):
            compare(STRIDED[name], real, [(2, 3, 4)], [dtype], "contiguous")


def test_unusual_numbers_give_what_they_give_in_torch() -> None:
    values = [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1e30, -1e30]
    for name in ("neg", "exp", "sin", "tanh", "relu", "sqrt", "sigmoid", "abs", "cos"):
        ours, theirs = (getattr(fw.tensor(values, dtype=fw.float64), name)().tolist() for fw in (mini, real))
        assert ours == pytest.approx(theirs, nan_ok=True), name
