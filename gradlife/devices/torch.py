"""The caching allocators of this process, as PyTorch describes them."""

from __future__ import annotations

import sys
from typing import Any

from gradlife.devices.allocator_state import allocator_state
from gradlife.model.device.memory import AllocatorState

#: Kinds of devices whose allocator torch describes. A registered private backend is added by its name.
KINDS = ("cuda", "xpu")


def allocator_states() -> list[AllocatorState]:
    """Return the state of every caching allocator in use. Initializes and allocates nothing.

    Cost: that of `torch.cuda.memory._snapshot`, some 10 microseconds per block.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return []
    kinds = dict.fromkeys((*KINDS, torch._C._get_privateuse1_backend_name()))
    found = ((kind, snapshot_function(getattr(torch, kind, None))) for kind in kinds)
    return [allocator_state(take(), kind) for kind, take in found if take is not None]


def snapshot_function(device_module: Any) -> Any:
    """Return the function that describes a device's allocator; None if the device is not in use or has none."""
    is_initialized = getattr(device_module, "is_initialized", None)
    if is_initialized is None or not is_initialized():
        return None
    return getattr(getattr(device_module, "memory", None), "_snapshot", None)
