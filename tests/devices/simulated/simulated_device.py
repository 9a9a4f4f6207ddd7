"""torch with the simulated accelerator: importing this needs its library on the path. For child processes only."""

from __future__ import annotations

import sys
import types

import simulated_accelerator as native  # type: ignore[import-not-found]
import torch

NAME = "simulated"


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
        "memory": types.SimpleNamespace(_snapshot=native.snapshot, empty_cache=native.empty_cache),
    }
    for name, value in functions.items():
        setattr(module, name, value)
    sys.modules[module.__name__] = module
    torch._register_device_module(NAME, module)
    native.record_stacks(True)


install()
