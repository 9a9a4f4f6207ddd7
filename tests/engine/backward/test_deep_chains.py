"""Graphs of thousands of contexts: their destruction needs no deep stack."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest

import gradlife.engine as torch
from lifetimes import (
    RELEASES,
    collector_off,
    doubling,
    leaf,
    save_input,
)

every_release = pytest.mark.parametrize("profile", RELEASES)


@every_release
@pytest.mark.parametrize("saves", [False, True])
def test_long_chain_of_contexts_goes_with_its_last_name(profile: str, saves: bool) -> None:
    with torch.profile(profile), collector_off():
        before = torch.live_counts()
        function, y = doubling(save_input) if saves else doubling(), leaf()
        for _ in range(5_000):
            y = function.apply(y)
        assert torch.live_counts()["context"] == before["context"] + 5_000
        del y
        assert torch.live_counts() == before


@every_release
def test_long_chain_of_contexts_linked_by_attributes_goes_with_its_last_name(profile: str) -> None:
    def keep_input(ctx: Any, x: Any, y: Any) -> None:
        ctx.x = x

    with torch.profile(profile), collector_off():
        before = torch.live_counts()
        function, y = doubling(keep_input), leaf()
        for _ in range(20_000):
            y = function.apply(y)
        del y
        # what the interpreter parked, once nested too deeply, goes with the next container
        held: list[Any] = [[[]]]
        del held
        assert torch.live_counts() == before


def test_deep_chain_goes_on_a_small_stack() -> None:
    answers: list[dict[str, int]] = []

    def build_and_drop() -> None:
        y = leaf()
        function = doubling(save_input)
        for _ in range(10_000):
            y = function.apply(y)
        del y
        answers.append(torch.live_counts())

    gc.collect()
    before = torch.live_counts()
    size = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=build_and_drop)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
    assert answers == [before]
