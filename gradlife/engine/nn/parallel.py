"""Modules that spread a batch over devices, of which there is one here."""

from __future__ import annotations

from typing import Any

from gradlife.engine.nn.modules.module import Module

__all__ = ["DataParallel"]


class DataParallel(Module):
    """Calls its module with a share of the batch on each GPU; without any, with all of it."""

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.dim = dim
        self.module = module
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)
