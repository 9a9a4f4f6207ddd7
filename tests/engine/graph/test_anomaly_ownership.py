"""Objects that anomaly mode keeps alive; all of them are freed."""

from __future__ import annotations

import sys
import warnings
import weakref
from typing import Any

import pytest

import gradlife.engine as torch
from engine_tools import Mark, grad, leaf, text_of


def test_a_deep_chain_of_parents_goes_without_recursion() -> None:
    x, mark = leaf(), Mark()
    gone = weakref.ref(mark)
    node: Any = mark
    del mark
    for _ in range(100_000):
        y = x * 2
        y.grad_fn.metadata["parent_"] = node
        node = y.grad_fn
    del y, node
    assert gone() is None


def test_the_parent_is_the_node_that_ran_and_lives_as_long() -> None:
    x = leaf()
    with torch.autograd.set_detect_anomaly(True):
        y = x.pow(3)
        (gradient,) = grad(y, x, create_graph=True)
    parent = y.grad_fn
    mark = Mark()
    gone = weakref.ref(mark)
    parent.metadata["mark"] = mark
    del mark, parent, y
    assert gone() is not None
    assert gradient.grad_fn.metadata["parent_"].name() == "PowBackward0"
    del gradient
    assert gone() is None


def test_a_node_made_outside_of_any_backward_has_no_parent() -> None:
    with torch.autograd.set_detect_anomaly(True):
        y = leaf() * 2
    assert sorted(y.grad_fn.metadata) == ["traceback_"]


def test_the_warning_may_be_turned_into_an_error_and_the_failure_still_arrives(
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            raise LookupError("the failure itself")

    seen: list[str] = []
    hook, sys.unraisablehook = sys.unraisablehook, lambda what: seen.append(str(what.exc_value).split(".")[0])
    try:
        with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True):
            warnings.simplefilter("error")
            y = Fails.apply(leaf())
            with pytest.raises(LookupError) as error:
                y.backward()
    finally:
        sys.unraisablehook = hook
    assert text_of(error) == "the failure itself"
    assert seen == ["Error detected in FailsBackward"]


def test_nan_is_looked_for_in_every_output() -> None:
    class Second(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x + y

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient, gradient * float("nan")

    with torch.autograd.set_detect_anomaly(True):
        y = Second.apply(leaf(), leaf())
        with (
            pytest.warns(UserWarning, match="Error detected in SecondBackward"),
            pytest.raises(RuntimeError) as error,
        ):
            y.backward()
    assert text_of(error) == "Function 'SecondBackward' returned nan values in its 1th output."
