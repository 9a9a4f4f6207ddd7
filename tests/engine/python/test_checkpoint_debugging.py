"""The debug mode of checkpoints: what it tells where a recomputation goes another way, and that it keeps nothing."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as torch
from gradlife.engine.utils.checkpoint import CheckpointError, checkpoint, set_checkpoint_debug_enabled


def at_first(x: Any) -> Any:
    return x.sin().exp()


def later(x: Any) -> Any:
    return x.sin() * torch.tensor([1.0, 2.0])


def changing() -> Callable[[Any], Any]:
    """A function that computes something else from its second call on."""
    functions = iter((at_first, later))
    return lambda x: next(functions)(x)


def failed(**options: Any) -> str:
    x = torch.ones(1, requires_grad=True)
    with pytest.raises(CheckpointError) as raised:
        checkpoint(changing(), x, use_reentrant=False, **options).sum().backward()
    return str(raised.value)


def test_both_runs_are_reported_with_the_places_that_saved() -> None:
    text = failed(debug=True)
    assert "You are seeing this error because you passed `debug=True` to checkpoint" in text
    assert "$ torch.float32[1]   (2 of 2 in original)" in text
    assert "$ torch.float32[2]   (2 of 2 in recompute)" in text
    original, again = text.index("1. Where the original"), text.index("2. Where the recomputation")
    assert f"{__file__}:{at_first.__code__.co_firstlineno + 1}:at_first" in text[original:again]
    assert f"{__file__}:{later.__code__.co_firstlineno + 1}:later" in text[again:]


def test_a_block_decides_over_the_argument() -> None:
    with set_checkpoint_debug_enabled(True):
        assert "debug=True" in failed()
    with set_checkpoint_debug_enabled(False):
        assert failed(debug=True).startswith("torch.utils.checkpoint: Recomputed values for the following tensors have")


def test_contexts_of_the_users_own_do_not_go_with_it() -> None:
    x = torch.ones(1, requires_grad=True)
    with pytest.raises(ValueError, match=r"^debug=True is incompatible with non-default context_fn$"):
        checkpoint(at_first, x, use_reentrant=False, debug=True, context_fn=lambda: (None, None))


def test_a_run_that_repeats_itself_is_not_disturbed() -> None:
    x = torch.ones(1, requires_grad=True)
    y = checkpoint(at_first, x, use_reentrant=False, debug=True)
    y.backward()
    plain = torch.ones(1, requires_grad=True)
    at_first(plain).backward()
    assert x.grad.tolist() == plain.grad.tolist()


def test_no_tensor_is_kept_by_what_is_reported() -> None:
    seen = []

    def function(x: Any) -> Any:
        middle = x.sin()
        seen.append(weakref.ref(middle))
        return middle.exp()

    gc.collect()
    gc.disable()
    try:
        y = checkpoint(function, torch.ones(1, requires_grad=True), use_reentrant=False, debug=True)
        assert seen[0]() is None
        y.backward()
        assert seen[1]() is None
    finally:
        gc.enable()
