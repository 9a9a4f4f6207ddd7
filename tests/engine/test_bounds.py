"""Clamping, rounding and telling what elements are, against PyTorch: values, gradients, nodes and errors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gradlife.engine as mini
from op_outcomes import (
    Operation,
    assert_alike,
    assert_same_plainly,
    dtypes,
    examples,
    layouts,
    numbers,
    plain,
    shapes,
)

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

ROUNDED: dict[str, Operation] = {
    "floor": lambda fw, x: x.floor(),
    "ceil": lambda fw, x: fw.ceil(x),
    "round": lambda fw, x: x.round(),
    "round to 1": lambda fw, x: x.round(decimals=1),
    "round to tens": lambda fw, x: fw.round(x * 10, decimals=-1),
    "trunc": lambda fw, x: x.trunc(),
    "fix": lambda fw, x: x.fix(),
    "frac": lambda fw, x: x.frac(),
    "sign": lambda fw, x: (x - 1).sign(),
    "floor in place": lambda fw, x: (x * 2).floor_(),
    "ceil in place": lambda fw, x: (x * 2).ceil_(),
    "round in place": lambda fw, x: (x * 2).round_(),
    "round to 1 in place": lambda fw, x: (x * 2).round_(decimals=1),
    "trunc in place": lambda fw, x: (x * 2).trunc_(),
    "fix in place": lambda fw, x: (x * 2).fix_(),
    "frac in place": lambda fw, x: (x * 2).frac_(),
    "sign in place": lambda fw, x: (x * 2).sign_(),
}
BY_NUMBERS: dict[str, Operation] = {
    "between": lambda fw, x: x.clamp(0.6, 1.2),
    "between ints": lambda fw, x: fw.clamp(x, 0, 1),
    "at least": lambda fw, x: x.clip(min=0.9),
    "at most": lambda fw, x: x.clamp(max=1),
    "clamp_min": lambda fw, x: x.clamp_min(0.9),
    "clamp_max": lambda fw, x: fw.clamp_max(x, 0.9),
    "crossed": lambda fw, x: x.clamp(2, 1),
    "a number and a tensor of one": lambda fw, x: x.clamp(0.6, fw.tensor(1.0)),
    "in place": lambda fw, x: (x * 1).clamp_(0.6, 1.2),
    "clamp_min in place": lambda fw, x: (x * 1).clamp_min_(1),
    "clamp_max in place": lambda fw, x: (x * 1).clamp_max_(1),
    "no bound": lambda fw, x: x.clamp(),
    "no bound in place": lambda fw, x: (x * 1).clip_(),
}
BY_TENSORS: dict[str, Operation] = {
    "between": lambda fw, x, a, b: x.clamp(a, b),
    "at least": lambda fw, x, a, b: x.clamp(min=a) + b,
    "at most": lambda fw, x, a, b: fw.clip(x, max=a) + b,
    "clamp_min": lambda fw, x, a, b: x.clamp_min(a) * b,
    "clamp_max": lambda fw, x, a, b: x.clamp_max(a) * b,
    "in place": lambda fw, x, a, b: (x * 1).clamp_(a, b),
    "at least in place": lambda fw, x, a, b: (x * 1).clamp_min_(a) + b,
    "at most in place": lambda fw, x, a, b: (x * 1).clamp_(max=a) + b,
}


@examples
@given(st.sampled_from(sorted(ROUNDED)), shapes, dtypes, layouts)
def test_rounding(name: str, shape: Any, dtype: str, layout: str) -> None:
    assert_alike(ROUNDED[name], real, [shape], [dtype], layout)


@examples
@given(st.sampled_from(sorted(BY_NUMBERS)), shapes, dtypes, layouts)
def test_clamping_between_numbers(name: str, shape: Any, dtype: str, layout: str) -> None:
    assert_alike(BY_NUMBERS[name], real, [shape], [dtype], layout)


@examples
@given(st.sampled_from(sorted(BY_TENSORS)), st.lists(shapes, min_size=3, max_size=3), dtypes, layouts)
def test_clamping_between_tensors_broadcasts(name: str, given_shapes: Any, dtype: str, layout: str) -> None:
    # PyTorch 2.13 itself fails where one bound is broadcast to the other
    given_shapes[2] = given_shapes[1]
    assert_alike(BY_TENSORS[name], real, given_shapes, [dtype] * 3, layout)


bounds = st.none() | st.integers(-2, 2) | numbers


@examples
@given(st.lists(numbers, min_size=1, max_size=5), bounds, bounds)
def test_unusual_numbers_are_clamped_and_rounded_as_in_torch(values: list[float], low: Any, high: Any) -> None:
    def seen(fw: Any) -> Any:
        x = fw.tensor(values, dtype=fw.float64).requires_grad_()
        found = [x.floor(), x.ceil(), x.round(), x.trunc(), x.frac(), x.sign(), x.isnan(), x.isinf()]
        found += [x.isfinite(), x.isposinf(), x.isneginf(), x.isreal(), fw.isclose(x, x.round(), atol=0.4)]
        found += [fw.isclose(x, x, equal_nan=True)]
        if low is None and high is None:
            return plain(found)
        bound = [None if each is None else fw.tensor(float(each), dtype=fw.float64) for each in (low, high)]
        clamped = [x.clamp(low, high), x.clamp(*bound)]
        return plain([*found, *clamped]), plain([fw.autograd.grad(each.sum(), x)[0] for each in clamped])

    assert seen(mini) == seen(real)


INTEGERS: dict[str, Operation] = {
    "clamp": lambda fw, x: x.clamp(1, 2),
    "clamp by a float": lambda fw, x: x.clamp(0.5),
    "clamp by a tensor": lambda fw, x: x.clamp(min=fw.tensor(1.5)),
    "clamp in place": lambda fw, x: x.clamp_(1, 2),
    "clamp in place by a float": lambda fw, x: x.clamp_(0.5),
    "clamp in place by a tensor": lambda fw, x: x.clamp_(min=fw.tensor(1.5)),
    "clamp in place by a larger": lambda fw, x: x[0].clamp_(min=x),
    "clamp_max": lambda fw, x: x.clamp_max(2),
    "floor": lambda fw, x: x.floor(),
    "ceil": lambda fw, x: x.ceil(),
    "round": lambda fw, x: x.round(),
    "round to 1": lambda fw, x: x.round(decimals=1),
    "trunc": lambda fw, x: x.trunc(),
    "frac": lambda fw, x: x.frac(),
    "sign": lambda fw, x: x.sign(),
    "sign in place": lambda fw, x: x.sign_(),
    "floor in place": lambda fw, x: x.floor_(),
    "isnan": lambda fw, x: [x.isnan(), x.isinf(), x.isfinite(), x.isposinf(), x.isneginf(), x.isreal()],
    "isclose": lambda fw, x: fw.isclose(x, x),
    "isclose to a float": lambda fw, x: x.isclose(x.float()),
    "isclose, negative": lambda fw, x: [fw.isclose(x, x, rtol=-1)],
}


@pytest.mark.parametrize("values", [[[3, -1], [1, 0]], [[True, False], [True, True]]], ids=["int64", "bool"])
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_and_bools_are_bounded_or_refused_as_in_torch(name: str, values: Any) -> None:
    assert_same_plainly(lambda fw: INTEGERS[name](fw, fw.tensor(values)), real)
