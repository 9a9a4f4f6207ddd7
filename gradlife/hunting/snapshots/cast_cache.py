"""The cache of torch.autocast: casts of weights, each with its graph, which only C++ holds until the region is left."""

from __future__ import annotations

from contextlib import suppress

from gradlife.model.trace import Confidence, NativeHolder
from gradlife.safe_access import LibraryObject, loaded

#: The holder of weights whose casts are kept.
HOLDER = NativeHolder("torch.autocast's cache of casts", "object", "torch", "", Confidence.LIKELY)

#: Devices that have a type of autocast of their own.
DEVICES = ("cpu", "cuda", "xpu", "mps")


def is_caching_casts() -> bool:
    """Whether this thread is in a region of `torch.autocast` that keeps the casts of weights."""
    torch: LibraryObject = loaded("torch._C")
    with suppress(Exception):
        return bool(torch.is_autocast_cache_enabled()) and any(torch.is_autocast_enabled(one) for one in DEVICES)
    return False
