"""unsafe_split and its kin: parts on the same memory that know nothing of each other, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as mini

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

CUTS: dict[str, Callable[[Any], Any]] = {
    "unsafe_split": lambda t: t.unsafe_split(2),
    "unsafe_split of columns": lambda t: t.unsafe_split(1, 1),
    "unsafe_split_with_sizes": lambda t: t.unsafe_split_with_sizes((1, 2)),
    "unsafe_chunk": lambda t: t.unsafe_chunk(3),
    "too few": lambda t: t.unsafe_split_with_sizes((1, 1)),
    "none": lambda t: t.unsafe_chunk(0),
}


def told(fw: Any, cut: Callable[[Any], Any]) -> Any:
    x = fw.arange(6.0).view(3, 2).requires_grad_()
    base = x * 2
    try:
        first, *others = cut(base)
    except RuntimeError as error:
        return str(error)
    versions = base._version, first._version
    first.mul_(3)
    (first.sum() + others[-1].sum()).backward()
    shared = others[-1].data_ptr() != first.data_ptr() and first._is_view()
    after = base._version, first._version, others[-1]._version
    return versions, after, shared, first._base, first.grad_fn.name(), others[-1].grad_fn.name(), x.grad.tolist()


@pytest.mark.parametrize("name", CUTS)
def test_parts_are_changed_each_by_itself(name: str) -> None:
    assert told(mini, CUTS[name]) == told(real, CUTS[name])
