"""One operation in both frameworks, whatever comes of it: values, layouts and derivatives, or the same error."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import settings, strategies as st

import gradlife.engine as mini
from op_pairs import DTYPES, LAYOUTS, TOLERANCE, Shape, assert_same, compare, inputs, seen

Operation = Callable[..., Any]

examples = settings(max_examples=80, deadline=None, database=None)
shapes = st.lists(st.integers(0, 4), max_size=3).map(tuple)
dims = st.integers(-4, 3)
layouts = st.sampled_from(sorted(LAYOUTS))
dtypes = st.sampled_from(DTYPES)
numbers = st.floats(-3, 3, width=32) | st.sampled_from([0.0, -0.0, float("inf"), -float("inf"), float("nan")])


def error_of(run: Callable[[], Any]) -> tuple[str, str] | None:
    """The kind and the text of the error that this ends with."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run()
        except Exception as error:
            return type(error).__name__, str(error).partition("(Triggered internally")[0].strip()
    return None


def assert_alike(
    operation: Operation,
    real: Any,
    given: Sequence[Shape],
    kinds: Sequence[str],
    layout: str = "contiguous",
    low: float = 0.3,
) -> None:
    """Both give the same error, or results of equal shape, layout, dtype, values, gradients and second gradients."""
    ours, theirs = (
        error_of(lambda fw=fw: operation(fw, *inputs(fw, given, kinds, layout, low)))  # type: ignore[misc]
        for fw in (mini, real)
    )
    assert ours == theirs, (ours, theirs)
    if ours is not None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [operation(fw, *inputs(fw, given, kinds, layout, low)) for fw in (mini, real)]
        assert results[0].requires_grad == results[1].requires_grad
        if results[0].requires_grad:
            compare(operation, real, given, kinds, layout, low)
        else:
            assert_same(seen(results[0]), seen(results[1]), TOLERANCE["float32"])


def plain(value: Any) -> Any:
    """Tensors as nested lists, with their dtype; nans as text, so that they are equal."""
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):
        return str(value.dtype), plain(value.tolist())
    return str(value) if value != value else value


def assert_same_plainly(operation: Operation, real: Any, *arguments: Any) -> None:
    """Exactly the same values and dtypes, or the same error; for what has no derivatives."""
    outcomes = []
    for fw in (mini, real):
        error = error_of(lambda fw=fw: operation(fw, *arguments))  # type: ignore[misc]
        outcomes.append(error or plain(operation(fw, *arguments)))
    assert outcomes[0] == outcomes[1], outcomes
