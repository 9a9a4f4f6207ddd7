"""Norms under torch.linalg's names. Those that need singular values are refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradlife import _engine
from gradlife._engine import TensorBase
from gradlife.engine.tensors import Tensor

__all__ = ["matrix_norm", "norm", "vector_norm"]

Dims = int | Sequence[int]


def vector_norm(x: TensorBase, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The norm of all elements, or along `dim`. Errors: RuntimeError for integers, and for no elements where none has one."""
    return _engine._linalg_vector_norm(x, ord, dim, keepdim, dtype)


def matrix_norm(
    A: TensorBase, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The Frobenius norm of matrices. Errors: NotImplementedError for every other one."""
    if ord != "fro":
        raise NotImplementedError(f"gradlife's engine has no matrix norm of order {ord}")
    if A.dim() < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    return _engine._linalg_vector_norm(A, 2, [each % A.dim() for each in dim], keepdim, dtype)


def norm(A: TensorBase, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """A vector's norm, or a matrix's where `ord` is text or two dimensions are meant."""
    is_matrix = isinstance(ord, str) or (ord is not None and (A.dim() == 2 if dim is None else _count(dim) == 2))
    if not is_matrix:
        return vector_norm(A, 2.0 if ord is None else ord, dim, keepdim, dtype=dtype)
    return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)


def _count(dim: Dims) -> int:
    return 1 if isinstance(dim, int) else len(dim)
