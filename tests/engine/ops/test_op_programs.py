"""Random programs in both frameworks: broadcasting, indexing, reshaping, and in-place changes through views.

Whatever PyTorch does with a program (a value, a gradient, an error with its text), the engine does too.
"""

from __future__ import annotations

import math
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import gradlife.engine as mini
from leftovers import run_in_child
from op_pairs import assert_close, numbers

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
examples = settings(max_examples=150, deadline=None, database=None)

shapes = st.lists(st.integers(0, 3), max_size=4).map(tuple)
TOLERANCE = (1e-9, 1e-11)


def outcome(run: Callable[[], Any]) -> Any:
    """Return the result of a program, or its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return run()
        except Exception as error:
            return type(error).__name__, str(error)


def assert_alike(program: Callable[[Any], Any]) -> None:
    ours, theirs = (outcome(lambda fw=fw: program(fw)) for fw in (mini, real))  # type: ignore[misc]
    if isinstance(ours, tuple) or isinstance(theirs, tuple):
        assert ours == theirs
        return
    assert ours.keys() == theirs.keys()
    for name in ours:
        assert_close(ours[name], theirs[name], TOLERANCE, name)


def parameter(fw: Any, shape: tuple[int, ...], seed: int = 0) -> Any:
    values = numbers(shape, "float64", seed)
    made = fw.tensor(values.item(), dtype=fw.float64) if shape == () else fw.tensor(values)
    return made.requires_grad_()


def array(tensor: Any) -> Any:
    return np.array(tensor.detach().tolist(), dtype="float64")


def with_gradients(fw: Any, result: Any, *leaves: Any) -> dict[str, Any]:
    """Value, shape, strides, and the gradients of a weighted sum."""
    (result * fw.tensor(numbers(tuple(result.shape), "float64", 5)).reshape(result.shape)).sum().backward()
    strides = () if 0 in result.shape else tuple(result.stride())
    found = {"value": array(result), "shape": list(result.shape), "stride": list(strides)}
    return found | {f"gradient {i}": array(leaf.grad) for i, leaf in enumerate(leaves)}


@given(shapes, shapes, st.sampled_from(["add", "mul", "div", "pow"]))
@examples
def test_any_two_shapes_are_broadcast_as_in_torch(a: tuple[int, ...], b: tuple[int, ...], name: str) -> None:
    def program(fw: Any) -> Any:
        left, right = parameter(fw, a), parameter(fw, b, seed=1)
        return with_gradients(fw, getattr(fw, name)(left, right), left, right)

    assert_alike(program)


bounds = st.none() | st.integers(-4, 4)
parts = (
    st.integers(-4, 3) | st.builds(slice, bounds, bounds, st.none() | st.integers(1, 3)) | st.none() | st.just(Ellipsis)
)


@given(shapes, st.lists(parts, max_size=4).map(tuple).filter(lambda index: index.count(Ellipsis) < 2) | parts)
@examples
def test_any_index_reads_and_writes_what_it_does_in_torch(shape: tuple[int, ...], index: Any) -> None:
    def program(fw: Any) -> Any:
        source = parameter(fw, shape)
        read = with_gradients(fw, source[index], source)
        target = parameter(fw, shape, seed=2)
        changed = target * 1
        value = parameter(fw, (1,), seed=3)
        changed[index] = value
        return read | {
            f"{name} when written": what for name, what in with_gradients(fw, changed, target, value).items()
        }

    assert_alike(program)


@given(shapes, st.permutations(range(4)), shapes)
@examples
def test_any_reshape_of_any_layout_is_torchs(shape: tuple[int, ...], order: list[int], wanted: tuple[int, ...]) -> None:
    def program(fw: Any, method: str = "reshape") -> Any:
        source = parameter(fw, shape)
        permuted = source.permute(*[dim for dim in order if dim < len(shape)]) if shape else source
        return with_gradients(fw, getattr(permuted, method)(wanted), source)

    assert_alike(program)
    assert_alike(lambda fw: program(fw, "view"))


@given(shapes, st.permutations(range(4)), st.data())
@examples
def test_any_factorisation_of_a_permuted_tensor_is_torchs(shape: tuple[int, ...], order: list[int], data: Any) -> None:
    count = math.prod(shape)
    divisors = [number for number in range(1, count + 1) if count % number == 0] or [0]
    first = data.draw(st.sampled_from(divisors))

    def program(fw: Any) -> Any:
        source = parameter(fw, shape)
        permuted = source.permute(*[dim for dim in order if dim < len(shape)]) if shape else source
        return with_gradients(fw, permuted.reshape(first, -1), source)

    assert_alike(program)


# A step of a program on a pool of tensors: what to do, on which of them, with which other.
CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda target, other: target.add_(other),
    "add number": lambda target, other: target.add_(0.5),
    "mul": lambda target, other: target.mul_(other),
    "mul number": lambda target, other: target.mul_(1.5),
    "div": lambda target, other: target.div_(other + 2),
    "exp": lambda target, other: target.exp_(),
    "sin": lambda target, other: target.sin_(),
    "tanh": lambda target, other: target.tanh_(),
    "zero": lambda target, other: target.zero_(),
    "fill": lambda target, other: target.fill_(0.25),
    "copy": lambda target, other: target.copy_(other),
    "assign": lambda target, other: target.__setitem__(Ellipsis, other),
    "detach": lambda target, other: target.detach_(),
}
VIEWS: dict[str, Callable[[Any], Any]] = {
    "row": lambda x: x[0],
    "rest": lambda x: x[1:] if x.dim() else x * 3,
    "every second": lambda x: x[::2] if x.dim() else x * 3,
    "turned": lambda x: x.transpose(0, -1),
    "flat": lambda x: x.reshape(-1),
    "one more": lambda x: x.unsqueeze(0),
    "last": lambda x: x[..., -1],
    "first of a split": lambda x: x.split(1)[0] if x.dim() else x * 3,
    "detached": lambda x: x.detach(),
    "result": lambda x: x * 2,
    "repeated": lambda x: x.expand(2, *x.shape),
}
steps = st.tuples(st.sampled_from([*CHANGES, *VIEWS]), st.integers(0, 7), st.integers(0, 7), st.booleans())


def run_steps(fw: Any, program: list[tuple[str, int, int, bool]], pool: list[Any]) -> None:
    for name, first, second, recording in program:
        target, other = pool[first % len(pool)], pool[second % len(pool)]
        with fw.set_grad_enabled(recording):
            if name in VIEWS:
                pool.append(VIEWS[name](target))
            else:
                CHANGES[name](target, other)


def looks_of(tensor: Any) -> dict[str, Any]:
    node = tensor.grad_fn
    return {
        "value": array(tensor),
        "version": tensor._version,
        "flags": [tensor.requires_grad, tensor.is_leaf, tensor._is_view(), tensor.retains_grad],
        "node": sum(map(ord, type(node).__name__)) if node is not None else 0,
    }


def outcome_of_steps(fw: Any, program: list[tuple[str, int, int, bool]], backward: bool) -> dict[str, Any]:
    """Return the pool after all steps, the gradient of everything in it, and the objects that outlive their last
    name.
    """
    x = parameter(fw, (2, 3))
    pool = [x * 1, fw.tensor(numbers((2, 3), "float64", 4))]
    run_steps(fw, program, pool)
    seen = {f"{i} {what}": value for i, tensor in enumerate(pool) for what, value in looks_of(tensor).items()}
    if backward:
        sum((tensor * (i + 1)).sum() for i, tensor in enumerate(pool)).backward()
        seen["gradient"] = array(x.grad) if x.grad is not None else []
    watched = [weakref.ref(each) for each in (x, *pool)]
    del x, pool
    return seen | {"alive": [reference() is not None for reference in watched]}


@given(st.lists(steps, min_size=1, max_size=8), st.booleans())
@settings(max_examples=400, deadline=None, database=None)
def check_programs(program: list[tuple[str, int, int, bool]], backward: bool) -> None:
    assert_alike(lambda fw: outcome_of_steps(fw, program, backward))


@pytest.mark.faithful
def test_any_program_of_views_and_in_place_changes_does_and_keeps_what_it_does_in_torch() -> None:
    run_in_child(check_programs, timeout=900)  # some keep tensors for ever, in both frameworks
