"""Backwards inside backwards, deeper than one thread carries: each sixty levels a new thread, and none left at the end."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import gradlife.engine as torch
from engine_tools import leaf, text_of


class Deeper(torch.autograd.Function):
    """Runs a backward of one level less in its own."""

    threads: set[int] = set()
    facts: list[Any] = []
    fails = False

    @staticmethod
    def forward(ctx: Any, x: Any, levels: int) -> Any:
        ctx.levels = levels
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        Deeper.threads.add(threading.get_ident())
        if ctx.levels == 0:
            Deeper.bottom()
        else:
            with torch.enable_grad():
                Deeper.apply(gradient.detach().requires_grad_(), ctx.levels - 1).sum().backward()
        return gradient, None

    @staticmethod
    def bottom() -> None:
        Deeper.facts.append((torch.is_grad_enabled(), torch.current_profile().name))
        if Deeper.fails:
            raise LookupError("at the bottom")


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    Deeper.threads.clear()
    Deeper.facts.clear()


def test_sixty_levels_stay_in_the_thread_that_asked() -> None:
    Deeper.apply(leaf(1.0), 59).backward()
    assert Deeper.threads == {threading.get_ident()}


def test_each_sixty_levels_more_take_a_thread_which_ends_with_them() -> None:
    x = leaf(1.0)
    Deeper.apply(x, 190).backward()
    assert x.grad.tolist() == [1.0]
    assert len(Deeper.threads) == 4
    assert Deeper.threads.intersection(thread.ident for thread in threading.enumerate()) == {threading.get_ident()}


def test_grad_mode_and_the_profile_go_along() -> None:
    with torch.profile("torch-2.9"):
        Deeper.apply(leaf(1.0), 130).backward()
    assert Deeper.facts == [(False, "torch-2.9")]
    assert torch.current_profile().name == "torch-2.13"


def test_an_error_comes_back_through_the_threads_as_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Deeper, "fails", True)
    with pytest.raises(LookupError) as error:
        Deeper.apply(leaf(1.0), 110).backward()
    assert text_of(error) == "at the bottom"
    entries = [entry.name for entry in error.traceback]
    assert entries.count("backward") > 100
    assert entries[-1] == "bottom"
    assert len(Deeper.threads) == 2


def test_default_hooks_go_along_and_do_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    packed: list[int] = []

    def pack(tensor: Any) -> Any:
        packed.append(threading.get_ident())
        return tensor

    def save_two() -> None:
        y = leaf(1.0)
        with torch.enable_grad():
            y * y

    monkeypatch.setattr(Deeper, "bottom", staticmethod(save_two))
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        Deeper.apply(leaf(1.0), 70).backward()
    assert len(packed) == 2
    assert threading.get_ident() not in packed
