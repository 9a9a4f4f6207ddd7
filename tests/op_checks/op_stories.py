"""Stories of operations, run in both frameworks: the same operands, and everything that can be seen of what comes out.

Of a result its values, shape, strides, dtype, version, whether it is a view, and the graph behind it with what each node saved;
of its gradients the same; of a mistake the error's type and the first line of its text.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import gradlife.engine as mini
from op_pairs import naming, numbers

DEEPEST = 8


@dataclass
class Operands:
    """Leaves `x`, `y` of 3 by 4 and `z` of 2 by 3 by 4, in doubles; `rows` and `places` index them, `mask` finds large x."""

    fw: Any

    def __post_init__(self) -> None:
        fw = self.fw
        self.x, self.y = (fw.tensor(numbers((3, 4), "float64", seed)).requires_grad_() for seed in (0, 1))
        self.z = fw.tensor(numbers((2, 3, 4), "float64", 2)).requires_grad_()
        self.rows = fw.tensor([0, 2, 2])
        self.places = fw.tensor([[0, 2, 1, 0], [1, 1, 1, 2]])
        self.mask = self.x.detach() > 1

    def tensor(self, *args: Any, **options: Any) -> Any:
        return self.fw.tensor(*args, **options)

    def changed(self, change: Callable[[Any], Any]) -> Any:
        """A tensor made of `x` after the change."""
        target = self.x * 1
        change(target)
        return target


Story = Callable[[Operands], Any]


def plain(value: Any) -> Any:
    """A saved value; PyTorch shows a negative dimension as an unsigned number."""
    if isinstance(value, int) and value >= 2**63:
        return value - 2**64
    if isinstance(value, tuple):
        return tuple(plain(each) for each in value)
    if hasattr(value, "grad_fn"):
        made_by = value.grad_fn.name() if value.grad_fn is not None else None
        exact = None if value.is_floating_point() else value.tolist()
        return tuple(value.shape), str(value.dtype), value._version, made_by, value.is_leaf, exact
    return value


def graph(node: Any, depth: int = 0) -> Any:
    """The nodes behind a result: name, what was saved, and the next ones."""
    if node is None or depth == DEEPEST:
        return None
    saved = {name: plain(getattr(node, name)) for name in dir(node) if name.startswith("_saved")}
    return node.name(), saved, [graph(next_node, depth + 1) for next_node, _ in node.next_functions]


def values(tensor: Any) -> Any:
    stored = tensor.detach()
    return np.array((stored + 0 if stored.numel() else stored).tolist(), dtype=float).reshape(tuple(stored.shape))


def seen(result: Any) -> Any:
    """A result as plain values, rounded so that they compare."""
    if isinstance(result, list | tuple):
        return [seen(each) for each in result]
    if not hasattr(result, "grad_fn"):
        return result
    strides = None if 0 in result.shape else tuple(result.stride())
    rounded = np.round(values(result), 6).tolist()
    facts = (tuple(result.shape), strides, str(result.dtype), result._is_view(), result._version)
    return rounded, facts, graph(result.grad_fn)


def gradients(operands: Operands, result: Any) -> Any:
    """Return the records of the first result that has any, or the error on the way."""
    results = result if isinstance(result, list | tuple) else [result]
    differentiable = [each for each in results if hasattr(each, "grad_fn") and each.requires_grad]
    if not differentiable:
        return None
    start = operands.fw.ones_like(differentiable[0]).requires_grad_()
    leaves = [operands.x, operands.y, operands.z]
    try:
        found = operands.fw.autograd.grad(differentiable[0], leaves, start, create_graph=True, allow_unused=True)
    except (RuntimeError, IndexError) as error:
        return type(error).__name__, str(error)
    return [seen(each) for each in found]


def outcome(fw: Any, story: Story) -> Any:
    """Return the result of the story in one framework."""
    operands = Operands(fw)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = story(operands)
        except Exception as error:
            return type(error).__name__, str(error).split("\n")[0]
        return seen(result), gradients(operands, result)


def assert_same(real: Any, stories: Mapping[str, Story]) -> None:
    """Every story comes to the same in both. One call for many: counting what a test leaves takes longer than running them."""
    for name, story in stories.items():
        with naming(name):
            assert str(outcome(mini, story)) == str(outcome(real, story))  # as text: a nan equals itself
