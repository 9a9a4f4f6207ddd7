"""Products of vectors and matrices that are added to a tensor, and products over chosen dimensions, against PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gradlife.engine as mini
from op_outcomes import Operation, assert_alike, assert_same_plainly, dtypes, error_of, examples, layouts, plain

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

sizes = st.integers(0, 3)
factors = st.sampled_from([0, 1, 2, 0.5, -1.5])
ADDED: dict[str, Operation] = {
    "addmm": lambda fw, c, a, b, beta, alpha: fw.addmm(c, a, b, beta=beta, alpha=alpha),
    "addmv": lambda fw, c, a, b, beta, alpha: c.addmv(a, b, beta=beta, alpha=alpha),
    "addr": lambda fw, c, a, b, beta, alpha: fw.addr(c, a, b, beta=beta, alpha=alpha),
    "baddbmm": lambda fw, c, a, b, beta, alpha: c.baddbmm(a, b, beta=beta, alpha=alpha),
    "addbmm": lambda fw, c, a, b, beta, alpha: fw.addbmm(c, a, b, beta=beta, alpha=alpha),
    "addmm in place": lambda fw, c, a, b, beta, alpha: (c * 1).addmm_(a, b, beta=beta, alpha=alpha),
    "addmv in place": lambda fw, c, a, b, beta, alpha: (c * 1).addmv_(a, b, beta=beta, alpha=alpha),
    "addr in place": lambda fw, c, a, b, beta, alpha: (c * 1).addr_(a, b, beta=beta, alpha=alpha),
    "baddbmm in place": lambda fw, c, a, b, beta, alpha: (c * 1).baddbmm_(a, b, beta=beta, alpha=alpha),
}


def shapes_of(name: str, batch: int, rows: int, inner: int, columns: int) -> list[tuple[int, ...]]:
    """Of the tensor that is added to, and of the two factors."""
    kind = name.split()[0]
    if kind == "addmv":
        return [(rows,), (rows, inner), (inner,)]
    if kind == "addr":
        return [(rows, columns), (rows,), (columns,)]
    factors = [(rows, inner), (inner, columns)]
    if kind == "addmm":
        return [(rows, columns), *factors]
    added_to = (batch, rows, columns) if kind == "baddbmm" else (rows, columns)
    return [added_to, *((batch, *each) for each in factors)]


@examples
@given(st.sampled_from(sorted(ADDED)), st.tuples(sizes, sizes, sizes, sizes), factors, factors, dtypes, layouts)
def test_products_added_to_a_tensor(name: str, dims: Any, beta: float, alpha: float, dtype: str, layout: str) -> None:
    given_shapes = shapes_of(name, *dims)
    assert_alike(lambda fw, c, a, b: ADDED[name](fw, c, a, b, beta, alpha), real, given_shapes, [dtype] * 3, layout)


@examples
@given(st.sampled_from(sorted(ADDED)), st.lists(st.lists(sizes, max_size=3).map(tuple), min_size=3, max_size=3))
def test_shapes_that_do_not_fit_are_refused_in_torchs_words(name: str, given_shapes: Any) -> None:
    ours, theirs = (
        error_of(lambda fw=fw: ADDED[name](fw, *(fw.ones(shape) for shape in given_shapes), 1, 1))  # type: ignore[misc]
        for fw in (mini, real)
    )
    assert ours == theirs, (ours, theirs)


@examples
@given(st.sampled_from(sorted(ADDED)), st.sampled_from([(), (1,), (3,), (1, 3), (2, 1), (2, 3)]), dtypes)
def test_the_tensor_that_is_added_to_is_broadcast(name: str, shape: Any, dtype: str) -> None:
    given_shapes = [shape, *shapes_of(name, 2, 2, 2, 3)[1:]]
    assert_alike(lambda fw, c, a, b: ADDED[name](fw, c, a, b, 2, 1), real, given_shapes, [dtype] * 3)


DOTS: dict[str, Operation] = {
    "outer": lambda fw, a, b: fw.outer(a, b),
    "ger": lambda fw, a, b: a.ger(b),
    "inner": lambda fw, a, b: fw.inner(a, b),
    "vdot": lambda fw, a, b: fw.vdot(a, b),
    "tensordot over 2": lambda fw, a, b: fw.tensordot(a, b),
    "tensordot over 1": lambda fw, a, b: fw.tensordot(a, b, 1),
    "tensordot over none": lambda fw, a, b: fw.tensordot(a, b, 0),
    "tensordot over chosen": lambda fw, a, b: fw.tensordot(a, b, ([0], [-1])),
    "tensordot over pairs": lambda fw, a, b: fw.tensordot(a, b, dims=([0, 1], [1, 0])),
}
few = st.lists(st.integers(1, 3), max_size=3).map(tuple)


@examples
@given(st.sampled_from(sorted(DOTS)), few, few, dtypes, layouts)
def test_products_over_chosen_dimensions(name: str, a: Any, b: Any, dtype: str, layout: str) -> None:
    assert_alike(DOTS[name], real, [a, b], [dtype, dtype], layout)


def test_nothing_of_the_tensor_counts_where_its_factor_is_0() -> None:
    def product(fw: Any) -> Any:
        nan = fw.full((2, 2), float("nan"))
        return plain([fw.addmm(nan, fw.ones(2, 2), fw.eye(2), beta=0), nan.addmm_(fw.ones(2, 2), fw.eye(2), beta=0)])

    assert product(mini) == product(real)


KINDS: dict[str, Operation] = {
    "ints": lambda fw, x: fw.addmm(x, x, x, beta=2),
    "ints, half": lambda fw, x: fw.addmm(x, x, x, alpha=0.5),
    "ints of vectors, half": lambda fw, x: fw.addr(x, x[0], x[0], beta=0.5),
    "another factor": lambda fw, x: fw.addmm(x, x, x.float()),
    "another tensor": lambda fw, x: fw.addmm(x.float(), x, x),
    "another vector": lambda fw, x: fw.addmv(x[0], x, x[0].float()),
    "another batch": lambda fw, x: fw.baddbmm(x.float(), x[None], x[None]),
    "another summed batch": lambda fw, x: fw.addbmm(x.float(), x[None], x[None]),
    "mixed vectors": lambda fw, x: fw.addr(x, x[0].double(), x[0]),
    "mixed vectors in place": lambda fw, x: x.addr_(x[0].double(), x[0]),
    "mixed outer": lambda fw, x: fw.outer(x[0], x[0].float()),
    "mixed tensordot": lambda fw, x: fw.tensordot(x, x.float(), 1),
    "a smaller target": lambda fw, x: x[:1].addmm_(x, x),
    "a view of an expanded one": lambda fw, x: x[0].expand(2, 2).addmm_(x, x),
}


@pytest.mark.parametrize("name", KINDS)
def test_dtypes_are_mixed_or_refused_as_in_torch(name: str) -> None:
    assert_same_plainly(lambda fw: KINDS[name](fw, fw.tensor([[1, 2], [3, 4]])), real)
