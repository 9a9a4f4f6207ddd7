"""Layers with weights, and what networks do to their inputs at random."""

from __future__ import annotations

from collections.abc import Sequence

from gradlife import _engine
from gradlife.engine.tensors import Tensor


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias`` along the last dimension."""
    return _engine._nn_linear(input, weight, bias)


def _kept(input: Tensor, share: float) -> Tensor:
    return _engine.empty_like(input).bernoulli_(share).div_(share)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training each element becomes 0 with probability ``p``, and the others grow to make up for it.

    Gives the input itself where nothing is dropped. ValueError: ``p`` is not within 0 and 1.
    """
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if p == 0 or not training or input.numel() == 0:
        return input
    mask = _engine.zeros((), dtype=input.dtype) if p == 1 else _kept(input, 1 - p)
    return input.mul_(mask) if inplace else input * mask


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of ``weight`` that ``input`` numbers. The row ``padding_idx`` gets no gradient.

    IndexError: a number of no row. AssertionError: a padding_idx of none.
    """
    if max_norm is not None or scale_grad_by_freq or sparse:
        raise RuntimeError("gradlife's engine has no embedding with max_norm, scale_grad_by_freq or sparse")
    rows = weight.size(0)
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= rows
    return _engine._nn_embedding(weight, input, -1 if padding_idx is None else padding_idx)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Mean 0 and variance 1 over the last dimensions, then ``* weight + bias``. ``eps`` is added to the variance."""
    return _engine._nn_layer_norm(input, tuple(normalized_shape), weight, bias, eps)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """One more dimension, with a 1 at the class and 0 elsewhere. ``num_classes=-1``: as many as there are."""
    if tensor.dtype is not _engine.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if tensor.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return _engine.empty((*tensor.shape, num_classes), dtype=_engine.int64)
    if int(tensor.min()) < 0:
        raise RuntimeError("Class values must be non-negative.")
    largest = int(tensor.max())
    if num_classes == -1:
        num_classes = largest + 1
    elif num_classes < 1:
        raise RuntimeError("num_classes should be positive")
    elif largest >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return _engine.zeros((*tensor.shape, num_classes), dtype=_engine.int64).scatter_(-1, tensor.unsqueeze(-1), 1)
