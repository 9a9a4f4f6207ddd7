"""The nodes that operations leave behind, against PyTorch's: names, edges, what is saved, and when hooks see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

import gradlife.engine as mini
from op_pairs import numbers

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

Story = Callable[..., Any]
DEEPEST = 12


def leaf(fw: Any, *shape: int, requires_grad: bool = True) -> Any:
    return fw.tensor(numbers(shape, "float32")).requires_grad_(requires_grad)


def plain_name(node: Any) -> str:
    return str(node.name()).replace("torch::autograd::", "")


def plain_value(value: Any) -> Any:
    """PyTorch shows a negative dimension that it saved as an unsigned number."""
    if isinstance(value, int) and value >= 2**63:
        return value - 2**64
    if isinstance(value, tuple):
        return tuple(plain_value(each) for each in value)
    return value


def saved(node: Any) -> dict[str, Any]:
    """Return what the node saved; for a tensor its shape, dtype, version, and the node behind it."""
    found = {}
    for name in dir(node):
        if not name.startswith("_saved"):
            continue
        value = getattr(node, name)
        if hasattr(value, "grad_fn"):
            made_by = plain_name(value.grad_fn) if value.grad_fn is not None else None
            value = (tuple(value.shape), str(value.dtype), value._version, made_by, value.is_leaf)
        found[name] = plain_value(value)
    return found


def described(node: Any, depth: int = 0) -> Any:
    """The graph behind a node as nested plain values."""
    if node is None or depth == DEEPEST:
        return None
    edges = [(described(next_node, depth + 1), number) for next_node, number in node.next_functions]
    return [plain_name(node), saved(node), edges]


STORIES: dict[str, Story] = {
    "x + w": lambda fw, x, w, c: x + w,
    "x + x": lambda fw, x, w, c: x + x,
    "x + constant": lambda fw, x, w, c: x + c,
    "constant + x": lambda fw, x, w, c: c + x,
    "x + 1": lambda fw, x, w, c: x + 1,
    "1.5 - x": lambda fw, x, w, c: 1.5 - x,
    "x - 1": lambda fw, x, w, c: x - 1,
    "scaled add": lambda fw, x, w, c: fw.add(x, w, alpha=2.5),
    "x * w": lambda fw, x, w, c: x * w,
    "x * constant": lambda fw, x, w, c: x * c,
    "constant * x": lambda fw, x, w, c: c * x,
    "x * 2": lambda fw, x, w, c: x * 2,
    "2.5 * x": lambda fw, x, w, c: 2.5 * x,
    "x * a double": lambda fw, x, w, c: x * c.double(),
    "x / w": lambda fw, x, w, c: x / w,
    "x / 2": lambda fw, x, w, c: x / 2,
    "2 / x": lambda fw, x, w, c: 2 / x,
    "x ** 2": lambda fw, x, w, c: x**2,
    "x ** 2.5": lambda fw, x, w, c: x**2.5,
    "x ** w": lambda fw, x, w, c: x**w,
    "constant ** x": lambda fw, x, w, c: c**x,
    "2 ** x": lambda fw, x, w, c: 2**x,
    "functions": lambda fw, x, w, c: x.exp().sin().cos().tanh().relu().sqrt().sigmoid().abs().neg(),
    "sums": lambda fw, x, w, c: x.sum(0).sum() + x.sum((0, 1), True).sum(-1),
    "means": lambda fw, x, w, c: x.mean(0).mean() + x.mean((0, 1), True).mean(-1),
    "mm": lambda fw, x, w, c: x.mm(w.t()),
    "mm by constant": lambda fw, x, w, c: x @ c.t(),
    "mv": lambda fw, x, w, c: x @ w[0],
    "dot": lambda fw, x, w, c: x[0] @ w[1],
    "row by matrix": lambda fw, x, w, c: x[0] @ w.t(),
    "batch by vector": lambda fw, x, w, c: x.expand(4, 2, 3) @ w[0],
    "batch by matrix": lambda fw, x, w, c: x.expand(4, 2, 3) @ w.t(),
    "batch by constant": lambda fw, x, w, c: x.expand(4, 2, 3) @ c.t(),
    "matrix by batch": lambda fw, x, w, c: x @ w.t().expand(4, 3, 2),
    "constant by batch": lambda fw, x, w, c: c @ w.t().expand(4, 3, 2),
    "batch by batch": lambda fw, x, w, c: x.expand(4, 2, 3) @ w.t().expand(4, 3, 2),
    "cat": lambda fw, x, w, c: fw.cat([x, c, w], -1),
    "stack": lambda fw, x, w, c: fw.stack([x, w], 1),
    "to double": lambda fw, x, w, c: x.double(),
    "clone": lambda fw, x, w, c: x.clone(),
    "sin in place": lambda fw, x, w, c: x.clone().sin_(),
    "exp in place": lambda fw, x, w, c: x.clone().exp_(),
    "add in place": lambda fw, x, w, c: x.clone().add_(w),
    "add number in place": lambda fw, x, w, c: x.clone().add_(1),
    "mul in place": lambda fw, x, w, c: x.clone().mul_(w),
    "mul constant in place": lambda fw, x, w, c: c.clone().mul_(w),
    "mul number in place": lambda fw, x, w, c: x.clone().mul_(2),
    "div in place": lambda fw, x, w, c: x.clone().div_(w),
    "zero in place": lambda fw, x, w, c: x.clone().zero_(),
    "fill in place": lambda fw, x, w, c: x.clone().fill_(2.0),
    "fill with a tensor": lambda fw, x, w, c: x.clone().fill_(w[0, 0]),
    "copy in place": lambda fw, x, w, c: c.clone().copy_(x),
    "copy constant in place": lambda fw, x, w, c: x.clone().copy_(c),
}
INDICES = {
    "int": 1,
    "negative int": -1,
    "slice": slice(1, None),
    "whole slice": slice(None),
    "slice beyond": slice(0, 9),
    "ellipsis": ...,
    "none": None,
    "nothing": (),
    "two ints": (1, 2),
    "column": (slice(None), 1),
    "last": (..., -1),
    "new and step": (None, slice(None), slice(None, None, 2)),
    "everything": (slice(None), slice(0, 3)),
}


def with_operands(fw: Any, story: Story) -> Any:
    x, w, c = leaf(fw, 2, 3), leaf(fw, 2, 3), leaf(fw, 2, 3, requires_grad=False)
    return story(fw, x, w, c)


def assert_same_for_all(names: Iterable[str], look: Callable[[Any, str], Any]) -> None:
    """One comparison of each in both frameworks, by name."""
    ours, theirs = ({name: look(fw, name) for name in names} for fw in (mini, real))
    for name in ours:
        assert ours[name] == theirs[name], name


def test_an_operation_leaves_the_nodes_that_torch_leaves() -> None:
    assert_same_for_all(STORIES, lambda fw, name: described(with_operands(fw, STORIES[name]).grad_fn))


@pytest.mark.faithful
def test_an_index_leaves_the_nodes_that_torch_leaves() -> None:
    assert_same_for_all(INDICES, lambda fw, name: described((leaf(fw, 2, 3) * 1)[INDICES[name]].grad_fn))


@pytest.mark.faithful
def test_an_assignment_to_an_index_leaves_the_nodes_that_torch_leaves() -> None:
    def written(fw: Any, name: str) -> Any:
        target = leaf(fw, 2, 3).clone()
        target[INDICES[name]] = leaf(fw, 1)
        return described(target.grad_fn)

    assert_same_for_all(INDICES, written)


TWICE = [
    "x + w",
    "x * w",
    "x / w",
    "x ** 2.5",
    "x ** w",
    "2 ** x",
    "1.5 - x",
    "sums",
    "means",
    "mm",
    "mv",
    "dot",
    "batch by batch",
    "cat",
    "stack",
    "to double",
    "sin in place",
]


@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True")
def test_a_recorded_gradient_has_the_nodes_that_torch_records() -> None:
    def gradient_graph(fw: Any, name: str) -> Any:
        x, w, c = leaf(fw, 2, 3), leaf(fw, 2, 3), leaf(fw, 2, 3, requires_grad=False)
        result = STORIES[name](fw, x, w, c)
        start = fw.ones_like(result).requires_grad_()
        return described(fw.autograd.grad(result, x, start, create_graph=True)[0].grad_fn)

    assert_same_for_all(TWICE, gradient_graph)


def test_tensors_are_packed_and_unpacked_in_torchs_order() -> None:
    names = ["x * w", "x / w", "x ** w", "mm", "mv", "dot", "batch by batch", "x * 2", "mul in place"]

    def order(fw: Any, name: str) -> list[tuple[str, Any]]:
        log: list[tuple[str, Any]] = []

        def pack(tensor: Any) -> Any:
            made_by = plain_name(tensor.grad_fn) if tensor.grad_fn is not None else None
            log.append(("pack", (tuple(tensor.shape), made_by)))
            return tensor.detach()

        def unpack(tensor: Any) -> Any:
            log.append(("unpack", tuple(tensor.shape)))
            return tensor

        with fw.autograd.graph.saved_tensors_hooks(pack, unpack):
            result = with_operands(fw, STORIES[name])
        result.sum().backward()
        return log

    assert_same_for_all(names, order)


def test_a_number_in_an_expression_is_saved_but_never_packed() -> None:
    x = leaf(mini, 3)
    with mini.autograd.graph.saved_tensors_hooks(lambda tensor: pytest.fail("packed"), lambda tensor: tensor):
        y = x * 2
    assert y.grad_fn._saved_other.item() == 2
    assert y.grad_fn._saved_other.dtype is mini.int64


def test_integer_results_have_no_history() -> None:
    x = leaf(mini, 3)
    for result in (x.long(), x > 1, x == x, x.sum(dtype=mini.int64), x.bool()):
        assert not result.requires_grad
        assert result.grad_fn is None
