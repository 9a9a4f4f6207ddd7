"""Losses, as means or sums over all elements or one by one (``reduction="none"``)."""

from __future__ import annotations

import warnings

from gradlife import _engine
from gradlife.engine.tensors import Size, Tensor

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def _reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The word for what the two old flags mean, where they are given."""
    if size_average is not None or reduce is not None:
        size_average = True if size_average is None else size_average
        meant = "none" if reduce is False else "mean" if size_average else "sum"
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{meant}' instead.", stacklevel=3
        )
        return meant
    if reduction not in _REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def _reduced(each: Tensor, reduction: str) -> Tensor:
    return each if reduction == "none" else each.mean() if reduction == "mean" else each.sum()


def _common_size(a: Tensor, b: Tensor) -> Size:
    return (a.detach() + b.detach()).size()


def _broadcast(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    if target.size() != input.size():
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )
        size = _common_size(input, target)
        return input.expand(size), target.expand(size)
    return input, target


def _weighted_mean(each: Tensor, weight: Tensor, reduction: str) -> Tensor:
    if weight.size() != each.size():
        raise ValueError("Weights and input must have the same size.")
    weighted = each * weight
    return weighted.sum() / weight.sum() if reduction == "mean" else _reduced(weighted, reduction)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The squared difference."""
    reduction = _reduction(size_average, reduce, reduction)
    input, target = _broadcast(input, target)
    if weight is not None:
        return _weighted_mean((input - target) ** 2, weight, reduction)
    return _engine._nn_mse_loss(input, target, _REDUCTIONS[reduction])


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The absolute difference."""
    reduction = _reduction(size_average, reduce, reduction)
    input, target = _broadcast(input, target)
    each = (input - target).abs()
    return _reduced(each, reduction) if weight is None else _weighted_mean(each, weight, reduction)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """The absolute difference less half of ``beta``, squared within ``beta`` of 0."""
    reduction = _reduction(size_average, reduce, reduction)
    input, target = _broadcast(input, target)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return _reduced((input - target).abs(), reduction)
    return _engine._nn_smooth_l1_loss(input, target, _REDUCTIONS[reduction], beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Half of the squared difference, straight beyond ``delta``."""
    reduction = _reduction(None, None, reduction)
    input, target = _broadcast(input, target)
    if weight is None:
        return _engine._nn_huber_loss(input, target, _REDUCTIONS[reduction], delta)
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    return _reduced(_engine._nn_huber_loss(input, target, 0, delta) * weight, reduction)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Of probabilities against targets between 0 and 1. Logarithms below -100 count as that."""
    reduction = _reduction(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is deprecated. "
            "Please ensure they have the same size."
        )
    if weight is not None:
        weight = weight.expand(_common_size(weight, target))
    return _engine._nn_binary_cross_entropy(input, target, weight, _REDUCTIONS[reduction])


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of ``sigmoid(input)``, exact also far from 0."""
    reduction = _reduction(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return _engine._nn_binary_cross_entropy_with_logits(input, target, weight, pos_weight, _REDUCTIONS[reduction])


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log-probability of the right class, of one row or of a batch. Rows of ``ignore_index`` do not count.

    IndexError: a target that is no class.
    """
    reduction = _reduction(size_average, reduce, reduction)
    if input.dim() < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {input.dim()})")
    if input.dim() != 1 and input.size(0) != target.size(0):
        raise ValueError(f"Expected input batch_size ({input.size(0)}) to match target batch_size ({target.size(0)}).")
    return _engine._nn_nll_loss(input, target, weight, _REDUCTIONS[reduction], ignore_index)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """`nll_loss` of the log-softmax over classes; targets are classes, or probabilities in the shape of the input."""
    reduction = _reduction(size_average, reduce, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    class_dim = 0 if input.dim() == 1 else 1
    logs = input.log_softmax(class_dim)
    if target.size() == input.size():
        return _soft_cross_entropy(logs, target, weight, reduction, label_smoothing, class_dim)
    loss = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if label_smoothing == 0:
        return loss
    smooth = _smooth_loss(logs, target, weight, reduction, ignore_index, class_dim)
    return loss * (1 - label_smoothing) + smooth * (label_smoothing / input.size(class_dim))


def _smooth_loss(
    logs: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int, class_dim: int
) -> Tensor:
    """The loss against every class alike."""
    each = -(logs if weight is None else logs * weight).sum(class_dim)
    ignored = target == ignore_index
    each = each.masked_fill(ignored, 0.0)
    if reduction != "mean":
        return _reduced(each, reduction)
    if weight is None:
        return each.sum() / (target != ignore_index).sum()
    counted = weight.index_select(0, target.masked_fill(ignored, 0).reshape(-1)).reshape(target.shape)
    return each.sum() / counted.masked_fill(ignored, 0.0).sum()


def _soft_cross_entropy(
    logs: Tensor, target: Tensor, weight: Tensor | None, reduction: str, smoothing: float, class_dim: int
) -> Tensor:
    classes = logs.size(class_dim)
    if smoothing > 0:
        target = target * (1 - smoothing) + smoothing / classes
    each = logs * target if weight is None else logs * target * weight
    if reduction == "none":
        return -each.sum(class_dim)
    total = -each.sum()
    return total if reduction == "sum" else total / (logs.numel() // classes if logs.numel() else 1)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The divergence of a distribution from log-probabilities; ``"batchmean"`` is the sum over the batch size."""
    if size_average is not None or reduce is not None or reduction not in ("mean", "batchmean"):
        reduction = _reduction(size_average, reduce, reduction)
    elif reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the "
            "same as 'batchmean' in the next major release.",
            stacklevel=2,
        )
    each = target.exp() * (target - input) if log_target else target.xlogy(target) - target * input
    if reduction == "batchmean":
        return each.sum() / input.size(0) if input.dim() > 0 else each.sum()
    return _reduced(each, reduction)
