"""Functions of several tensors at once that only change their shapes: broadcast, made deeper, stacked, spread over a grid."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from gradlife import _engine
from gradlife.engine.tensors import Size, Tensor


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these have in common. Error (RuntimeError): they have none."""
    common: list[int] = []
    for shape in shapes:
        sizes = [shape] if isinstance(shape, int) else list(shape)
        padded = [1] * (len(common) - len(sizes)) + sizes
        common = [1] * (len(padded) - len(common)) + common
        for dim, (a, b) in enumerate(zip(common, padded, strict=True)):
            if a != b and a != 1 and b != 1:
                raise RuntimeError(
                    "Shape mismatch: objects cannot be broadcast to a single shape"
                    if len(shapes) != 2
                    else f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {dim}"
                )
            common[dim] = b if a == 1 else a
    return Size(common)


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Each expanded to the shape they have in common; one that has it already is given back itself."""
    given = _listed(tensors)
    if not given:
        return ()
    shape = given[0].shape
    for tensor in given[1:]:
        shape = broadcast_shapes(shape, tensor.shape)
    return tuple(tensor if tensor.shape == shape else tensor.expand(shape) for tensor in given)


def atleast_1d(*tensors: Any) -> Any:
    """Views with at least one dimension; of one tensor, or a tuple of several."""
    return _each(tensors, _to_1d)


def atleast_2d(*tensors: Any) -> Any:
    """Views with at least two dimensions; of one tensor, or a tuple of several."""
    return _each(tensors, _to_2d)


def atleast_3d(*tensors: Any) -> Any:
    """Views with at least three dimensions; of one tensor, or a tuple of several."""
    return _each(tensors, _to_3d)


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined side by side: vectors end to end, matrices by their columns."""
    made = _stackable(tensors, "hstack", _to_1d)
    return _engine.cat(made, 0 if made[0].dim() == 1 else 1)


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined one below the other; a vector counts as a row."""
    return _engine.cat(_stackable(tensors, "vstack", _to_2d), 0)


row_stack = vstack


def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined one behind the other, along the third dimension."""
    return _engine.cat(_stackable(tensors, "dstack", _to_3d), 2)


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined side by side; a vector counts as a column."""
    return hstack(
        _stackable(tensors, "column_stack", lambda each: each if each.dim() > 1 else each.reshape(each.numel(), 1))
    )


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Every combination of the elements of vectors: for each vector a tensor in which it varies along its own dimension.

    With ``indexing="xy"`` the first vector varies along the second dimension and the second along the first.
    """
    given = _listed(tensors)
    if not given:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", stacklevel=2
        )
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    if any(tensor.dtype is not given[0].dtype for tensor in given):
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    for tensor in given:
        if tensor.dim() > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {tensor}")
    places = list(range(len(given)))
    if indexing == "xy" and len(given) > 1:
        places[:2] = [1, 0]
    shape = [1] * len(given)
    for place, tensor in zip(places, given, strict=True):
        shape[place] = tensor.numel()
    return tuple(
        tensor.view([-1 if dim == place else 1 for dim in range(len(given))]).expand(shape)
        for place, tensor in zip(places, given, strict=True)
    )


def _listed(tensors: tuple[Any, ...]) -> list[Tensor]:
    """The tensors of a call that takes them one by one or in one sequence."""
    return list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else list(tensors)


def _each(tensors: tuple[Any, ...], change: Callable[[Tensor], Tensor]) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return change(tensors[0])
    return tuple(change(tensor) for tensor in _listed(tensors))


def _stackable(tensors: Sequence[Tensor], name: str, change: Callable[[Tensor], Tensor]) -> list[Tensor]:
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return [change(tensor) for tensor in tensors]


def _to_1d(tensor: Tensor) -> Tensor:
    return tensor.reshape(1) if tensor.dim() == 0 else tensor


def _to_2d(tensor: Tensor) -> Tensor:
    if tensor.dim() == 0:
        return tensor.reshape(1, 1)
    return tensor.unsqueeze(0) if tensor.dim() == 1 else tensor


def _to_3d(tensor: Tensor) -> Tensor:
    if tensor.dim() == 0:
        return tensor.reshape(1, 1, 1)
    if tensor.dim() == 1:
        return tensor.unsqueeze(0).unsqueeze(-1)
    return tensor.unsqueeze(-1) if tensor.dim() == 2 else tensor
