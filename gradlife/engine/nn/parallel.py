"""Modules that split a batch among devices, of which there is only one."""

from __future__ import annotations

from typing import Any

from gradlife.engine.nn.modules.module import Module


class DataParallel(Module):
    """Call its module with a share of the batch per GPU; without GPUs, with the whole batch."""

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.dim = dim
        self.module = module
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)
