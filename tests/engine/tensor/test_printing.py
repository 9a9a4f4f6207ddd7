"""Tensors as text: whatever the values and shapes, the text is PyTorch's."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import gradlife.engine as mini

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
examples = settings(max_examples=100, deadline=None, database=None)

shapes = st.lists(st.integers(0, 5), max_size=4)
long_shapes = st.lists(st.integers(1, 14), min_size=3, max_size=4) | st.lists(
    st.integers(990, 1100), min_size=1, max_size=1
)
floats = st.floats(width=32) | st.sampled_from([0.0, 1.0, -2.0, 1e-5, 1e9, 0.5])
whole = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 12)


def texts(values: list[Any], shape: list[int], dtype: str, requires_grad: bool = False) -> tuple[str, str]:
    """The text of a tensor of these values, as often as they fit, in both frameworks."""
    count = math.prod(shape)
    repeated = (values * count)[:count]
    both = []
    for fw in (mini, real):
        tensor = fw.tensor(repeated, dtype=getattr(fw, dtype)).reshape(shape)
        both.append(repr(tensor.requires_grad_() if requires_grad else tensor))
    return both[0], both[1]


@examples
@given(st.lists(floats, min_size=1, max_size=20), shapes, st.sampled_from(["float32", "float64"]), st.booleans())
def test_floats_are_printed_as_torch_prints_them(
    values: list[float], shape: list[int], dtype: str, requires_grad: bool
) -> None:
    ours, theirs = texts(values, shape, dtype, requires_grad)
    assert ours == theirs


@examples
@given(st.lists(whole, min_size=1, max_size=20), shapes)
def test_whole_numbers_are_printed_as_torch_prints_them(values: list[int], shape: list[int]) -> None:
    ours, theirs = texts(values, shape, "int64")
    assert ours == theirs


@examples
@given(st.lists(st.booleans(), min_size=1, max_size=20), shapes)
def test_truth_values_are_printed_as_torch_prints_them(values: list[bool], shape: list[int]) -> None:
    ours, theirs = texts(values, shape, "bool")
    assert ours == theirs


@settings(examples, max_examples=20)
@given(st.lists(floats, min_size=1, max_size=20), long_shapes)
def test_long_tensors_are_cut_where_torch_cuts_them(values: list[float], shape: list[int]) -> None:
    ours, theirs = texts(values, shape, "float32")
    assert ours == theirs


def test_a_result_shows_its_node() -> None:
    makers: list[Any] = [lambda x: x * 2, lambda x: x.view(2, 1)[0], lambda x: x.detach(), lambda x: x.data]
    for make in makers:
        ours, theirs = (repr(make(fw.ones(2, requires_grad=True))) for fw in (mini, real))
        assert ours == theirs


def test_a_subclass_is_printed_under_its_name() -> None:
    class Mine(mini.Tensor):
        pass

    assert repr(mini.ones(2).as_subclass(Mine)) == "Mine([1., 1.])"
    assert repr(mini.nn.Parameter(mini.ones(1))) == "Parameter containing:\ntensor([1.], requires_grad=True)"


def test_numbers_can_be_formatted_and_tensors_cannot() -> None:
    assert f"{mini.tensor(3.14159):.2f} {mini.tensor(3)} {mini.ones(1)}" == "3.14 3 tensor([1.])"
    with pytest.raises(TypeError, match=r"unsupported format string passed to Tensor.__format__"):
        f"{mini.ones(2):.2f}"
