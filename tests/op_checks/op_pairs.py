"""One computation in both frameworks: the same numbers and layouts in, everything that can be seen of the results out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import gradlife.engine as mini

Shape = tuple[int, ...]
Layout = Callable[[Any], Any]
Tolerance = tuple[float, float]  # relative, absolute
TOLERANCE: dict[str, Tolerance] = {"float32": (2e-5, 2e-6), "float64": (1e-12, 1e-13)}
DTYPES = tuple(TOLERANCE)

# How an input lies in memory: each takes a fresh tensor to a view of it (or to itself) that is then the leaf.
LAYOUTS: dict[str, tuple[Layout, Callable[[Shape], Shape]]] = {
    "contiguous": (lambda x: x, lambda shape: shape),
    "transposed": (
        lambda x: x.transpose(0, -1),
        lambda shape: shape[-1:] + shape[1:-1] + shape[:1] if shape[1:] else shape,
    ),
    "sliced": (lambda x: x[..., ::2], lambda shape: (*shape[:-1], shape[-1] * 2)),
    "offset": (lambda x: x[1:], lambda shape: (shape[0] + 1, *shape[1:])),
    "expanded": (lambda x: x[:1].expand(*x.shape), lambda shape: shape),
}


def numbers(shape: Shape, dtype: str, seed: int = 0, low: float = 0.3, high: float = 1.7) -> Any:
    """Repeatable numbers away from where functions have poles and kinks; every second one is what the caller's `low` says."""
    return np.random.default_rng([seed, *shape]).uniform(low, high, shape).astype(dtype)


def leaf(fw: Any, values: Any, layout: str = "contiguous", requires_grad: bool = True) -> Any:
    """A leaf of these values whose memory looks like `layout`."""
    given = fw.tensor(values) if values.ndim else fw.tensor(values.item(), dtype=getattr(fw, str(values.dtype)))
    return LAYOUTS[layout][0](given).detach().requires_grad_(requires_grad)


def inputs(fw: Any, shapes: Sequence[Shape], dtypes: Sequence[str], layout: str, low: float = 0.3) -> list[Any]:
    """One leaf for each shape."""
    made = []
    for seed, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True)):
        usable = layout if shape and 0 not in shape else "contiguous"
        stored = LAYOUTS[usable][1](shape)
        made.append(leaf(fw, numbers(stored, dtype, seed, low), usable))
    return made


@dataclass
class Seen:
    """The observable parts of one framework's result."""

    values: Any
    shape: Shape
    strides: Shape
    dtype: str
    is_view: bool


def seen(tensor: Any) -> Seen:
    """The result as plain values."""
    stored = tensor.detach() + 0  # torch has zeros without memory
    plain = np.array(stored.tolist(), dtype=str(tensor.dtype).removeprefix("torch.")).reshape(tuple(tensor.shape))
    return Seen(plain, tuple(tensor.shape), tuple(tensor.stride()), str(tensor.dtype), tensor._is_view())


def assert_close(ours: Any, theirs: Any, tolerance: Tolerance, what: str = "") -> None:
    """Arrays of one shape, close element by element."""
    np.testing.assert_allclose(ours, theirs, rtol=tolerance[0], atol=tolerance[1], err_msg=what)


def assert_same(ours: Seen, theirs: Seen, tolerance: Tolerance) -> None:
    """Equal in everything that is exact, close in value."""
    assert (ours.shape, ours.dtype, ours.is_view) == (theirs.shape, theirs.dtype, theirs.is_view)
    if 0 not in ours.shape:
        assert ours.strides == theirs.strides
    assert_close(ours.values, theirs.values, tolerance)


def weights(fw: Any, result: Any, seed: int = 7) -> Any:
    """An uneven gradient to start from, so that a transposed or swapped one shows."""
    return fw.tensor(numbers(tuple(result.shape), "float64", seed)).to(result.dtype)


def gradients(fw: Any, result: Any, leaves: Sequence[Any], create_graph: bool = False) -> list[Any]:
    """Of the result, weighted, with respect to each leaf."""
    start = weights(fw, result)
    if create_graph:
        start.requires_grad_(True)
        leaves = [*leaves, start]
    found = fw.autograd.grad(result, leaves[: len(leaves) - create_graph], start, create_graph=create_graph)
    return [*found, start] if create_graph else list(found)


def second_order(fw: Any, function: Callable[..., Any], leaves: Sequence[Any]) -> list[Any]:
    """Gradients of the gradients, for each leaf and for the gradient that the first backward started from."""
    *first, start = gradients(fw, function(fw, *leaves), leaves, create_graph=True)
    total = None
    for gradient in first:
        if not gradient.requires_grad:
            continue
        weighted = (gradient * weights(fw, gradient, seed=9)).sum()
        total = weighted if total is None else total + weighted
    if total is None:
        return []
    return list(fw.autograd.grad(total, [*leaves, start], allow_unused=True))


@contextlib.contextmanager
def naming(*what: object) -> Iterator[None]:
    """Says in a failure which of many cases it was."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"in the case {what}")
        raise


def compare(
    function: Callable[..., Any],
    real: Any,
    shapes: Sequence[Shape],
    dtypes: Sequence[str],
    layout: str,
    low: float = 0.3,
) -> None:
    """Value, layout and derivatives are PyTorch's; the second ones only where doubles can tell."""
    tolerance = TOLERANCE["float32" if "float32" in dtypes else "float64"]
    pairs = []
    for fw in (mini, real):
        leaves = inputs(fw, shapes, dtypes, layout, low)
        result = function(fw, *leaves)
        first = gradients(fw, result, leaves)
        second = [] if "float32" in dtypes else second_order(fw, function, inputs(fw, shapes, dtypes, layout, low))
        pairs.append((seen(result), [seen(each) for each in first], second))
    (ours, our_first, our_second), (theirs, their_first, their_second) = pairs
    assert_same(ours, theirs, tolerance)
    for mine, other in zip(our_first, their_first, strict=True):
        assert_close(mine.values, other.values, tolerance)
        assert (mine.shape, mine.dtype) == (other.shape, other.dtype)
    for mine, other in zip(our_second, their_second, strict=True):
        assert_second(mine, other, tolerance)


def assert_second(ours: Any, theirs: Any, tolerance: Tolerance) -> None:
    """A missing second derivative and one of zeros say the same."""
    if theirs is None or ours is None:
        known = theirs if ours is None else ours
        assert known is None or not np.any(seen(known).values)
        return
    assert_close(seen(ours).values, seen(theirs).values, (tolerance[0] * 10, tolerance[1] * 10))


def has_layouts(shapes: Sequence[Shape]) -> bool:
    """Return whether a layout makes a difference to any of these."""
    return any(len(shape) > 1 and 0 not in shape for shape in shapes)
