"""Running sums and products, norms, counting and differences against PyTorch, over any shape, layout and dimension.

Tolerances are those of op_pairs: 2e-5 relative in float32, 1e-12 in float64, ten times that for second derivatives.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import gradlife.engine as mini
from op_outcomes import (
    Operation,
    assert_alike,
    assert_same_plainly,
    dims,
    dtypes,
    examples,
    layouts,
    numbers,
    shapes,
)

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

RUNNING: dict[str, Operation] = {
    "cumsum": lambda fw, x, dim: x.cumsum(dim),
    "cumsum as double": lambda fw, x, dim: fw.cumsum(x, dim, dtype=fw.float64),
    "cumprod": lambda fw, x, dim: x.cumprod(dim),
    "logcumsumexp": lambda fw, x, dim: fw.logcumsumexp(x, dim),
    "cumsum in place": lambda fw, x, dim: (x * 1).cumsum_(dim),
    "cumprod in place": lambda fw, x, dim: (x * 1).cumprod_(dim),
    "diff": lambda fw, x, dim: x.diff(dim=dim),
    "diff twice": lambda fw, x, dim: fw.diff(x, 2, dim),
    "diff of no order": lambda fw, x, dim: x.diff(0, dim),
    "diff with more": lambda fw, x, dim: x.diff(dim=dim, prepend=x, append=x * 2),
}
REDUCED: dict[str, Operation] = {
    "nansum": lambda fw, x, dim, keepdim: x.nansum(dim, keepdim),
    "nanmean": lambda fw, x, dim, keepdim: fw.nanmean(x, dim, keepdim),
    "norm": lambda fw, x, dim, keepdim: x.norm(dim=dim, keepdim=keepdim),
    "norm as double": lambda fw, x, dim, keepdim: fw.norm(x, 3, dim, keepdim, dtype=fw.float64),
    "frobenius norm": lambda fw, x, dim, keepdim: x.norm("fro", dim, keepdim),
}
COUNTED: dict[str, Operation] = {
    "all": lambda fw, x, dim, keepdim: x.all(dim, keepdim),
    "any": lambda fw, x, dim, keepdim: fw.any(x, dim, keepdim),
    "count_nonzero": lambda fw, x, dim, keepdim: x.count_nonzero(dim),
}
ORDERS = [0, 1, 2, 3, 0.5, 1.5, 2.0, -1, -2.5, float("inf"), -float("inf"), None, "fro", "bad"]
some_dims = st.none() | dims | st.lists(dims, max_size=3)


@examples
@given(st.sampled_from(sorted(RUNNING)), shapes, dims, dtypes, layouts)
def test_what_runs_along_a_dimension(name: str, shape: Any, dim: int, dtype: str, layout: str) -> None:
    assert_alike(lambda fw, x: RUNNING[name](fw, x, dim), real, [shape], [dtype], layout)


@examples
@given(st.sampled_from(sorted(REDUCED)), shapes, some_dims, st.booleans(), dtypes, layouts)
def test_norms_and_sums_without_nans(name: str, shape: Any, dim: Any, keepdim: bool, dtype: str, layout: str) -> None:
    assert_alike(lambda fw, x: REDUCED[name](fw, x, dim, keepdim), real, [shape], [dtype], layout)


@examples
@given(st.sampled_from(ORDERS), shapes, some_dims, dtypes, layouts)
def test_norms_of_every_order(order: Any, shape: Any, dim: Any, dtype: str, layout: str) -> None:
    assume(order != 0)  # constant: its gradient is told below
    assert_alike(lambda fw, x: x.norm(order, dim), real, [shape], [dtype], layout)


@examples
@given(st.sampled_from([1, 2, 2.5, 0.5, float("inf")]), shapes, shapes, dtypes, layouts)
def test_distances_are_broadcast(order: Any, a: Any, b: Any, dtype: str, layout: str) -> None:
    assert_alike(lambda fw, x, y: fw.dist(x, y, order), real, [a, b], [dtype, dtype], layout)


@examples
@given(st.lists(st.sampled_from([0.0, 0.0, 3.0, -4.0]), min_size=1, max_size=4), st.sampled_from(ORDERS[:-2]))
def test_norms_of_zeros_have_torchs_gradients(values: list[float], order: Any) -> None:
    def gradient(fw: Any) -> Any:
        x = fw.tensor(values, dtype=fw.float64).requires_grad_()
        norm = x.norm(order)
        (found,) = fw.autograd.grad(norm, x, allow_unused=True)
        return norm.item(), None if found is None else found.tolist()

    ours, theirs = gradient(mini), gradient(real)
    assert ours[0] == pytest.approx(theirs[0], rel=1e-12, nan_ok=True)
    assert ours[1] == (theirs[1] if theirs[1] is None else pytest.approx(theirs[1], rel=1e-12, nan_ok=True))


@examples
@given(st.lists(st.sampled_from([0.0, 1.0, -2.0, 0.5]), min_size=2, max_size=5))
def test_a_running_product_with_zeros_in_it_has_its_gradients(values: list[float]) -> None:
    def derivatives(fw: Any) -> Any:
        x = fw.tensor(values, dtype=fw.float64).requires_grad_()
        start = fw.arange(1.0, len(values) + 1, dtype=fw.float64)
        (unrecorded,) = fw.autograd.grad(x.cumprod(0), x, start)
        (first,) = fw.autograd.grad(x.cumprod(0), x, start, create_graph=True)
        (second,) = fw.autograd.grad((first * start).sum(), x)
        return [unrecorded.tolist(), first.tolist(), second.tolist()]

    for ours, theirs in zip(derivatives(mini), derivatives(real), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-13)


@examples
@given(st.lists(numbers, min_size=1, max_size=5), st.sampled_from(["cumsum", "cumprod", "logcumsumexp"]))
def test_unusual_numbers_run_as_in_torch(values: list[float], name: str) -> None:
    ours, theirs = (getattr(fw.tensor(values, dtype=fw.float64), name)(0).tolist() for fw in (mini, real))
    assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-13, nan_ok=True)


@examples
@given(st.lists(numbers, max_size=5), st.sampled_from(["nansum", "nanmean", "sum", "norm", "count_nonzero"]))
def test_unusual_numbers_are_summed_as_in_torch(values: list[float], name: str) -> None:
    ours, theirs = (getattr(fw.tensor(values, dtype=fw.float64), name)().item() for fw in (mini, real))
    assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-13, nan_ok=True)


@examples
@given(
    st.sampled_from(sorted(COUNTED)),
    st.sampled_from([[], [0.0, 2.0], [[0, 1], [3, 0]], [[True], [False]], [[[1.5, float("nan")]]], 0.0]),
    some_dims,
    st.booleans(),
)
def test_elements_are_counted_as_in_torch(name: str, values: Any, dim: Any, keepdim: bool) -> None:
    assert_same_plainly(lambda fw: COUNTED[name](fw, fw.tensor(values), dim, keepdim), real)


INTEGERS: dict[str, Operation] = {
    "cumsum": lambda fw, x: x.cumsum(0),
    "cumprod": lambda fw, x: x.cumprod(-1),
    "cumprod as float": lambda fw, x: x.cumprod(0, dtype=fw.float32),
    "logcumsumexp": lambda fw, x: x.logcumsumexp(0),
    "logsumexp": lambda fw, x: x.logsumexp(0) > 1.5,
    "cumsum in place": lambda fw, x: x.cumsum_(0),
    "cumprod in place": lambda fw, x: x.cumprod_(0),
    "cumsum in place as float": lambda fw, x: x.cumsum_(0, dtype=fw.float32),
    "nansum": lambda fw, x: x.nansum(0),
    "nanmean": lambda fw, x: x.nanmean(),
    "norm": lambda fw, x: x.norm(),
    "dist": lambda fw, x: x.dist(x),
    "norm into an int": lambda fw, x: x.float().norm(dtype=fw.int64),
    "narrowed norm": lambda fw, x: x.double().norm(dtype=fw.float32),
    "diff": lambda fw, x: x.diff(),
    "diff of negative order": lambda fw, x: x.diff(-1),
    "diff of a number": lambda fw, x: x[0, 0].diff(),
}


@pytest.mark.parametrize("values", [[[3, 1], [1, 3]], [[True, False], [True, True]]], ids=["int64", "bool"])
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_and_bools_run_or_are_refused_as_in_torch(name: str, values: Any) -> None:
    assert_same_plainly(lambda fw: INTEGERS[name](fw, fw.tensor(values)), real)
