"""Sizes whose product or whose reach in memory cannot be counted are refused, in PyTorch's words where it refuses them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as mini

NUMEL = "numel: integer multiplication overflow"
STORAGE = "Storage size calculation overflowed with sizes="

TOO_LARGE: dict[str, tuple[Callable[[Any], Any], str]] = {
    "expand": (lambda fw: fw.ones(1).expand(1 << 40, 1 << 40), NUMEL),
    "expand to a count that wraps to one": (lambda fw: fw.ones(1).expand(274177, 67280421310721), NUMEL),
    "expand to nothing": (lambda fw: fw.ones(1).expand(1 << 62, 4, 0), NUMEL),
    "stride": (lambda fw: fw.ones(4).as_strided((3,), (1 << 61,)), f"{STORAGE}[3] and strides=[{1 << 61}]"),
    "offset": (lambda fw: fw.ones(4).as_strided((2,), (1,), (1 << 63) - 1), f"{STORAGE}[2] and strides=[1]"),
    "bytes": (lambda fw: fw.ones(4).as_strided((1,), (1,), 1 << 62), f"{STORAGE}[1] and strides=[1]"),
    "strides of zero": (lambda fw: fw.ones(4).as_strided((1 << 40, 1 << 40), (0, 0)), NUMEL),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_a_view_that_cannot_be_counted_is_refused(name: str) -> None:
    view, words = TOO_LARGE[name]
    with pytest.raises(RuntimeError) as caught:
        view(mini)
    assert str(caught.value) == words


@pytest.mark.torch
@pytest.mark.faithful
@pytest.mark.parametrize("name", TOO_LARGE)
def test_torch_refuses_it_in_the_same_words(name: str) -> None:
    torch = pytest.importorskip("torch")
    view, words = TOO_LARGE[name]
    with pytest.raises(RuntimeError) as caught:
        view(torch)
    assert str(caught.value).splitlines()[0] == words


def test_repeats_that_wrap_are_refused() -> None:
    """`ones(4).repeat(2**62 + 1)` wrote 2**62 times into four elements."""
    for repeats in ((1 << 62) + 1, 1 << 62):
        with pytest.raises(RuntimeError, match=NUMEL):
            mini.ones(4).repeat(repeats)


COPIES: dict[str, Callable[[Any], Any]] = {
    "clone": lambda view: view.clone(),
    "contiguous": lambda view: view.contiguous(),
    "softmax": lambda view: view.softmax(0),
    "product": lambda view: view * 2,
}


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("dtype", [mini.float32, mini.float64])
def test_a_copy_whose_bytes_wrap_is_not_made(copy: str, dtype: Any) -> None:
    """Their number wrapped to zero, and the copy was written beyond its storage."""
    with pytest.raises(MemoryError, match="not enough memory for a tensor of size"):
        COPIES[copy](mini.ones(1, dtype=dtype).expand(1 << 61))


def test_what_has_no_elements_needs_no_memory() -> None:
    assert mini.zeros(1 << 61, 0).clone().shape == (1 << 61, 0)
    assert mini.ones(4).as_strided((0,), (1,), 1 << 62).shape == (0,)
