"""Reductions against PyTorch: products, extrema, moments, and what normalises along a dimension.

Shapes may be empty or have no dimensions, dimensions may not exist. Tolerances are those of op_pairs: 2e-5 relative in float32,
1e-12 in float64, ten times that for second derivatives, which float64 alone can tell.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

import gradlife.engine as mini
from op_outcomes import (
    Operation,
    assert_alike,
    assert_same_plainly,
    dims,
    dtypes,
    error_of,
    examples,
    layouts,
    numbers,
    plain,
    shapes,
)

real = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0")]

OF_ALL: dict[str, Operation] = {
    "prod": lambda fw, x: x.prod(),
    "prod as double": lambda fw, x: fw.prod(x, dtype=fw.float64),
    "max": lambda fw, x: x.max(),
    "var of var_mean": lambda fw, x: fw.var_mean(x)[0],
    "mean of var_mean": lambda fw, x: fw.var_mean(x)[1],
    "both of var_mean": lambda fw, x: fw.add(*fw.var_mean(x)),
}
OF_DIM: dict[str, Operation] = {
    "prod": lambda fw, x, dim, keepdim: x.prod(dim, keepdim),
    "max": lambda fw, x, dim, keepdim: x.max(dim, keepdim).values,
    "where max": lambda fw, x, dim, keepdim: x.max(dim, keepdim).indices,
    "both of var_mean": lambda fw, x, dim, keepdim: fw.add(*fw.var_mean(x, dim, keepdim=keepdim)),
    "logsumexp": lambda fw, x, dim, keepdim: x.logsumexp(dim, keepdim),
    "softmax": lambda fw, x, dim, keepdim: x.softmax(dim),
    "softmax as double": lambda fw, x, dim, keepdim: fw.softmax(x, dim, dtype=fw.float64),
}
OF_DIMS: dict[str, Operation] = {
    "sum": lambda fw, x, named, keepdim: x.sum(named, keepdim),
    "mean": lambda fw, x, named, keepdim: x.mean(named, keepdim),
    "var_mean": lambda fw, x, named, keepdim: fw.add(*fw.var_mean(x, named, keepdim=keepdim)),
    "logsumexp": lambda fw, x, named, keepdim: x.logsumexp(named, keepdim),
}


@examples
@given(st.sampled_from(sorted(OF_ALL)), shapes, dtypes, layouts)
def test_reductions_of_all_elements(name: str, shape: Any, dtype: str, layout: str) -> None:
    assume(layout != "expanded" or "std" not in name)
    assert_alike(OF_ALL[name], real, [shape], [dtype], layout)


@examples
@given(st.sampled_from(sorted(OF_DIM)), shapes, dims, st.booleans(), dtypes, layouts)
def test_reductions_along_one_dimension(
    name: str, shape: Any, dim: int, keepdim: bool, dtype: str, layout: str
) -> None:
    assume(layout != "expanded" or "std" not in name)
    assert_alike(lambda fw, x: OF_DIM[name](fw, x, dim, keepdim), real, [shape], [dtype], layout)


@examples
@given(st.sampled_from(sorted(OF_DIMS)), shapes, st.lists(dims, min_size=1, max_size=3), st.booleans(), dtypes, layouts)
def test_reductions_of_several_dimensions(
    name: str, shape: Any, named: list[int], keepdim: bool, dtype: str, layout: str
) -> None:
    # rounding decides how far equal numbers are apart
    assume(layout != "expanded" or name != "std")
    assert_alike(lambda fw, x: OF_DIMS[name](fw, x, named, keepdim), real, [shape], [dtype], layout)


@examples
@given(st.lists(st.sampled_from([0.0, 1.0, -2.0, 0.5]), min_size=1, max_size=6), st.booleans())
def test_a_product_with_zeros_in_it_has_its_gradients(values: list[float], whole: bool) -> None:
    def derivatives(fw: Any) -> Any:
        x = fw.tensor(values, dtype=fw.float64).reshape(-1, 1).requires_grad_()
        product = x.prod() if whole else x.prod(0)
        (first,) = fw.autograd.grad(product.sum(), x, create_graph=True)
        (unrecorded,) = fw.autograd.grad((x.prod() if whole else x.prod(0)).sum(), x)
        known = [first.reshape(-1).tolist(), unrecorded.reshape(-1).tolist()]
        if len(values) == 1:
            return known  # constant
        (second,) = fw.autograd.grad((first * fw.arange(len(values)).reshape(-1, 1)).sum(), x, allow_unused=True)
        return [*known, [0.0] * len(values) if second is None else second.reshape(-1).tolist()]

    for ours, theirs in zip(derivatives(mini), derivatives(real), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-13)


@examples
@given(st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=1, max_size=4))
def test_ties_and_unusual_numbers_have_torchs_extrema_and_gradients(rows: list[list[float]]) -> None:
    def extrema(fw: Any) -> Any:
        x = fw.tensor(rows, dtype=fw.float64).requires_grad_()
        found = [x.max(), *x.max(0), *x.max(1)]
        return plain(found), plain([fw.autograd.grad(each.sum(), x)[0] for each in found if each.requires_grad])

    assert extrema(mini) == extrema(real)


INTEGERS: dict[str, Operation] = {
    "prod": lambda fw, x: x.prod(),
    "prod of dim": lambda fw, x: x.prod(-1, True),
    "prod as float": lambda fw, x: x.prod(dtype=fw.float32),
    "max": lambda fw, x: [x.max(), *x.max(0)],
    "var_mean": lambda fw, x: fw.var_mean(x),
    "mean": lambda fw, x: x.mean(),
    "softmax": lambda fw, x: x.softmax(0),
    "softmax as double": lambda fw, x: x.softmax(0, dtype=fw.float64) > 0,
}


@pytest.mark.faithful
@pytest.mark.parametrize("values", [[[3, 1], [1, 3]], [[True, False], [True, True]]], ids=["int64", "bool"])
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_and_bools_reduce_or_are_refused_as_in_torch(name: str, values: Any) -> None:
    assert_same_plainly(lambda fw: INTEGERS[name](fw, fw.tensor(values)), real)


WRONG_KINDS: dict[str, Operation] = {
    "prod of two": lambda fw, x: x.prod((0, 1)),
    "max of three": lambda fw, x: x.max(0, True, 1),
    "softmax of none": lambda fw, x: x.softmax(),
    "softmax of text": lambda fw, x: x.softmax("0"),
    "var_mean of a number": lambda fw, x: fw.var_mean(2.0),
}


@pytest.mark.faithful
@pytest.mark.parametrize("name", WRONG_KINDS)
def test_arguments_of_the_wrong_kind_are_type_errors(name: str) -> None:
    for fw in (mini, real):
        error = error_of(lambda fw=fw: WRONG_KINDS[name](fw, fw.ones(2, 2)))  # type: ignore[misc]
        assert error is not None
        assert error[0] == "TypeError"


def test_results_with_names_look_like_torchs() -> None:
    ours, theirs = (fw.tensor([[1.0, 5.0], [7.0, 2.0]]).max(1) for fw in (mini, real))
    assert repr(ours) == repr(theirs)
    assert type(ours).__name__ == "max"
    assert isinstance(ours, tuple)
    assert isinstance(ours, mini.return_types.max)
    assert ours.values is ours[0]
    values, indices = ours
    assert (values.tolist(), indices.tolist()) == ([5.0, 7.0], [1, 0])
    with pytest.raises(AttributeError):
        ours.values = 1
    with pytest.raises(TypeError, match=r"torch.return_types.max\(\) takes a 2-sequence \(1-sequence given\)"):
        mini.return_types.max([1])
