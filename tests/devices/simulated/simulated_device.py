"""torch with the simulated accelerator: importing this needs its library on the path. For child processes only."""

from __future__ import annotations

import sys
import types

import simulated_accelerator as native  # type: ignore[import-not-found]
import torch

NAME = "simulated"


def host_memory_stats() -> dict[str, int]:
    """The bytes of the cache of pinned memory, under torch's names."""
    owned, active = native.pinned_bytes()
    return {"allocated_bytes.current": owned, "active_bytes.current": active}


class Graph:
    """A captured graph: what is allocated in its `with` block comes from its own pool, which it keeps until `reset`."""

    number = 0

    def __init__(self, pool: tuple[int, int] | None = None, device: int = 0) -> None:
        Graph.number += pool is None
        self.pool = pool or (Graph.number, 0)
        self.device = device

    def __enter__(self) -> None:
        native.keep_pool(self.device, self.pool)
        native.use_pool(self.device, self.pool)

    def __exit__(self, *error: object) -> None:
        native.use_pool(self.device, (0, 0))

    def reset(self) -> None:
        native.release_pool(self.device, self.pool)


def install() -> None:
    """Make torch know the accelerator by its name, with a module as torch.cuda."""
    torch.utils.rename_privateuse1_backend(NAME)
    module = types.ModuleType(f"torch.{NAME}")
    functions = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "device_count": lambda: 2,
        "current_device": native.current_device,
        "set_device": native.set_device,
        "_is_in_bad_fork": lambda: False,
        "manual_seed_all": lambda seed: None,
        "mem_get_info": native.free_and_total,
        "memory_reserved": lambda device: native.reserved_and_allocated(device)[0],
        "memory_allocated": lambda device: native.reserved_and_allocated(device)[1],
        "host_memory_stats": host_memory_stats,
        "memory": types.SimpleNamespace(_snapshot=native.snapshot, empty_cache=native.empty_cache),
    }
    for name, value in functions.items():
        setattr(module, name, value)
    sys.modules[module.__name__] = module
    torch._register_device_module(NAME, module)
    native.record_stacks(True)


install()
