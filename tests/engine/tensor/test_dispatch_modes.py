"""Dispatch modes: what they refuse, what a failure leaves behind, and the releases that have them."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest

import gradlife.engine as torch
from gradlife.engine.utils._python_dispatch import (
    TorchDispatchMode,
    _get_current_dispatch_mode,
    _get_current_dispatch_mode_stack,
)


class Counting(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


class Answering(TorchDispatchMode):
    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.answer


def test_what_is_no_tensor_is_refused_as_an_answer() -> None:
    with Answering(3), pytest.raises(TypeError, match="Unable to cast 3 to Tensor"):
        torch.ones(2)


def test_too_few_answers_are_refused() -> None:
    x = torch.ones(3)
    with Answering(()), pytest.raises(RuntimeError, match="expected one tensor from __torch_dispatch__, but got 0"):
        x.sin()
    with Answering((x,)), pytest.raises(RuntimeError, match="expected two tensors from __torch_dispatch__, but got 1"):
        torch.var_mean(x)


def test_a_mode_that_does_not_say_what_it_does_is_refused() -> None:
    with TorchDispatchMode(), pytest.raises(NotImplementedError):
        torch.ones(2)


def test_dispatch_keys_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="gradlife's engine has no dispatch keys"):
        TorchDispatchMode("meta")


def test_a_failure_leaves_the_mode_in_place_and_nothing_of_it_behind() -> None:
    class Failing(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise ValueError(str(func))

    x = torch.ones(2, requires_grad=True)
    with Failing() as mode:
        for _ in range(2):
            with pytest.raises(ValueError, match=r"^aten\.view\.default$"):
                x.view(-1)
        assert _get_current_dispatch_mode() is mode
    assert _get_current_dispatch_mode_stack() == []
    assert x.view(-1).grad_fn is not None


def test_other_threads_are_not_asked() -> None:
    with Counting() as mode:
        thread = threading.Thread(target=lambda: torch.ones(2).sin())
        thread.start()
        thread.join()
    assert mode.names == []


def test_a_mode_and_what_it_answered_die_with_their_last_names() -> None:
    gc.disable()
    try:
        mode = Counting()
        reference = weakref.ref(mode)
        x = torch.ones(2, requires_grad=True)
        with mode:
            y = x.sin()
            result = weakref.ref(y)
            y.sum().backward()
        del mode
        assert reference() is None
        del y
        assert result() is None
    finally:
        gc.enable()


def test_releases_before_2_0_have_no_modes_and_before_2_4_no_policies() -> None:
    with torch.profile("torch-1.13"):
        assert not hasattr(torch.utils, "_python_dispatch")
        assert not hasattr(torch.utils.checkpoint, "CheckpointPolicy")
        assert hasattr(torch, "ops")
    with torch.profile("torch-1.10"):
        assert not hasattr(torch, "ops")


def test_an_operation_that_there_is_none_of_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="'_OpNamespace' 'aten' object has no attribute 'no_such'"):
        _ = torch.ops.aten.no_such
    with pytest.raises(AttributeError, match=r"The underlying op of 'aten\.sin' has no overload name 'Tensor'"):
        _ = torch.ops.aten.sin.Tensor
    assert torch.ops.aten.var_mean.overloads() == ["default", "dim", "correction"]
