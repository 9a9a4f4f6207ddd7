"""What tensors can still have on a device, from torch's module of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gradlife.hunting.process import device_limits
from gradlife.hunting.process.device_limits import free_bytes, free_on


def module(**functions: Any) -> SimpleNamespace:
    """A module as torch.cuda: 90 bytes reserved, 40 of them allocated, 10 of 100 free on the device."""
    known = {
        "memory_reserved": lambda device: 90,
        "memory_allocated": lambda device: 40,
        "mem_get_info": lambda device: (10, 100),
    }
    return SimpleNamespace(**{**known, **functions})


def refuse(*arguments: Any) -> Any:
    raise RuntimeError("CUDA error: initialization error")


def test_cached_memory_of_the_allocator_is_free() -> None:
    assert free_on(module(), 0) == 60


def test_the_fraction_that_the_process_may_have_is_the_limit() -> None:
    assert free_on(module(get_per_process_memory_fraction=lambda device: 0.5), 0) == 10


def test_a_device_without_memory_of_the_process_is_not_asked() -> None:
    """The question would create a context there."""
    assert (
        free_on(module(memory_reserved=lambda device: 0, mem_get_info=lambda device: pytest.fail("asked")), 0) is None
    )


@pytest.mark.parametrize("missing", ["memory_reserved", "mem_get_info"])
def test_what_a_release_does_not_have_is_not_known(missing: str) -> None:
    found = module()
    delattr(found, missing)
    assert free_on(found, 0) is None


def test_a_forked_copy_that_may_not_ask_knows_nothing() -> None:
    assert free_on(module(mem_get_info=refuse), 0) is None


def test_each_device_in_use_has_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    two = module(device_count=lambda: 2, memory_reserved=lambda device: 90 * device)
    monkeypatch.setattr(device_limits, "modules_in_use", lambda: [("cuda", two)])
    assert free_bytes() == {"cuda:1": 60}
