"""Custom Functions that PyTorch ships."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gradlife.engine.autograd.function import Function
from gradlife.engine.tensors import Tensor


class Resize(Function):
    """Reshape a tensor; the gradient gets the old shape."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, sizes: Sequence[int]) -> Tensor:
        if math.prod(sizes) != tensor.numel():
            raise RuntimeError(
                f"requested resize to {'x'.join(map(str, sizes))} ({math.prod(sizes)} elements in total), but the given "
                f"tensor has a size of {'x'.join(map(str, tensor.size()))} ({tensor.numel()} elements). autograd's resize can "
                "only change the shape of a given tensor, while preserving the number of elements. "
            )
        ctx.input_sizes = tensor.size()
        return tensor.contiguous().view(*sizes)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        return grad_output.contiguous().view(ctx.input_sizes), None
